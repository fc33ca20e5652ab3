"""The capability index as a function of what is estimated: a rater's slope and severity, and the yardstick.

One small class a definition of the index; uncertainty (kappa.py) is the same for all of them.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from raterlens import capability
from raterlens.links import get_link
from raterlens.moments import moments

Array = NDArray[np.float64]


class Index(Protocol):
    """kappa-bar of raters with slope a and severity eta, where the yardstick has slope sigma."""

    def kappa(self, a: Array, eta: Array, sigma: Array) -> Array: ...

    def gradient(self, a: Array, eta: Array, sigma: Array) -> tuple[Array, Array, Array]:
        """Derivatives in a, eta and sigma."""


@dataclass(frozen=True, slots=True)
class PanelIndex:
    """TFM and GMF: 1 is a rater with the yardstick's slope and the best severity."""

    link: str

    def kappa(self, a: Array, eta: Array, sigma: Array) -> Array:
        return capability.gmf(rho=a / sigma, eta=eta, sigma=sigma, link=self.link)

    def gradient(self, a: Array, eta: Array, sigma: Array) -> tuple[Array, Array, Array]:
        return capability.gmf_gradient(a, eta, sigma, self.link)


@dataclass(frozen=True, slots=True)
class NoiselessIndex:
    """The probit rater model: 1 is a rater without noise; Delta = 1 / sqrt(2 pi)."""

    def kappa(self, a: Array, eta: Array, sigma: Array) -> Array:
        return np.asarray(np.sqrt(2 * np.pi) * a * moments(a, eta, get_link("probit"))[0])

    def gradient(self, a: Array, eta: Array, sigma: Array) -> tuple[Array, Array, Array]:
        _, first, second = np.sqrt(2 * np.pi) * moments(a, eta, get_link("probit"), 2)
        return second, -first, np.zeros_like(a)
