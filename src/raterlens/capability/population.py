"""The students over whom capability is averaged: normal, a window, a histogram, or a smooth shape."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.polynomial import Chebyshev
from scipy import special

from raterlens.base.arrays import Array, Indices
from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option
from raterlens.capability.chebyshev_table import many_draws, read_off
from raterlens.capability.curves import Curve, PassCurve, through_log_link
from raterlens.capability.integrals import MOST_LOOKS, blocks, highest, moments, peaks

# ------------------------------------------------------------------------------------------------- ability shape


# The shape of the students' distribution, where it is not taken for normal.
#
#     log g(t) = −t²/2 + c₃ He₃(x) + c₄ He₄(x) − log Z,      x = L tanh(t / L)
#
# c₃ makes it skewed, c₄ heavy-tailed or two-peaked; a linear and a quadratic term would be no different from other
# severities and slopes. x is t within the range where students are, and levels off beyond it: tails that ratings cannot
# see stay those of a normal distribution, and every c₃ and c₄ makes a proper density.
#
# Abilities are θ = (t − m) / s with m the median and s half the distance between the quantiles Φ(1) and Φ(−1), so that
# θ has median 0 and quantiles near −1 and 1 whatever the shape, and is standard normal where c₃ = c₄ = 0. Its mean and
# variance would depend on the tails.

LARGEST_SHAPE = (0.5, 0.5)
"""Bounds of |c₃| and |c₄|: beyond, all students would be in one or two places."""
_LEVEL = 4.0
_SHAPE_END, _SHAPE_STEP = 10.0, 0.02
_QUARTILES = special.ndtr([-1.0, 0.0, 1.0])
# Five points of Gauss's rule on [0, 1] leave nothing within a step.
_GAUSS = tuple(part / 2 for part in (np.polynomial.legendre.leggauss(5) + np.array([[1.0], [0.0]])))
# From the middle of a step, each of Newton's squares what is left: 1e-2, 1e-5, 1e-10, 1e-20.
_NEWTON = 3
# Of differences of first derivatives.
_DIFFERENCE = 3e-6


def _levelled(t: Array) -> Array:
    return np.asarray(_LEVEL * np.tanh(t / _LEVEL))


def _polynomials(t: Array) -> tuple[Array, Array]:
    """(2, ...): He₃ and He₄ of x, and their derivatives in t."""
    x = _levelled(t)
    rise = 1 - (x / _LEVEL) ** 2
    value = np.stack([x**3 - 3 * x, x**4 - 6 * x**2 + 3])
    return value, np.stack([3 * x**2 - 3, 4 * x**3 - 12 * x]) * rise


_CELLS = np.arange(-_SHAPE_END, _SHAPE_END - _SHAPE_STEP / 2, _SHAPE_STEP)
_IN_CELLS = _CELLS[:, None] + _SHAPE_STEP * _GAUSS[0]
_ON_CELLS = _polynomials(_IN_CELLS)[0]


@dataclass(frozen=True, slots=True, eq=False)
class AbilityShape:
    """A distribution of abilities.

    Examples
    --------
    >>> normal = AbilityShape.of(0.0, 0.0)
    >>> bool(np.allclose(normal.log_density(np.array([0.0, 2.0])), [-0.918939, -2.918939]))
    True
    """

    c: Array
    """(2,)"""
    median: float
    """m, and below s: in units of t."""
    half_width: float
    d_median: Array
    """(2,): derivatives in c₃ and c₄; so for the next two."""
    d_half_width: Array
    mean: Array
    """Means of He₃ and He₄."""
    log_total: float

    @staticmethod
    @lru_cache(maxsize=64)
    def of(c3: float, c4: float) -> "AbilityShape":
        c = np.array([c3, c4])
        log = -(_IN_CELLS**2) / 2 + np.tensordot(c, _ON_CELLS, 1)
        top = float(log.max())
        density = np.exp(log - top) * (_SHAPE_STEP * _GAUSS[1])
        total = float(density.sum())
        log_total, mean = top + float(np.log(total)), np.tensordot(_ON_CELLS, density, 2) / total
        # Where shares Φ(−1), 1/2 and Φ(1) lie below, and how these places move with c₃ and c₄.
        each = (
            np.concatenate([density[None], density * (_ON_CELLS - mean[:, None, None])]).sum(axis=2) / total
        )
        below = np.concatenate([np.zeros((3, 1)), np.cumsum(each, axis=1)], axis=1)
        cell = np.searchsorted(below[0], _QUARTILES) - 1
        start, beyond = _CELLS[cell], np.full(len(_QUARTILES), _SHAPE_STEP / 2)
        for _ in range(_NEWTON):
            within = _terms(c, mean, log_total, start[:, None] + beyond[:, None] * _GAUSS[0])
            reached = below[:, cell] + beyond * (within @ _GAUSS[1])
            here = _terms(c, mean, log_total, start + beyond)[0]
            beyond = beyond - (reached[0] - _QUARTILES) / here
        place, move = start + beyond, -reached[1:] / here
        half_width, d_half_width = (place[2] - place[0]) / 2, (move[:, 2] - move[:, 0]) / 2
        return AbilityShape(c, float(place[1]), float(half_width), move[:, 1], d_half_width, mean, log_total)

    def log_density(self, theta: Array) -> Array:
        t = self.median + self.half_width * theta
        value, _ = _polynomials(t)
        logs = -(t**2) / 2 + np.tensordot(self.c, value, 1) - self.log_total + np.log(self.half_width)
        return np.asarray(logs)

    def log_ratio(self, theta: Array) -> Array:
        """The logarithm of the density over that of a standard normal distribution."""
        return np.asarray(self.log_density(theta) + theta**2 / 2 + np.log(2 * np.pi) / 2)

    def scores(self, theta: Array) -> Array:
        """(2, ...): derivatives of the log-density in c₃ and c₄."""
        t = self.median + self.half_width * theta
        value, rise = _polynomials(t)
        along = np.multiply.outer(self.d_half_width, theta) + _column(self.d_median, theta)
        of_scale = _column(self.d_half_width / self.half_width - self.mean, theta)
        return np.asarray(value + (np.tensordot(self.c, rise, 1) - t) * along + of_scale)

    def curvature(self, theta: Array) -> Array:
        """(2, 2, ...): second derivatives."""
        found = []
        for axis in np.eye(2) * _DIFFERENCE:
            ahead, back = (
                AbilityShape.of(*(self.c + sign * axis).tolist()).scores(theta) for sign in (1, -1)
            )
            found.append((ahead - back) / (2 * _DIFFERENCE))
        both = np.stack(found)
        return np.asarray((both + both.swapaxes(0, 1)) / 2)

    def at(self, share: Array) -> Array:
        """Quantiles: abilities that these shares of students are below."""
        theta = np.linspace(*self.ends(), 4001)
        below = np.cumsum(np.exp(self.log_density(theta)))
        return np.interp(share, (below - below[0]) / (below[-1] - below[0]), theta)

    def ends(self) -> tuple[float, float]:
        """Abilities between which next to all students are."""
        return (-_SHAPE_END - self.median) / self.half_width, (_SHAPE_END - self.median) / self.half_width


def _terms(c: Array, mean: Array, log_total: float, t: Array) -> Array:
    """(3, ...): the density, and its derivatives in c₃ and c₄."""
    value, _ = _polynomials(t)
    density = np.exp(-(t**2) / 2 + np.tensordot(c, value, 1) - log_total)
    return np.concatenate([density[None], density * (value - _column(mean, t))])


def _column(values: Array, like: Array) -> Array:
    return values.reshape(-1, *[1] * np.ndim(like))


# ---------------------------------------------------------------------------------------------------- population


# The students that capability is averaged over: any normal population, a window of abilities, or a histogram.
#
# For a rater with slope a and severity η, T(a, η) = E[a f(a θ − η)] over the population is how fast the expected
# score rises with ability. Δ(σ) is the supremum of T over severity at the yardstick's slope σ.
#
# A reading effect of variance v (halo) is averaged over, too: T = E[a f(a θ − η + √v u)]. In a normal population
# a θ + √v u is normal itself, so that a rater with halo is one of slope √(a² + v), of which a share a / √(a² + v)
# counts.

_ROOT_2PI = float(np.sqrt(2 * np.pi))
# Severities tried before the best of them is refined; and slopes through which Δ is interpolated where many are asked
# for, for the draws behind an interval: to 1e-6.
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


_POINTS = np.arange(-6.0, 6.2, 0.4)
READINGS = _POINTS, np.exp(-0.5 * _POINTS**2) / np.exp(-0.5 * _POINTS**2).sum()
"""Points and weights of averages over a standard normal variable, trapezoidal."""


class Sensitivity(NamedTuple):
    """T and its derivatives, in the common shape of slopes and severities."""

    rate: Array
    by_slope: Array
    by_severity: Array
    by_halo: Array


# A population has
#
#     text                        the words in which it can be chosen
#     densest, sd, span           its highest density: T of a rater who makes no error at the best place; its standard
#                                 deviation; between which abilities next to all students are
#     rate(curve, a, η, v)        T, and its derivatives by `sensitivity`
#     follows(curve, a, η, v)     (2, steps, ...): how often each step of the scores is reached, and how often not; and
#                                 Cov(score, θ)
#     top(share)                  E[θ − E θ; the most able `share[0]` of students], where `share[1]` is the rest
#     centred()                   the same with mean 0


class _Students:
    """Methods that all populations share."""

    __slots__ = ()

    def best(self: "Population", curve: Curve, sigma: Array) -> Array:  # type: ignore[misc]
        """Δ(σ), by search over severity."""
        return _between(lambda slopes: _best_at(self, curve, tuple(slopes.tolist())), sigma)

    def best_rise(self: "Population", curve: Curve, sigma: Array) -> Array:  # type: ignore[misc]
        """dΔ/dσ by a central difference: at the log link's corner T is not flat in η, and no envelope theorem holds."""
        step = _STEP * sigma
        return (self.best(curve, sigma + step) - self.best(curve, sigma - step)) / (2 * step)

    def expected(  # type: ignore[misc]
        self: "Population", curve: Curve, a: Array, eta: Array, halo: Array | float = 0.0
    ) -> Array:
        """The expected score as a share of its range."""
        return np.asarray(np.tensordot(curve.step_weights, self.follows(curve, a, eta, halo)[0][0], 1))


