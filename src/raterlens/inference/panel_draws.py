"""Normal "draws" of what is known of each rater: slope, severity, yardstick and reading effect, on all cores.

The draws are no random numbers but the points of a lattice, the same in every fit. The last of the standard normal
numbers moves severity alone, and each comes with its opposite: so turning all scores round, which turns severities
round, gives the same intervals. Against 130,000 Sobol points, ends of intervals are off by 0.001 to 0.003 (root mean
square; random numbers: 0.003 to 0.016).

Slopes are drawn on a scale on which what few ratings say of one is about normal: h(a), h' = (1 + a⁴)^(-1/4). A slope
could more easily be twice as large than 0, as scores hardly differ between large slopes; near 0 both sides are alike.

Quantiles near both ends need no sorting of what is in between. A quantile of a smooth distribution is nearly quadratic
in the normal score of its probability. The draws around it, by weighted least squares, say where it is several times as
exactly as the two next to it do.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from raterlens.base.arrays import NORMAL_95, Array
from raterlens.base.threads import in_threads, one_thread
from raterlens.capability.yardstick import LARGEST_SLOPE
from raterlens.models.panel import SlopeLimits

Result = TypeVar("Result")

FLATTEST = 1e-6
"""A yardstick's slope in a draw; no rater's slope matters below it."""
_DRAWS = 1_024
# Multiplier of the lattice: of all for half as many points, the least sum of 1 + 2 pi² B_2 in three dimensions.
_KOROBOV = 119
# Raters whose draws are looked at together, about half of a panel on each of two cores; or as many as fit into memory.
_FEW, _BLOCK = 25, 250
_MANY = 1_000
# Share of a standard deviation that is left after what comes before it, below which it is rounding.
_SINGULAR = 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """A panel on its yardstick: slope a, severity eta from the origin, and sigma."""

    a: Array
    """Slopes that ran to the limit, or of raters who are not linked to the rest, are at most those of the others."""
    eta: Array
    sigma: float
    origin: float
    joint: Array | None
    """(raters, 3, 3): covariance of (a_r, eta_r, sigma); with a fourth, the variance of the reading effect, if any."""
    falling: Array
    most: float
    """No slope is above it."""
    is_most: bool
    """The yardstick is the most discriminating rater: a draw that does better becomes the yardstick."""
    sampled: bool = False
    """Raters were fitted as a sample of raters: slopes may be negative, and what is known of each is skewed."""
    rival: "Rival | None" = None
    """Whom the yardstick competes with, where it is one of the raters and the best of them."""
    halo: Array | None = None
    """Variances of the reading effect; None where the model has none."""
    limits: SlopeLimits | None = None
    """How far slopes could be from their estimates, where that was looked for."""

    @property
    def halos(self) -> Array | float:
        return 0.0 if self.halo is None else self.halo

    @property
    def sigmas(self) -> Array:
        return np.full_like(self.a, max(self.sigma, FLATTEST))

    def of(self, rows: NDArray[np.int64]) -> "Measured":
        """These raters alone, on the yardstick of all."""
        rival = self.rival
        if rival is not None:
            place = np.flatnonzero(rows == rival.of)
            rival = replace(rival, of=int(place[0])) if len(place) else None
        return replace(
            self,
            a=self.a[rows],
            eta=self.eta[rows],
            joint=None if self.joint is None else self.joint[rows],
            falling=self.falling[rows],
            rival=rival,
            halo=None if self.halo is None else self.halo[rows],
            limits=None if self.limits is None else self.limits.of(rows),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Rival:
    """The runner-up of a panel, as the yardstick's draws see it."""

    of: int
    """The yardstick."""
    slope: float
    joint: Array
    """(3, 3): covariance of the yardstick's slope and severity and the runner-up's slope."""


class Draws(NamedTuple):
    """Draws of some of the raters, each (raters, draws)."""

    a: Array
    eta: Array
    sigma: Array
    halo: Array | float


