"""The capability index as a function of what is estimated: a rater's slope and severity, and the yardstick.

One small class a definition of the index; uncertainty (kappa.py) is the same for all of them.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from raterlens import capability
from raterlens.links import get_link
from raterlens.moments import moments
from raterlens.ordered import OrderedScore

Array = NDArray[np.float64]


class Gradient(NamedTuple):
    """Derivatives in the slope, the severity and sigma."""

    slope: Array
    severity: Array
    sigma: Array


class Index(Protocol):
    """For raters with slope a and severity eta, where the yardstick has slope sigma."""

    def rho(self, a: Array, sigma: Array) -> tuple[Array, Gradient]:
        """Discrimination between 0 and 1, with its gradient."""

    def kappa(self, a: Array, eta: Array, sigma: Array) -> Array:
        """Mean capability kappa-bar."""

    def gradient(self, a: Array, eta: Array, sigma: Array) -> Gradient:
        """Of kappa-bar."""


class _RelativeIndex:
    """rho is the slope relative to the yardstick's."""

    def rho(self, a: Array, sigma: Array) -> tuple[Array, Gradient]:
        return a / sigma, Gradient(1 / sigma, np.zeros_like(a), -a / sigma**2)


@dataclass(frozen=True, slots=True)
class PanelIndex(_RelativeIndex):
    """TFM and GMF: 1 is a rater with the yardstick's slope and the best severity."""

    link: str

    def kappa(self, a: Array, eta: Array, sigma: Array) -> Array:
        return capability.gmf(rho=a / sigma, eta=eta, sigma=sigma, link=self.link)

    def gradient(self, a: Array, eta: Array, sigma: Array) -> Gradient:
        return Gradient(*capability.gmf_gradient(a, eta, sigma, self.link))


@dataclass(frozen=True, slots=True)
class OrderedIndex(_RelativeIndex):
    """Ordered scores: the same, from the expected score over its range, at the panel's thresholds."""

    score: OrderedScore

    def kappa(self, a: Array, eta: Array, sigma: Array) -> Array:
        return self.score.sensitivity(a, eta).rate / self._best(sigma)

    def gradient(self, a: Array, eta: Array, sigma: Array) -> Gradient:
        rate, by_slope, by_severity = self.score.sensitivity(a, eta)
        severity, best = self.score.best(float(sigma.flat[0]))
        # Envelope theorem: the best severity moves with sigma, but T is flat in it.
        rise = self.score.sensitivity(np.array(sigma.flat[0]), np.array(severity)).by_slope
        return Gradient(by_slope / best, by_severity / best, -rate * rise / best**2)

    def _best(self, sigma: Array) -> Array:
        """Delta at every sigma, interpolated where there are many: it is smooth and rises slowly."""
        low, high = float(sigma.min()), float(sigma.max())
        knots = np.linspace(low, high, 33) if high > low else np.array([low])
        return np.interp(sigma, knots, [self.score.best(float(knot))[1] for knot in knots])


@dataclass(frozen=True, slots=True)
class NoiselessIndex:
    """The probit rater model: 1 is a rater without noise; Delta = 1 / sqrt(2 pi), rho = 1 / sqrt(1 + noise^2)."""

    def rho(self, a: Array, sigma: Array) -> tuple[Array, Gradient]:
        nothing = np.zeros_like(a)
        return a / np.sqrt(1 + a**2), Gradient((1 + a**2) ** -1.5, nothing, nothing)

    def kappa(self, a: Array, eta: Array, sigma: Array) -> Array:
        return np.asarray(np.sqrt(2 * np.pi) * a * moments(a, eta, get_link("probit"))[0])

    def gradient(self, a: Array, eta: Array, sigma: Array) -> Gradient:
        _, first, second = np.sqrt(2 * np.pi) * moments(a, eta, get_link("probit"), 2)
        return Gradient(second, -first, np.zeros_like(a))