@dataclass(frozen=True, slots=True)
class Normal(_Students):
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
        if not isinstance(curve, PassCurve):
            return _Students.best(self, curve, sigma)
        link, slope = curve.link, np.asarray(sigma * self.sd)
        if link.symmetric:
            return highest(slope, link).rate / self.sd
        return _between(lambda slopes: highest(slopes, link).rate, slope) / self.sd

    def best_rise(self, curve: Curve, sigma: Array) -> Array:
        if not isinstance(curve, PassCurve):
            return _Students.best_rise(self, curve, sigma)
        # Envelope theorem: the best severity moves with σ, but T is flat in it.
        severity = highest(sigma * self.sd, curve.link).severity
        return np.asarray(moments(sigma * self.sd, severity, curve.link, 2)[2])

    def expected(self, curve: Curve, a: Array, eta: Array, halo: Array | float = 0.0) -> Array:
        return curve.expected(self._reach(a, halo), eta - a * self.mean)

    def follows(self, curve: Curve, a: Array, eta: Array, halo: Array | float = 0.0) -> tuple[Array, Array]:
        # Stein's identity: Cov(y, θ) = Var(θ) E[dy/dθ].
        shares, density = curve.rates_and_density(self._reach(a, halo), eta - a * self.mean)
        return shares, np.asarray(self.sd**2 * (a * density))

    def top(self, share: Array) -> Array:
        z = special.ndtri(np.minimum(share[0], share[1]))
        return np.asarray(self.sd * np.exp(-z * z / 2) / _ROOT_2PI)

    def centred(self) -> "Normal":
        return Normal(0.0, self.sd)

    @property
    def span(self) -> tuple[float, float]:
        return self.mean - 4 * self.sd, self.mean + 4 * self.sd


