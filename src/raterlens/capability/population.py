"""The students that capability is averaged over: any normal population, a window of abilities, or a histogram.

For a rater with slope a and severity η, T(a, η) = E[a f(a θ − η)] over the population is how fast the expected
score rises with ability. Δ(σ) is the supremum of T over severity at the yardstick's slope σ.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from scipy import special

from raterlens.capability.curves import Curve, PassCurve
from raterlens.capability.density_moments import highest, moments
from raterlens.errors import OptionError
from raterlens.text import Message, Option
from raterlens.types import Array

_ROOT_2PI = float(np.sqrt(2 * np.pi))
# Severities tried before the best of them is refined; and slopes between which Δ is interpolated where many are
# asked for, for the draws behind an interval: to 1e-5.
_CANDIDATES, _KNOTS = 201, 33
# Cells of a histogram of abilities; it adds width² / 12 = 2e-4 to their variance.
_CELL, _END = 0.05, 6.0
_STUDENTS_AT_A_TIME = 4096
# Of a central difference, relative: truncation and rounding are both below 1e-7.
_STEP = 1e-4


class Sensitivity(NamedTuple):
    """T and its derivatives, in the common shape of slopes and severities."""

    rate: Array
    by_slope: Array
    by_severity: Array


class Population(Protocol):
    """Students of given abilities."""

    @property
    def text(self) -> str:
        """In the words in which it can be chosen."""

    @property
    def densest(self) -> float:
        """Highest density of abilities: T of a rater who makes no error at the best place."""

    def rate(self, curve: Curve, a: Array, eta: Array) -> Array: ...

    def sensitivity(self, curve: Curve, a: Array, eta: Array) -> Sensitivity: ...

    def best(self, curve: Curve, sigma: Array) -> Array:
        """Δ(σ)"""

    def best_rise(self, curve: Curve, sigma: Array) -> Array:
        """dΔ/dσ"""


@dataclass(frozen=True, slots=True)
class Normal:
    """A normal population; the standard one is what abilities are estimated in.

    Examples
    --------
    >>> Normal(0.5, 1.2).text
    'normal 0.5 1.2'
    """

    mean: float = 0.0
    sd: float = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.mean) and np.isfinite(self.sd) and self.sd > 0):
            raise OptionError(
                f"a normal population has a mean and a standard deviation above 0, not {self.mean:g} and {self.sd:g}",
                Message("give, for example, ", Option("population", "normal 0.5 1.2")),
                value=(self.mean, self.sd),
                option="population",
            )

    @property
    def text(self) -> str:
        return "standard" if (self.mean, self.sd) == (0, 1) else f"normal {self.mean:.12g} {self.sd:.12g}"

    @property
    def densest(self) -> float:
        return 1 / (self.sd * _ROOT_2PI)

    # θ = mean + sd t: T = T₀(a sd, η − a mean) / sd with T₀ of the standard normal population (moments.py).

    def rate(self, curve: Curve, a: Array, eta: Array) -> Array:
        return np.asarray(a * curve.moments(a * self.sd, eta - a * self.mean)[0])

    def sensitivity(self, curve: Curve, a: Array, eta: Array) -> Sensitivity:
        m0, m1, m2 = curve.moments(a * self.sd, eta - a * self.mean, 2)
        return Sensitivity(a * m0, m2 + self.mean * m1 / self.sd, -m1 / self.sd)

    def best(self, curve: Curve, sigma: Array) -> Array:
        if isinstance(curve, PassCurve):
            return highest(sigma * self.sd, curve.link).rate / self.sd
        return _best(self, curve, sigma, self._span)

    def best_rise(self, curve: Curve, sigma: Array) -> Array:
        if isinstance(curve, PassCurve):
            # Envelope theorem: the best severity moves with σ, but T is flat in it.
            severity = highest(sigma * self.sd, curve.link).severity
            return np.asarray(moments(sigma * self.sd, severity, curve.link, 2)[2])
        return _rise(self, curve, sigma, self._span)

    @property
    def _span(self) -> tuple[float, float]:
        return self.mean - 4 * self.sd, self.mean + 4 * self.sd


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Abilities spread evenly within each of several cells; T is a sum of differences of the mean score."""

    edges: Array
    share: Array
    """One fewer than edges; they sum to 1."""
    text: str

    @staticmethod
    def of_students(ability: Array, error: Array) -> "Histogram":
        """What is known of these students' abilities: the average of their posterior distributions."""
        low = min(-_END, _CELL * np.floor((ability - 4 * error).min() / _CELL))
        high = max(_END, _CELL * np.ceil((ability + 4 * error).max() / _CELL))
        edges = np.linspace(low, high, round((high - low) / _CELL) + 1)
        below = np.zeros_like(edges)
        for first in range(0, len(ability), _STUDENTS_AT_A_TIME):
            rows = slice(first, first + _STUDENTS_AT_A_TIME)
            below += special.ndtr((edges - ability[rows, None]) / error[rows, None]).sum(axis=0)
        share = np.diff(below)
        return Histogram(edges, share / share.sum(), "estimated")

    @property
    def densest(self) -> float:
        return float(np.max(self.share / np.diff(self.edges)))

    def rate(self, curve: Curve, a: Array, eta: Array) -> Array:
        return self._across(curve.mean(self._predictors(a, eta)))

    def sensitivity(self, curve: Curve, a: Array, eta: Array) -> Sensitivity:
        s = self._predictors(a, eta)
        density = curve.density(s)
        return Sensitivity(
            self._across(curve.mean(s)), self._across(self.edges * density), -self._across(density)
        )

    def best(self, curve: Curve, sigma: Array) -> Array:
        return _best(self, curve, sigma, self._span)

    def best_rise(self, curve: Curve, sigma: Array) -> Array:
        return _rise(self, curve, sigma, self._span)

    @property
    def _span(self) -> tuple[float, float]:
        return float(self.edges[0]), float(self.edges[-1])

    def _predictors(self, a: Array, eta: Array) -> Array:
        a, eta = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(eta, np.float64))
        return np.multiply.outer(a, self.edges) - eta[..., None]

    def _across(self, at_edges: Array) -> Array:
        return np.asarray(np.diff(at_edges) @ (self.share / np.diff(self.edges)))