def over_draws(
    on: Measured, work: Callable[[slice, Draws], Result], *, each_by_itself: bool = True
) -> list[Result]:
    """`work` on the draws of some raters after the other, in order.

    `each_by_itself`: it takes no tables for all of its draws together, so that few raters at a time, on all cores, cost
    no more. How many does not depend on the machine: numbers must not.
    """
    drawn, n = _drawn(on), len(on.a)
    if not each_by_itself:
        blocks = [slice(first, min(first + _MANY, n)) for first in range(0, n, _MANY)]
        return [work(rows, drawn(rows)) for rows in blocks]

    def part(first: int) -> Result:
        rows = slice(first, min(first + size, n))
        with one_thread():
            return work(rows, drawn(rows))

    size = min(max(_FEW, -(-n // 2)), _BLOCK)
    return in_threads(part, range(0, n, size))


def _drawn(on: Measured) -> Callable[[slice], Draws]:
    """The draws of any rows: the same normal numbers for everyone."""
    assert on.joint is not None
    normal = lattice(on.joint.shape[1])
    numbers = [on.a, on.eta, on.sigmas, *(() if on.halo is None else (on.halo,))]
    joint, centre = on.joint.copy(), np.stack(numbers, axis=1)
    if on.rival is not None:
        joint[on.rival.of], centre[on.rival.of, 2] = on.rival.joint, on.rival.slope
    root = np.ascontiguousarray(_root(joint).swapaxes(0, 1))
    reversible = on.sampled or (on.a < 0).any()

    def of(rows: slice) -> Draws:
        # Each in an array of its own, without gaps: kernels would copy others.
        slope, eta, sigma, *halos = (own[rows] @ normal for own in root)
        for place, drawn in enumerate((slope, eta, sigma, *halos)):
            drawn += centre[rows, place, None]
        a = slope if reversible or on.limits is not None else np.maximum(slope, 0.0, out=slope)
        if on.sampled:
            a = skewed(on.a[rows, None], a)
        elif on.limits is not None:
            a, eta = within_limits(on, rows, slope, eta, normal[0])
        np.abs(sigma, out=sigma)
        if on.is_most:
            np.maximum(sigma, np.abs(a) if reversible else a, out=sigma)
        halo = np.maximum(halos[0], 0.0, out=halos[0]) if halos else 0.0
        return Draws(a, eta, np.maximum(sigma, FLATTEST, out=sigma), halo)

    return of


@cache
def lattice(dimensions: int) -> Array:
    """(dimensions, draws): standard normal numbers at the points of Korobov's lattice, the last of each also turned
    round."""
    n = _DRAWS // 2
    steps = np.array([pow(_KOROBOV, k, n) for k in range(dimensions)])
    half = special.ndtri((np.multiply.outer(steps, np.arange(n)) % n + 0.5) / n)
    drawn = np.concatenate([half, half], axis=1)
    drawn[-1, n:] *= -1
    drawn.flags.writeable = False
    return drawn


def _root(joint: Array) -> Array:
    """(raters, numbers, normals): Cholesky's, in the order slope, yardstick, reading effect, severity; rows in
    the order of `joint`."""
    order = [0, *range(2, joint.shape[1]), 1]
    found = np.zeros_like(joint)
    found[:, order] = lower_root(joint[:, order][:, :, order])
    return found


def lower_root(covariance: Array) -> Array:
    """(rows, i, j): lower triangular roots, also of matrices without full rank."""
    root = np.zeros_like(covariance)
    for j in range(covariance.shape[1]):
        rest = covariance[:, j:, j] - np.einsum("nik,nk->ni", root[:, j:, :j], root[:, j, :j])
        pivot = np.sqrt(np.maximum(rest[:, :1], 0.0))
        known = pivot > _SINGULAR * np.sqrt(np.maximum(covariance[:, j, j], 0.0))[:, None]
        root[:, j:, j] = np.divide(rest, pivot, out=np.zeros_like(rest), where=known)
    return root


def within_limits(
    on: Measured, rows: slice, slopes: Array, severities: Array, normal: Array
) -> tuple[Array, Array]:
    """Slopes and severities of draws (raters, draws) that reach as far as profile likelihood says, severities following
    slopes; a slope that is held has no error of its own, and follows the standard normal numbers instead."""
    assert on.joint is not None
    assert on.limits is not None
    limits, joint, a = on.limits.of(rows), on.joint[rows], on.a[rows, None]
    deviation = np.sqrt(np.maximum(joint[:, :1, 0], 0.0))
    spare = np.broadcast_to(normal, slopes.shape).copy()
    z = np.divide(slopes - a, deviation, out=spare, where=deviation > 0)
    along = np.divide(joint[:, :1, 1], deviation, out=np.zeros_like(deviation), where=deviation > 0)
    low, high = np.minimum(limits.low[:, None], a), np.maximum(limits.high[:, None], a)
    follows = np.where(z < 0, -limits.severity_low[:, None], limits.severity_high[:, None]) / NORMAL_95
    return np.clip(between(a, low, high, z), 0.0, LARGEST_SLOPE), severities + (follows - along) * z


# Nothing tells a rater steeper than the last from a perfect one.
_PLACES = np.linspace(-8.0, 8.0, 8_001)
_SLOPES = np.sinh(_PLACES[::2])
_RISE = np.cosh(_PLACES) * (1 + np.sinh(_PLACES) ** 4) ** -0.25
# Simpson's rule between slopes.
_EVEN = np.append(0.0, np.cumsum(_RISE[:-2:2] + 4 * _RISE[1::2] + _RISE[2::2])) * (16 / 8_000 / 3)
_EVEN -= _EVEN[len(_EVEN) // 2]


def even(slope: Array | float) -> Array:
    """From slopes to the scale."""
    return np.asarray(np.interp(slope, _SLOPES, _EVEN))


def uneven(place: Array | float) -> Array:
    """And back."""
    return np.asarray(np.interp(place, _EVEN, _SLOPES))


def skewed(centre: Array, draws: Array) -> Array:
    """Normal draws of slopes as what few ratings say of them: normal on the even scale."""
    return uneven(even(centre) + (draws - centre) / (1 + centre**4) ** 0.25)


def between(centre: Array, low: Array, high: Array, z: Array) -> Array:
    """Slopes at standard normal z, where their 2.5 and 97.5 % points are known."""
    middle = even(centre)
    reach = np.where(z < 0, middle - even(low), even(high) - middle)
    return uneven(middle + reach * z / NORMAL_95)


# Draws count whose probability is between these multiples of the tail's, and so many at least.
_FROM, _TO, _FEWEST = 0.4, 2.2, 8


def outer_quantiles(draws: Array, tail: float) -> tuple[Array, Array]:
    """(rows,) twice: the quantiles at `tail` and 1 - `tail` of each row of draws.

    Examples
    --------
    >>> normal = special.ndtri((np.arange(1000) + 0.5) / 1000)
    >>> low, high = outer_quantiles(normal[None], 0.025)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([-1.96], [1.96])
    """
    first, weights = _weights(draws.shape[1], tail)
    low = np.sort(draws, axis=1)
    high = low[:, ::-1]
    place = math.floor(tail * draws.shape[1])
    return _quantile(low, first, weights, place), _quantile(high, first, weights, place)


def _quantile(ordered: Array, first: int, weights: Array, place: int) -> Array:
    """`place` is just beyond the quantile. Where the draws around it are the same, many are, and it is that: four of
    them, as the lattice has every slope twice."""
    near = ordered[:, first : first + len(weights)]
    smooth = np.clip(near @ weights, *np.sort(near[:, [0, -1]], axis=1).T)
    here, there = ordered[:, max(place - 2, 0)], ordered[:, place + 1]
    return np.where(here == there, here, smooth)


@cache
def _weights(n: int, tail: float) -> tuple[int, Array]:
    """The first of the ordered draws that count, and how much each does."""
    score = special.ndtri((np.arange(n) + 0.5) / n)
    around = np.flatnonzero((score > special.ndtri(_FROM * tail)) & (score < special.ndtri(_TO * tail)))
    if len(around) < _FEWEST:
        around = np.arange(min(n, _FEWEST))
    away = score[around] - special.ndtri(tail)
    weight = np.maximum(1 - (away / np.abs(away).max()) ** 2, 0.05)
    powers = np.vander(away, 3, increasing=True)
    found = np.linalg.solve(powers.T @ (weight[:, None] * powers), powers.T * weight)[0]
    return int(around[0]), np.ascontiguousarray(found)
