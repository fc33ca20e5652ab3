"""The capability index as a function of what is estimated: a rater's slope and severity, and the yardstick.

One index for every way of scoring (curve) and every population; uncertainty (kappa.py) is the same for all.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from raterlens.capability.curves import Curve
from raterlens.capability.perfect_rater import sharpness_gradient, sharpness_of, standard_of
from raterlens.capability.population import Population
from raterlens.types import Array

# A slope that stands for 0 where its best severity is looked for.
_FLAT = 1e-6


class Gradient(NamedTuple):
    """Derivatives in the slope, the severity and sigma."""

    slope: Array
    severity: Array
    sigma: Array


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """For raters with slope a and severity eta, where the yardstick has slope sigma.

    Discrimination and capability may exceed 1 where the yardstick is not the most discriminating rater.
    """

    curve: Curve
    population: Population
    perfect: bool = False
    """The yardstick is a rater without noise, whatever sigma is."""

    def rho(self, a: Array, sigma: Array) -> tuple[Array, Gradient]:
        """Discrimination: a / sigma, or against a rater without noise kappa at the best severity, which is
        a / sqrt(1 + a^2) for the probit link; and its gradient."""
        nothing = np.zeros_like(a)
        if self.perfect:
            steep, most = np.maximum(np.abs(a), _FLAT), self.population.densest
            best = np.where(a == 0, 0.0, np.sign(a) * self.population.best(self.curve, steep))
            return best / most, Gradient(
                self.population.best_rise(self.curve, steep) / most, nothing, nothing
            )
        return a / sigma, Gradient(1 / sigma, nothing, -a / sigma**2)

    def kappa(self, a: Array, eta: Array, sigma: Array) -> Array:
        """Mean capability kappa-bar."""
        return self.population.rate(self.curve, a, eta) / self.best(sigma)

    def kappa_at(self, theta: float, a: Array, eta: Array, sigma: Array) -> Array:
        """Capability at one ability."""
        return self.rate_at(theta, a, eta) / self.best(sigma)

    def rate_at(self, theta: float, a: Array, eta: Array) -> Array:
        """How fast the expected score rises at one ability."""
        return np.asarray(a * self.curve.density(a * theta - eta))

    def gradient(self, a: Array, eta: Array, sigma: Array) -> Gradient:
        """Of kappa-bar."""
        rate, by_slope, by_severity = self.population.sensitivity(self.curve, a, eta)
        best = self.best(sigma)
        rise = 0.0 if self.perfect else self.population.best_rise(self.curve, sigma)
        return Gradient(by_slope / best, by_severity / best, -rate * rise / best**2)

    def best(self, sigma: Array) -> Array:
        """Delta"""
        if self.perfect:
            return np.full_like(sigma, self.population.densest)
        return self.population.best(self.curve, sigma)

    def sharpness(self, a: Array, eta: Array) -> Array:
        """How closely scores follow ability, as a share of what is possible; no yardstick matters to it."""
        return sharpness_of(self.curve, self.population, a, eta)

    def sharpness_gradient(self, a: Array, eta: Array) -> Gradient:
        return Gradient(*sharpness_gradient(self.curve, self.population, a, eta), np.zeros_like(a))

    def standard(self, a: Array, eta: Array) -> Array:
        """Share of students who pass where the average rater, from whom eta is counted, passes half."""
        return standard_of(self.curve, self.population, a, eta)