def Window(centre: float, half_width: float) -> Histogram:  # noqa: N802  reads as the kind of population it makes
    """Students whose abilities lie within `half_width` of `centre`, all equally likely.

    For asking how well raters tell students apart near a cut score: a narrow window looks at the cut alone.

    Examples
    --------
    >>> Window(0.3, 0.5).edges
    array([-0.2,  0.8])
    """
    if not (np.isfinite(centre) and np.isfinite(half_width) and half_width > 0):
        raise OptionError(
            f"a window has a centre and a half-width above 0, not {centre:g} and {half_width:g}",
            Message(
                "give, for example, ",
                Option("population", "window 0.3 0.5"),
                " for abilities from -0.2 to 0.8",
            ),
            value=(centre, half_width),
            option="population",
        )
    edges = np.array([centre - half_width, centre + half_width], np.float64)
    return Histogram(edges, np.ones(1), f"window {centre:.12g} {half_width:.12g}")


def _best(population: Population, curve: Curve, sigma: Array, span: tuple[float, float]) -> Array:
    """Δ at every σ by search over severity; where there are many σ, interpolated between a few."""
    sigma = np.asarray(sigma, np.float64)
    distinct, place = np.unique(sigma, return_inverse=True)
    if len(distinct) <= _KNOTS:
        return np.array([_best_at(population, curve, float(one), span) for one in distinct])[place]
    from scipy.interpolate import CubicSpline  # only here, and slow to load

    knots = np.linspace(distinct[0], distinct[-1], _KNOTS)
    return np.asarray(
        CubicSpline(knots, [_best_at(population, curve, float(one), span) for one in knots])(sigma)
    )


def _best_at(population: Population, curve: Curve, sigma: float, span: tuple[float, float]) -> float:
    """Δ at one σ: T may have several peaks in η, so the best of many severities is refined."""
    # Slow to load, and pass or fail in a normal population does without.
    from scipy.optimize import minimize_scalar

    low, high = sigma * span[0] - curve.reach[1], sigma * span[1] - curve.reach[0]
    tried = np.linspace(low, high, _CANDIDATES)
    top = int(np.argmax(population.rate(curve, np.full(_CANDIDATES, sigma), tried)))
    found = minimize_scalar(
        lambda eta: -float(population.rate(curve, np.array(sigma), np.array(eta))),
        bounds=(tried[max(top - 1, 0)], tried[min(top + 1, _CANDIDATES - 1)]),
        method="bounded",
        options={"xatol": 1e-9},
    )
    return -float(found.fun)


def _rise(population: Population, curve: Curve, sigma: Array, span: tuple[float, float]) -> Array:
    """dΔ/dσ by a central difference: at the log link's corner T is not flat in η, and no envelope theorem holds."""
    step = _STEP * sigma
    above, below = (_best(population, curve, sigma + sign * step, span) for sign in (1, -1))
    return (above - below) / (2 * step)