@dataclass(frozen=True, slots=True, eq=False)
class Histogram(_Students):
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
        """Students whose distribution has this shape (`AbilityShape`).

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
        def rate(curve: Curve, a: Array, eta: Array) -> Array:
            return self._across(curve.mean(self._predictors(a, eta)))

        return _averaged(rate, len(curve.step_weights) * len(self.edges), curve, a, eta, halo)

    def sensitivity(self, curve: Curve, a: Array, eta: Array, halo: Array | float = 0.0) -> Sensitivity:
        def by(weight: Array | float) -> Array:
            return over_readings(
                lambda shift: self._across(weight * curve.density(self._predictors(a, eta - shift))), halo
            )

        more, less = (self.rate(curve, a, eta, np.maximum(halo + sign * _STEP, 0.0)) for sign in (1, -1))
        width = np.asarray(halo) + _STEP - np.maximum(np.asarray(halo) - _STEP, 0.0)
        edges = self.edges.reshape(-1, *[1] * np.ndim(a))
        return Sensitivity(self.rate(curve, a, eta, halo), by(edges), -by(1.0), (more - less) / width)

    def follows(self, curve: Curve, a: Array, eta: Array, halo: Array | float = 0.0) -> tuple[Array, Array]:
        theta, weight = self._points()
        off, steps = weight * (theta - self._mean), curve.step_weights

        def both(curve: Curve, a: Array, eta: Array) -> Array:
            at = curve.cumulative(np.multiply.outer(theta, a) - eta)
            share = np.einsum("t,skt...->sk...", weight, at).reshape(-1, *a.shape)
            covariance = np.einsum("t,k,kt...->...", off, steps, at[0], optimize=True)
            return np.concatenate([share, covariance[None]])

        *shares, covariance = _averaged(both, 2 * len(steps) * len(theta), curve, a, eta, halo)
        return np.reshape(shares, (2, len(steps), *covariance.shape)), covariance

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
    def sd(self) -> float:
        middle, width = (self.edges[1:] + self.edges[:-1]) / 2 - self._mean, np.diff(self.edges)
        return float(np.sqrt(self.share @ (middle**2 + width**2 / 12)))

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
    def span(self) -> tuple[float, float]:
        return float(self.edges[0]), float(self.edges[-1])

    def _predictors(self, a: Array, eta: Array) -> Array:
        """(edges, ...)"""
        return np.multiply.outer(self.edges, a) - eta

    def _across(self, at_edges: Array) -> Array:
        return np.tensordot(self.share / np.diff(self.edges), np.diff(at_edges, axis=0), 1)


Population: TypeAlias = Normal | Histogram


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
        )
    edges = np.array([centre - half_width, centre + half_width], np.float64)
    return Histogram(edges, np.ones(1), f"window {centre:.12g} {half_width:.12g}")


def _averaged(
    function: Callable[[Curve, Array, Array], Array],
    each: int,
    curve: Curve,
    a: Array,
    eta: Array,
    halo: Array | float,
) -> Array:
    """`function` of slope and severity, on average over readings; for many draws of each rater by a table. It goes over
    `each` numbers for every place."""
    a, eta = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(eta, np.float64))

    def of_rows(a: Array, eta: Array, rows: Indices | slice = slice(None)) -> Array:
        own, shape = curve.of(rows), a.shape
        if not own.own:
            a, eta = a.reshape(-1, 1), eta.reshape(-1, 1)
        parts = [
            function(own.of(part), a[part], eta[part])
            for part in blocks(np.arange(len(a)), each * a.shape[1])
        ]
        found = np.concatenate(parts, axis=-2)
        return found.reshape((*found.shape[:-2], *shape))

    def on_average(a: Array, eta: Array) -> Array:
        return over_readings(lambda shift: of_rows(a, eta - shift), halo)

    if not many_draws(a):
        return on_average(a, eta)
    if not np.any(halo):
        return read_off(of_rows, a, eta)
    # One table of each rater for all of its readings.
    points, weights = READINGS
    shifted = eta[:, None] - points[:, None] * np.broadcast_to(np.sqrt(halo), a.shape)[:, None]
    places = np.broadcast_to(a[:, None], shifted.shape)
    found = read_off(of_rows, places.reshape(len(a), -1), shifted.reshape(len(a), -1), wide=True)
    return np.asarray(
        np.einsum("...rud,u->...rd", found.reshape((*found.shape[:-2], *shifted.shape)), weights)
    )


def over_readings(value: Callable[[Array | float], Array], halo: Array | float) -> Array:
    """The average of what follows from a predictor that is shifted by a reading effect of variance `halo`."""
    if not np.any(halo):
        return value(0.0)
    points, weights = READINGS
    return np.asarray(sum(w * value(u * np.sqrt(halo)) for u, w in zip(points, weights, strict=True)))


def _between(best: Callable[[Array], Array], sigma: Array) -> Array:
    """Δ at every σ where each takes a search; where there are many, by a polynomial through a few."""
    sigma = np.asarray(sigma, np.float64)
    distinct, place = np.unique(sigma, return_inverse=True)
    if len(distinct) <= _KNOTS:
        return best(distinct)[place].reshape(sigma.shape)
    # Closer together where slopes are flat: there the best severity moves quickly.
    least, width = distinct[0], distinct[-1] - distinct[0]
    through = Chebyshev.interpolate(lambda root: best(least + width * root**2), _KNOTS - 1, [0.0, 1.0])
    return np.asarray(through(np.sqrt((sigma - least) / width)))


@lru_cache(maxsize=64)
def _best_at(population: Population, curve: Curve, sigma: tuple[float, ...]) -> Array:
    """Δ at each σ: T may have several peaks in η, so the best of many severities is refined. Kept, since whatever is
    asked of a panel is divided by the same Δ."""
    slopes = np.array(sigma)
    low, high = slopes * population.span[0] - curve.reach[1], slopes * population.span[1] - curve.reach[0]
    looks = MOST_LOOKS if through_log_link(curve) else _LOOKS
    return peaks(lambda eta: population.rate(curve, slopes, eta), low, high, _CANDIDATES, looks)[1]
