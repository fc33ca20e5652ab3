"""The capability index as a function of what is estimated: a rater's slope and severity, and the yardstick.

One index for every way of scoring (curve) and every population; uncertainty (kappa.py) is the same for all.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from raterlens.base.arrays import Array
from raterlens.capability.chebyshev_table import many_draws, read_off, read_off_slopes
from raterlens.capability.curves import Curve, PassCurve, through_log_link
from raterlens.capability.perfect_rater import (
    all_of_normal,
    passes_as_standard,
    rate_and_sharpness,
    sharpness_gradient,
    sharpness_of,
    standard_of,
)
from raterlens.capability.population import Normal, Population, over_readings

# A slope that stands for 0 where its best severity is looked for.
_FLAT = 1e-6


class Gradient(NamedTuple):
    """Derivatives in the slope, the severity, sigma and the variance of the reading effect."""

    slope: Array
    severity: Array
    sigma: Array
    halo: Array


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """For raters with slope a, severity eta and a reading effect of variance `halo`; the yardstick has slope sigma and
    no halo.

    Discrimination and capability may exceed 1 where the yardstick is not the most discriminating rater.
    """

    curve: Curve
    population: Population
    perfect: bool = False
    """The yardstick is a rater without noise, whatever sigma is."""

    @property
    def by_formula(self) -> bool:
        """Whether each value follows from its slope and severity alone, not from tables for many of them."""
        if not isinstance(self.curve, PassCurve) or not isinstance(self.population, Normal):
            return False
        return self.perfect or self.curve.link.symmetric

    def rho(self, a: Array, sigma: Array) -> tuple[Array, Gradient]:
        """Discrimination: a / sigma, or against a rater without noise kappa at the best severity, which is
        a / sqrt(1 + a^2) for the probit link; and its gradient."""
        nothing = np.zeros_like(a)
        if self.perfect:
            steep, most = np.maximum(np.abs(a), _FLAT), self.population.densest
            best = np.where(a == 0, 0.0, np.sign(a) * self.population.best(self.curve, steep))
            return best / most, Gradient(
                self.population.best_rise(self.curve, steep) / most, nothing, nothing, nothing
            )
        return a / sigma, Gradient(1 / sigma, nothing, -a / sigma**2, nothing)

    def kappa(self, a: Array, eta: Array, sigma: Array, halo: Array | float = 0.0) -> Array:
        """Mean capability kappa-bar."""
        return self.rate(a, eta, halo) / self.best(sigma)

    def rate(self, a: Array, eta: Array, halo: Array | float = 0.0) -> Array:
        """How fast the expected score rises with ability, on average."""
        return self._at(partial(self.population.rate, self.curve), a, eta, halo)

    def kappa_and_sharpness(
        self, a: Array, eta: Array, sigma: Array, halo: Array | float = 0.0
    ) -> tuple[Array, Array]:
        """Both, in less time than one after the other."""
        rate, sharpness = self._at(partial(rate_and_sharpness, self.curve, self.population), a, eta, halo)
        return rate / self.best(sigma), sharpness

    def all_shown(
        self, a: Array, eta: Array, sigma: Array, halo: Array | float = 0.0
    ) -> tuple[Array, Array, Array]:
        """kappa-bar, sharpness and standard: all that is shown of a rater, of many draws in less time than one after
        the other."""
        if not isinstance(self.population, Normal) or not passes_as_standard(self.curve, self.population):
            return (*self.kappa_and_sharpness(a, eta, sigma, halo), self.standard(a, eta, halo))
        found = partial(all_of_normal, self.curve, self.population)
        rate, sharpness, passes = self._at(found, a, eta, halo)
        return rate / self.best(sigma), sharpness, passes

    def kappa_at(self, theta: float, a: Array, eta: Array, sigma: Array, halo: Array | float = 0.0) -> Array:
        """Capability at one ability."""
        return self.rate_at(theta, a, eta, halo) / self.best(sigma)

    def rate_at(self, theta: float, a: Array, eta: Array, halo: Array | float = 0.0) -> Array:
        """How fast the expected score rises at one ability."""
        return over_readings(lambda shift: np.asarray(a * self.curve.density(a * theta - eta + shift)), halo)

    def gradient(self, a: Array, eta: Array, sigma: Array, halo: Array | float = 0.0) -> Gradient:
        """Of kappa-bar."""
        rate, by_slope, by_severity, by_halo = self.population.sensitivity(self.curve, a, eta, halo)
        best = self.best(sigma)
        rise = 0.0 if self.perfect else self.population.best_rise(self.curve, sigma)
        return Gradient(by_slope / best, by_severity / best, -rate * rise / best**2, by_halo / best)

    def best(self, sigma: Array) -> Array:
        """Delta"""
        if self.perfect:
            return np.full_like(sigma, self.population.densest)
        best = partial(self.population.best, self.curve)
        return read_off_slopes(best, sigma) if self.by_formula and many_draws(sigma) else best(sigma)

    def sharpness(self, a: Array, eta: Array, halo: Array | float = 0.0) -> Array:
        """How closely scores follow ability, as a share of what is possible; no yardstick matters to it."""
        return self._at(partial(sharpness_of, self.curve, self.population), a, eta, halo)

    def sharpness_gradient(self, a: Array, eta: Array, halo: Array | float = 0.0) -> Gradient:
        by_slope, by_severity, by_halo = sharpness_gradient(self.curve, self.population, a, eta, halo)
        return Gradient(by_slope, by_severity, np.zeros_like(a), by_halo)

    def standard(self, a: Array, eta: Array, halo: Array | float = 0.0) -> Array:
        """Share of students who pass where the average rater, from whom eta is counted, passes half."""
        return self._at(partial(standard_of, self.curve, self.population), a, eta, halo)

    def _at(self, value: Callable[..., Array], a: Array, eta: Array, halo: Array | float) -> Array:
        """A value at each slope and severity; for many draws of each rater, by a table of it where it is smooth."""
        if through_log_link(self.curve) or not many_draws(a) or np.any(halo):
            return value(a, eta, halo)
        return read_off(partial(value, halo=0.0), a, np.broadcast_to(eta, np.shape(a)))
