"""The students that capability is averaged over: any normal population, a window of abilities, or a histogram.

For a rater with slope a and severity η, T(a, η) = E[a f(a θ − η)] over the population is how fast the expected
score rises with ability. Δ(σ) is the supremum of T over severity at the yardstick's slope σ.

A reading effect of variance v (halo) is averaged over, too: T = E[a f(a θ − η + √v u)]. In a normal population
a θ + √v u is normal itself, so that a rater with halo is one of slope √(a² + v), of which a share a / √(a² + v) counts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
from scipy import special

from raterlens.base.arrays import Array
from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option
from raterlens.capability.ability_shape import LARGEST_SHAPE, AbilityShape
from raterlens.capability.chebyshev_table import many_draws, read_off
from raterlens.capability.cubic_spline import spline
from raterlens.capability.curves import Curve, PassCurve, through_log_link
from raterlens.capability.density_moments import blocks, highest, moments
from raterlens.capability.peak import MOST_LOOKS, peaks

_ROOT_2PI = float(np.sqrt(2 * np.pi))
# Severities tried before the best of them is refined; and slopes between which Δ is interpolated where many are
# asked for, for the draws behind an interval: to 1e-6.
_CANDIDATES, _KNOTS = 201, 65
# Closer looks at a smooth top: its height is off by the square of how far its place is, 1e-6 of the range.
_LOOKS = 5
# Cells of a histogram of abilities; it adds width² / 12 = 2e-4 to their variance.
_CELL, _END = 0.05, 6.0
_MOST_STRETCHES = 400
# Of the fullest cell: cells at the ends with fewer students are left out.
_NOBODY = 1e-12
_STUDENTS_AT_A_TIME = 4096
# Of a central difference, relative: truncation and rounding are both below 1e-7.
_STEP = 1e-4


def _normal_rule(step: float, end: float) -> tuple[Array, Array]:
    """Trapezoidal, for averages over a standard normal variable."""
    points = np.arange(-end, end + step / 2, step)
    weights = np.exp(-0.5 * points**2)
    return points, weights / weights.sum()


READINGS = _normal_rule(0.4, 6.0)


class Sensitivity(NamedTuple):
    """T and its derivatives, in the common shape of slopes and severities."""

    rate: Array
    by_slope: Array
    by_severity: Array
    by_halo: Array


class Population(Protocol):
    """Students of given abilities."""

    @property
    def text(self) -> str:
        """In the words in which it can be chosen."""

    @property
    def densest(self) -> float:
        """Highest density of abilities: T of a rater who makes no error at the best place."""

    def __hash__(self) -> int: ...

    def rate(self, curve: Curve, a: Array, eta: Array, halo: Array | float = 0.0) -> Array:
        """T; `halo` is the variance of the reading effect, here and below"""

    def sensitivity(self, curve: Curve, a: Array, eta: Array, halo: Array | float = 0.0) -> Sensitivity: ...

    def best(self, curve: Curve, sigma: Array) -> Array:
        """Δ(σ)"""

    def best_rise(self, curve: Curve, sigma: Array) -> Array:
        """dΔ/dσ"""

    def shares(self, curve: Curve, a: Array, eta: Array, halo: Array | float = 0.0) -> Array:
        """(2, steps, ...): how often each step of the scores is reached, and how often not."""

    def expected(self, curve: Curve, a: Array, eta: Array, halo: Array | float = 0.0) -> Array:
        """The expected score as a share of its range."""

    def follows(self, curve: Curve, a: Array, eta: Array, halo: Array | float = 0.0) -> tuple[Array, Array]:
        """The shares, and Cov(score, θ)."""

    def top(self, share: Array) -> Array:
        """E[θ − E θ; the most able `share[0]` of students], where `share[1]` is the rest."""

    def centred(self) -> "Population":
        """With mean 0."""


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

    def rate(self, curve: Curve, a: Array, eta: Array, halo: Array | float = 0.0) -> Array:
        return np.asarray(a * curve.moments(self._reach(a, halo), eta - a * self.mean)[0])

    def sensitivity(self, curve: Curve, a: Array, eta: Array, halo: Array | float = 0.0) -> Sensitivity:
        reach = self._reach(a, halo)
        m0, m1, m2 = curve.moments(reach, eta - a * self.mean, 2)
        # With c = √(a² sd² + v), by parts: c dm0/dc = m2 − m0, and dm0/dη = −m1 / c.
        inverse = np.divide(1.0, reach, out=np.zeros_like(reach), where=reach > 0)
        share = np.where(reach > 0, a * inverse, 1 / self.sd)
        by_slope = m0 + (share * self.sd) ** 2 * (m2 - m0) + self.mean * share * m1
        return Sensitivity(a * m0, by_slope, -share * m1, share * inverse * (m2 - m0) / 2)

    def _reach(self, a: Array, halo: Array | float) -> Array:
        """The slope of a rater without halo whose predictor varies as much."""
        return np.sqrt(np.asarray((a * self.sd) ** 2 + halo, np.float64))

    def best(self, curve: Curve, sigma: Array) -> Array:
        if isinstance(curve, PassCurve):
            link, slope = curve.link, np.asarray(sigma * self.sd)
            if link.symmetric:
                return highest(slope, link).rate / self.sd
            return _between(lambda slopes: highest(slopes, link).rate, slope) / self.sd
        return _best(self, curve, sigma, self._span)

    def best_rise(self, curve: Curve, sigma: Array) -> Array:
        if isinstance(curve, PassCurve):
            # Envelope theorem: the best severity moves with σ, but T is flat in it.
            severity = highest(sigma * self.sd, curve.link).severity
            return np.asarray(moments(sigma * self.sd, severity, curve.link, 2)[2])
        return _rise(self, curve, sigma, self._span)

    def shares(self, curve: Curve, a: Array, eta: Array, halo: Array | float = 0.0) -> Array:
        return curve.rates(self._reach(a, halo), eta - a * self.mean)

    def expected(self, curve: Curve, a: Array, eta: Array, halo: Array | float = 0.0) -> Array:
        return curve.expected(self._reach(a, halo), eta - a * self.mean)

    def follows(self, curve: Curve, a: Array, eta: Array, halo: Array | float = 0.0) -> tuple[Array, Array]:
        # Stein's identity: Cov(y, θ) = Var(θ) E[dy/dθ].
        if isinstance(curve, PassCurve):
            shares, density = curve.rates_and_density(self._reach(a, halo), eta - a * self.mean)
            return shares, np.asarray(self.sd**2 * (a * density))
        return self.shares(curve, a, eta, halo), self.sd**2 * self.rate(curve, a, eta, halo)

    def top(self, share: Array) -> Array:
        z = special.ndtri(np.minimum(share[0], share[1]))
        return np.asarray(self.sd * np.exp(-z * z / 2) / _ROOT_2PI)

    def centred(self) -> "Normal":
        return Normal(0.0, self.sd)

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
        """The average posterior distribution of these students."""
        low = min(-_END, _CELL * np.floor((ability - 4 * error).min() / _CELL))
        high = max(_END, _CELL * np.ceil((ability + 4 * error).max() / _CELL))
        edges = np.linspace(low, high, round((high - low) / _CELL) + 1)
        below = np.zeros_like(edges)
        for first in range(0, len(ability), _STUDENTS_AT_A_TIME):
            rows = slice(first, first + _STUDENTS_AT_A_TIME)
            below += special.ndtr((edges - ability[rows, None]) / error[rows, None]).sum(axis=0)
        share = np.diff(below)
        return Histogram(edges, share / share.sum(), "estimated")

    @staticmethod
    def smooth(c3: float, c4: float) -> "Histogram":
        """Students whose distribution has this shape (`ability_shape.py`).

        Examples
        --------
        >>> skewed = Histogram.smooth(0.2, -0.02)
        >>> skewed.text
        'smooth 0.2 -0.02'
        """
        if not (abs(c3) <= LARGEST_SHAPE[0] and abs(c4) <= LARGEST_SHAPE[1]):
            raise OptionError(
                f"a smooth population has a skewness and a tail of at most {LARGEST_SHAPE[0]:g} in size, not {c3:g} "
                f"and {c4:g}",
                "take them from a fit with ability 'smooth'",
                value=(c3, c4),
                option="population",
            )
        shape = AbilityShape.of(c3, c4)
        low, high = (round(end / _CELL) * _CELL for end in shape.ends())
        edges = np.linspace(low, high, round((high - low) / _CELL) + 1)
        # Simpson's rule in each cell.
        at_edges, middle = (np.exp(shape.log_density(at)) for at in (edges, (edges[1:] + edges[:-1]) / 2))
        share = at_edges[1:] + at_edges[:-1] + 4 * middle
        some = share > _NOBODY * share.max()
        first, last = int(some.argmax()), len(some) - int(some[::-1].argmax())
        share = share[first:last]
        return Histogram(edges[first : last + 1], share / share.sum(), f"smooth {c3:.12g} {c4:.12g}")

    @property
    def densest(self) -> float:
        return float(np.max(self.share / np.diff(self.edges)))

    def rate(self, curve: Curve, a: Array, eta: Array, halo: Array | float = 0.0) -> Array:
        def rate(a: Array, eta: Array) -> Array:
            flat, out = (a.ravel(), eta.ravel()), np.empty(a.size)
            for rows in blocks(np.arange(a.size), len(curve.step_weights) * len(self.edges)):
                out[rows] = self._across(curve.mean(self._predictors(flat[0][rows], flat[1][rows])))
            return out.reshape(a.shape)

        return _averaged(rate, a, eta, halo)

    def sensitivity(self, curve: Curve, a: Array, eta: Array, halo: Array | float = 0.0) -> Sensitivity:
        def by(weight: Array | float) -> Array:
            return over_readings(
                lambda shift: self._across(weight * curve.density(self._predictors(a, eta - shift))), halo
            )

        more, less = (self.rate(curve, a, eta, np.maximum(halo + sign * _STEP, 0.0)) for sign in (1, -1))
        width = np.asarray(halo) + _STEP - np.maximum(np.asarray(halo) - _STEP, 0.0)
        return Sensitivity(self.rate(curve, a, eta, halo), by(self.edges), -by(1.0), (more - less) / width)

    def best(self, curve: Curve, sigma: Array) -> Array:
        return _best(self, curve, sigma, self._span)

    def best_rise(self, curve: Curve, sigma: Array) -> Array:
        return _rise(self, curve, sigma, self._span)

    def shares(self, curve: Curve, a: Array, eta: Array, halo: Array | float = 0.0) -> Array:
        return self.follows(curve, a, eta, halo)[0]

    def expected(self, curve: Curve, a: Array, eta: Array, halo: Array | float = 0.0) -> Array:
        return np.tensordot(curve.step_weights, self.shares(curve, a, eta, halo)[0], 1)

    def follows(self, curve: Curve, a: Array, eta: Array, halo: Array | float = 0.0) -> tuple[Array, Array]:
        def both(a: Array, eta: Array) -> Array:
            share, covariance = self._follows(curve, a, eta)
            return np.concatenate([*share, covariance[None]])

        *shares, covariance = _averaged(both, a, eta, halo)
        return np.reshape(shares, (2, len(curve.step_weights), *covariance.shape)), covariance

    def _follows(self, curve: Curve, a: Array, eta: Array) -> tuple[Array, Array]:
        a, eta = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(eta, np.float64))
        (theta, weight), flat = self._points(), (a.ravel(), eta.ravel())
        off, steps = weight * (theta - self._mean), curve.step_weights
        share, covariance = np.empty((2, len(steps), a.size)), np.empty(a.size)
        for rows in blocks(np.arange(a.size), 2 * len(steps) * len(theta)):
            at = curve.cumulative(np.multiply.outer(theta, flat[0][rows]) - flat[1][rows])
            share[:, :, rows] = np.einsum("t,skta->ska", weight, at)
            covariance[rows] = np.einsum("t,k,kta->a", off, steps, at[0], optimize=True)
        return share.reshape(2, len(steps), *a.shape), covariance.reshape(a.shape)

    def top(self, share: Array) -> Array:
        # Students from the most able down, by whole cells and then the rest of one.
        cell, width = self.share[::-1], np.diff(self.edges)[::-1]
        high = self.edges[:0:-1] - self._mean
        taken, sums = (np.append(0.0, np.cumsum(part)) for part in (cell, cell * (high - width / 2)))
        last = np.clip(np.searchsorted(taken, share[0], "right") - 1, 0, len(cell) - 1)
        rest = np.clip(share[0] - taken[last], 0.0, cell[last])
        within = rest / np.maximum(cell[last], 1e-300) * width[last]
        return np.asarray(sums[last] + rest * (high[last] - within / 2))

    def centred(self) -> "Histogram":
        return Histogram(self.edges - self._mean, self.share, self.text)

    @property
    def _mean(self) -> float:
        return float(self.share @ (self.edges[1:] + self.edges[:-1]) / 2)

    def _points(self) -> tuple[Array, Array]:
        """Abilities and weights: two points in every stretch of a cell that even steep curves are smooth on."""
        stretches = np.clip(np.ceil(np.diff(self.edges) / _CELL - 1e-9), 1, _MOST_STRETCHES).astype(int)
        width = np.repeat(np.diff(self.edges) / stretches, stretches)
        within = np.concatenate([np.arange(n) for n in stretches])
        begin = np.repeat(self.edges[:-1], stretches) + width * within
        points = np.concatenate([begin + width * (0.5 + offset / np.sqrt(12)) for offset in (-1, 1)])
        return points, np.tile(np.repeat(self.share / stretches, stretches) / 2, 2)

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


def _averaged(function: Callable[[Array, Array], Array], a: Array, eta: Array, halo: Array | float) -> Array:
    """`function` of slope and severity, on average over readings; for many draws of each rater by a table."""
    a, eta = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(eta, np.float64))
    if not many_draws(a):
        return over_readings(lambda shift: function(a, eta - shift), halo)
    points, weights = READINGS if np.any(halo) else ((0.0,), (1.0,))
    return read_off(function, a, eta, [(w, u * np.sqrt(halo)) for u, w in zip(points, weights, strict=True)])


def over_readings(value: Callable[[Array | float], Array], halo: Array | float) -> Array:
    """The average of what follows from a predictor that is shifted by a reading effect of variance `halo`."""
    if not np.any(halo):
        return value(0.0)
    points, weights = READINGS
    return np.asarray(sum(w * value(u * np.sqrt(halo)) for u, w in zip(points, weights, strict=True)))


def _best(population: Population, curve: Curve, sigma: Array, span: tuple[float, float]) -> Array:
    """Δ at every σ by search over severity."""
    return _between(lambda slopes: _best_at(population, curve, tuple(slopes.tolist()), span), sigma)


def _between(best: Callable[[Array], Array], sigma: Array) -> Array:
    """Δ at every σ where each takes a search; where there are many, interpolated between a few."""
    sigma = np.asarray(sigma, np.float64)
    distinct, place = np.unique(sigma, return_inverse=True)
    if len(distinct) <= _KNOTS:
        return best(distinct)[place].reshape(sigma.shape)
    # Closer together where slopes are flat: there the best severity moves quickly.
    knots = distinct[0] + (distinct[-1] - distinct[0]) * np.linspace(0.0, 1.0, _KNOTS) ** 2
    return spline(knots, best(knots), sigma)


@lru_cache(maxsize=64)
def _best_at(
    population: Population, curve: Curve, sigma: tuple[float, ...], span: tuple[float, float]
) -> Array:
    """Δ at each σ: T may have several peaks in η, so the best of many severities is refined. Kept, since whatever is
    asked of a panel is divided by the same Δ."""
    slopes = np.array(sigma)
    low, high = slopes * span[0] - curve.reach[1], slopes * span[1] - curve.reach[0]
    looks = MOST_LOOKS if through_log_link(curve) else _LOOKS
    return peaks(lambda eta: population.rate(curve, slopes, eta), low, high, _CANDIDATES, looks)[1]


def _rise(population: Population, curve: Curve, sigma: Array, span: tuple[float, float]) -> Array:
    """dΔ/dσ by a central difference: at the log link's corner T is not flat in η, and no envelope theorem holds."""
    step = _STEP * sigma
    above, below = (_best(population, curve, sigma + sign * step, span) for sign in (1, -1))
    return (above - below) / (2 * step)
