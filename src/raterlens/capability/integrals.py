"""Averages of a curve over a normal population of students, and where curves are highest."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from raterlens.base.arrays import Array, Indices
from raterlens.capability.links import Link
from raterlens.kernels.library import compiled_code_pays

# ----------------------------------------------------------------------------------------------- density moments


# A link's density seen through a normal population: M_k(a, η) = ∫ f(a t − η) t^k φ(t) dt, k = 0, 1, 2.
#
# T(a, η) = a M_0 is how fast the pass rate of a rater with slope a and severity η rises with ability, on
# average over students. Written T = ∫ f(x) φ((x + η) / a) dx, only φ depends on the parameters, so
#
#     dT/da = M_2,   dT/dη = −M_1,   d²T/dη² = (M_2 − M_0) / a
#
# for every link, also one whose density has a jump.
#
# probit and log have closed forms. The logistic and the Cauchy density are scale mixtures of normal ones, each of which
# has probit's closed form; 24 and 202 of them do to 1e-13. The rest is the trapezoidal rule, which converges
# exponentially for an integrand that is analytic in a strip: in t where f is the wider factor, in x = a t − η where φ
# is (`Grid.steep`), so that one fixed grid resolves both. The absolute error is below 1e-13 for every a ≥ 0 and
# |η| ≤ 50.

ROOT_2PI = math.sqrt(2 * math.pi)
_AT_A_TIME = 2**17
"""Numbers in one pass over a grid."""
_PER_COMPONENT = 6
"""Numbers that readable code goes over for each component of a mixture."""
_PER_NODE = 10
"""Numbers that readable code goes over for each node: an exponential, and what leads to it."""
_PER_ROW = 4_000
"""Numbers of a row's own functions on the nodes."""
_REST = 1e-16
"""Rest of functions that vanish."""
_STEEPEST = 16.0
"""Slopes beyond it are left to readable code: compiled code goes over nodes beyond the grid, too."""
_DENSE = 0.01
"""Step of nodes, in standard deviations, below which sums beyond them are integrals to 1e-11."""


def moments(slope: Array, severity: Array, link: Link, order: int = 0) -> Array:
    """M_0 .. M_order at every slope and severity (broadcast), shape (order + 1, ...).

    A negative slope, a rater who scores against ability, mirrors t: M_1 changes its sign.
    """
    a, eta = np.broadcast_arrays(np.asarray(slope, np.float64), np.asarray(severity, np.float64))
    flat = _RULES[link.name](np.abs(a).ravel(), eta.ravel(), link, order)
    if order:
        flat[1] *= np.where(a.ravel() < 0, -1.0, 1.0)
    return flat.reshape(order + 1, *a.shape)


@dataclass(frozen=True, slots=True)
class Highest:
    """The best rater with a given slope, each array in the slopes' shape."""

    severity: Array
    rate: Array
    """T, the sensitivity of the pass rate, at that severity."""


def highest(slope: Array, link: Link) -> Highest:
    """Where T(slope, η) is highest in η, and its height there."""
    severity = np.zeros_like(slope) if link.symmetric else _peak(slope, link)
    return Highest(severity, slope * moments(slope, severity, link)[0])


def _peak(slope: Array, link: Link) -> Array:
    """The η at which M_1 = 0, by Newton's method on log T inside a shrinking bracket.

    T is log-concave in η (a convolution of log-concave densities), so M_1 changes sign once. The peak lies
    between minus the mode of f (a → 0) and minus its mean (a → ∞): in [0, 1] for cloglog and log. From
    a = 1e4 on it is the latter to 1e-8, and rounding in M_1 would decide instead.
    """
    a = np.minimum(slope, 1e4)
    low, high = np.zeros_like(a), np.ones_like(a)
    eta = np.full_like(a, 0.5)
    for _ in range(60):
        m0, m1, m2 = moments(a, eta, link, order=2)
        low, high = np.where(m1 < 0, eta, low), np.where(m1 < 0, high, eta)
        rise = -m1 / (a * m0)
        bend = (m2 - m0) / (a**2 * m0) - rise**2
        newton = eta - rise / np.minimum(bend, -np.finfo(np.float64).tiny)
        previous, eta = eta, np.where((newton > low) & (newton < high), newton, (low + high) / 2)
        if np.all(np.abs(eta - previous) < 1e-13):
            break
    return eta


def _normal(t: Array) -> Array:
    return np.exp(-0.5 * t * t) / ROOT_2PI


# ---------------------------------------------------------------------------------------- quadrature

_ABILITY_END = 10.0
"""|t| beyond which φ(t) < 1e-22."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A trapezoidal rule that is exact for a density: its step, and the x beyond which f(x) < 1e-17."""

    step: float
    low: float
    high: float

    @property
    def steep(self) -> float:
        """The slope from which on the rule is in the predictor, where a normal density has its width."""
        return min(1.0, 2.5 * self.step)


Functions = Callable[[Array, Indices], Array]
"""(values, ..., rows, places): functions of predictors (..., rows, places) of these rows, which may have their own."""


def averages(
    functions: Functions, slope: Array, severity: Array, grid: Grid, *, own: bool = False, order: int = 0
) -> Array:
    """(order + 1, values, ...): E[g(a t − η) t^k] of smooth functions g, k = 0 .. order, for the sizes of the slopes.

    `own`: slopes and severities are (rows, places), and each row has functions of its own.
    """
    a, eta = np.broadcast_arrays(np.abs(np.asarray(slope, np.float64)), np.asarray(severity, np.float64))
    shape = a.shape
    if not own:
        a, eta = a.reshape(-1, 1), eta.reshape(-1, 1)
    rows = np.arange(len(a))
    found = [
        _of_rows(functions, some, a[some], eta[some], grid, order)
        for some in (blocks(rows, _PER_ROW) if own else (rows,))
    ]
    whole = np.concatenate(found, axis=2)
    return whole.reshape(*whole.shape[:2], *shape)


def _of_rows(functions: Functions, rows: Indices, a: Array, eta: Array, grid: Grid, order: int) -> Array:
    """(order + 1, values, rows, places), each place by the rule that suits it."""
    x = np.arange(grid.low, grid.high + grid.step / 2, grid.step)
    tables = np.moveaxis(functions(x[:, None, None], rows)[..., 0], -1, 0)  # (rows or 1, values, nodes)
    out = np.empty((order + 1, tables.shape[1], *a.shape))
    steep = a > grid.steep
    many = steep & (a <= _STEEPEST) & ~np.isnan(eta)
    if order == 0 and compiled_code_pays(float(np.count_nonzero(many)) * len(x) * _PER_NODE):
        from raterlens.kernels.capability_sums import normal_averages  # may be missing

        np.copyto(
            out, normal_averages(tables, x, np.where(many, a, 1.0), np.where(many, eta, 0.0)), where=many
        )
        steep &= ~many
    for block in blocks(np.flatnonzero(steep.any(axis=1)), len(x) * a.shape[1]):
        own, at_least = tables if len(tables) == 1 else tables[block], np.maximum(a[block], grid.steep)
        found = _in_predictor(own, x, at_least, eta[block], order)
        out[:, :, block] = np.where(steep[block], found, out[:, :, block])
    flat, t = a <= grid.steep, np.arange(-_ABILITY_END, _ABILITY_END + grid.step / 2, grid.step)
    weights = np.stack([grid.step * _normal(t) * t**k for k in range(order + 1)])
    for block in blocks(np.flatnonzero(flat.any(axis=1)), tables.shape[1] * len(t) * a.shape[1]):
        at = functions(np.multiply.outer(t, a[block]) - eta[block], rows[block])
        out[:, :, block] = np.where(flat[block], np.einsum("kt,vt...->kv...", weights, at), out[:, :, block])
    return out


def _in_predictor(tables: Array, x: Array, a: Array, eta: Array, order: int) -> Array:
    """Functions keep their values beyond the nodes. An average reaches further than a normal density does, by as much
    as that of an exponential moves."""
    step, wide = x[1] - x[0], (_ABILITY_END + np.minimum(a, _STEEPEST)) * a
    eta = np.clip(eta, -x[-1] - wide, -x[0] + wide)
    # Where nodes are dense, what lies beyond them is an integral: a slope of 10^6 would need 10^8 nodes.
    dense = step < _DENSE * a
    before, after = (
        int(np.ceil(max(np.where(dense, 0.0, beyond).max(), 0.0) / step))
        if np.any(np.abs(tables[..., end]) > _REST)
        else 0
        for beyond, end in ((x[0] + eta + wide, 0), (wide - eta - x[-1], -1))
    )
    x = x[0] + step * np.arange(-before, len(x) + after)
    tables = np.pad(tables, ((0, 0), (0, 0), (before, after)), mode="edge")
    t = (x[:, None] + eta[:, None]) / a[:, None]
    phi = np.exp(-0.5 * t * t)
    found = [tables @ (phi * t**k if k else phi) for k in range(order + 1)]
    sums = np.moveaxis(np.stack(found), 1, 2) * (step / (ROOT_2PI * a))
    if dense.any():
        for end, side in ((0, -1.0), (-1, 1.0)):
            rest = _beyond((x[end] + side * step / 2 + eta) / a, step / a, side, order)
            sums += tables[..., end].T[..., None] * np.where(dense, rest, 0.0)[:, None]
    return np.asarray(sums)


def _beyond(t: Array, step: Array, side: float, order: int) -> Array:
    """(order + 1, ...): sums of t^k φ(t) over the nodes of this step below t (`side` -1) or above it (1), of which t is
    half a step away: the integral and the first term of Euler and Maclaurin."""
    phi, found = _normal(t), [special.ndtr(-side * t)]
    for k in range(1, order + 1):
        found.append(side * t ** (k - 1) * phi + ((k - 1) * found[k - 2] if k > 1 else 0.0))
    rise = [(k * t ** (k - 1) if k else 0.0) - t ** (k + 1) for k in range(order + 1)]
    return np.stack([one + side * step**2 / 24 * each * phi for one, each in zip(found, rise, strict=True)])


def blocks(index: NDArray[np.intp], each: int = 64) -> Iterator[NDArray[np.intp]]:
    """So many of them at a time that a table of nodes, with `each` numbers for one, stays in the processor's cache."""
    size = max(1, _AT_A_TIME // max(each, 1))
    return (index[start : start + size] for start in range(0, index.size, size))


# The step follows from the decay of f's Fourier transform, exp(-π|ω|/2).
CLOGLOG_GRID = Grid(0.2, -40.0, 5.0)


def _by_quadrature(a: Array, eta: Array, link: Link, order: int) -> Array:
    return averages(lambda s, _: link.density(s)[None], a, eta, CLOGLOG_GRID, order=order)[:, 0]


# ----------------------------------------------------------------------------------- mixtures of normal distributions


def _logistic_mixture() -> tuple[Array, Array]:
    """Variances and weights of normal densities whose sum is the logistic density, to 1e-13.

    A logistic variable is 2 K Z, Z standard normal and K with Kolmogorov's distribution (Andrews and Mallows,
    1974; Stefanski, 1991). Its density, by the series that converges faster on each side of K = 0.8, vanishes so
    quickly at both ends of log K that the trapezoidal rule needs few nodes.
    """
    step = 0.14
    k = np.exp(np.arange(-1.75, 1.55, step))
    n = np.arange(1, 12)[:, None]
    c = ((2 * n - 1) * np.pi) ** 2 / 8
    small = np.sqrt(2 * np.pi) * np.sum(np.exp(-c / k**2) * (2 * c / k**4 - 1 / k**2), axis=0)
    large = 8 * k * np.sum((-1.0) ** (n - 1) * n**2 * np.exp(-2 * (n * k) ** 2), axis=0)
    return 4 * k**2, step * k * np.where(k < 0.8, small, large)


def _cauchy_mixture() -> tuple[Array, Array]:
    """A Cauchy variable is normal with variance 1 / z², z itself normal; nodes in log z.

    What lies beyond the last node has next to no precision left, and passes half: it keeps its weight there.
    """
    step = 0.1
    z = np.exp(np.arange(-18.0, 2.2, step))
    weights = step * z * np.sqrt(2 / np.pi) * np.exp(-z * z / 2)
    weights[0] += 1 - weights.sum()
    return 1 / z**2, weights


LOGISTIC_MIXTURE = _logistic_mixture()
_MIXTURES = {"probit": (np.ones(1), np.ones(1)), "logit": LOGISTIC_MIXTURE, "cauchit": _cauchy_mixture()}
"""Variances and weights, by link."""


def _by_mixture(a: Array, eta: Array, link: Link, order: int) -> Array:
    variances, weights = _MIXTURES[link.name]
    if order == 0 and compiled_code_pays(a.size * len(weights) * _PER_COMPONENT):
        from raterlens.kernels.capability_sums import mean_density  # may be missing

        return mean_density(a, eta, variances, weights / ROOT_2PI)[None]
    out = np.empty((order + 1, a.size))
    for block in blocks(np.arange(a.size)):
        slope, severity = a[block], eta[block]
        # A normal f of variance v makes f(a t - η) φ(t) a normal density in t: of mean a η / (v + a²) and variance
        # v / (v + a²).
        precision = 1 / np.add.outer(variances, slope * slope)
        part = np.sqrt(precision)
        part *= (weights / ROOT_2PI)[:, None]
        if severity.any():  # not where only the best rater of a slope is asked for
            part *= np.exp(-0.5 * severity * severity * precision)
        out[0, block] = part.sum(axis=0)
        if order:
            mean = slope * severity * precision
            out[1, block] = (part * mean).sum(axis=0)
        if order > 1:
            out[2, block] = (part * (mean * mean + variances[:, None] * precision)).sum(axis=0)
    return out


def _log(a: Array, eta: Array, link: Link, order: int) -> Array:
    # M_0 = exp(a²/2 - η) Φ(η/a - a); where the argument of Φ is negative, by the scaled erfc so that the
    # two exponents, each of size a²/2, cancel on paper and not in floating point.
    a = np.maximum(a, 1e-100)
    end = np.clip(eta / a, -1e100, 1e100)
    z = a - end
    phi = _normal(end)
    below = 0.5 * np.exp(-0.5 * end * end) * special.erfcx(np.maximum(z, 0) / np.sqrt(2))
    above = np.exp(np.minimum(a * a / 2 - eta, 0)) * special.ndtr(-z)
    m0 = np.where(z > 0, below, above)
    return np.stack([m0, a * m0 - phi, (1 + a * a) * m0 - (a + end) * phi][: order + 1])


_RULES: dict[str, Callable[[Array, Array, Link, int], Array]] = {
    **dict.fromkeys(_MIXTURES, _by_mixture),
    "cloglog": _by_quadrature,
    "log": _log,
}


# ---------------------------------------------------------------------------------------------------- pass rates


# How many students of a normal population pass, and how many fail: E[F(a t − η)] and E[1 − F(a t − η)].
#
# Both are sums of positive terms, so that neither loses digits where it is small. A symmetric link is a scale mixture
# of normal distributions: a normal F of variance v gives Φ(−η / sqrt(v + a²)). The log link has a closed form. The
# rest is by quadrature.


def pass_and_fail(slope: Array, severity: Array, link: Link) -> Array:
    """(2, ...): the shares of a standard normal population that pass and that fail."""
    return rates_and_density(slope, severity, link)[0]


def rates_and_density(slope: Array, severity: Array, link: Link) -> tuple[Array, Array]:
    """`pass_and_fail`, and E[f(a t − η)]."""
    a, eta = np.broadcast_arrays(np.abs(np.asarray(slope, np.float64)), np.asarray(severity, np.float64))
    if link.name == "log":
        # E[exp(s); s < 0] is the moment of the density; beyond, everybody passes.
        below, end = moments(a, eta, link)[0], eta / np.maximum(a, 1e-100)
        return np.stack([special.ndtr(-end) + below, np.maximum(special.ndtr(end) - below, 0.0)]), below
    if link.name not in _MIXTURES:

        def all_of(s: Array, _: Indices) -> Array:
            return np.exp(np.stack([link.log_pass(s), link.log_fail(s), link.log_density(s)]))

        found = averages(all_of, a, eta, CLOGLOG_GRID)[0]
        return found[:2], found[2]
    small, density = (each.reshape(a.shape) for each in _smaller_tail(a.ravel(), np.abs(eta).ravel(), link))
    severe, large = eta > 0, 1 - small
    return np.stack([np.where(severe, small, large), np.where(severe, large, small)]), density


def _smaller_tail(a: Array, distance: Array, link: Link) -> tuple[Array, Array]:
    """Σ w Φ(−|η| / sqrt(v + a²)), whichever of the two shares is the smaller, and the density."""
    variances, weights = _MIXTURES[link.name]
    if compiled_code_pays(a.size * len(weights) * _PER_COMPONENT):
        from raterlens.kernels.capability_sums import mean_tail_and_density  # may be missing

        small, density = mean_tail_and_density(a, distance, variances, weights)
        return small, density / ROOT_2PI
    out = np.empty_like(a)
    for block in blocks(np.arange(a.size)):
        precision = 1 / np.add.outer(variances, a[block] * a[block])
        out[block] = weights @ special.ndtr(-distance[block] * np.sqrt(precision))
    return out, moments(a, distance, link)[0]


# ---------------------------------------------------------------------------------------------------------- peak


_CLOSER = 21
"""Points of each closer look, which narrows the range to a tenth."""
MOST_LOOKS = 8


def peaks(
    height: Callable[[Array], Array], low: Array, high: Array, candidates: int, looks: int = MOST_LOOKS
) -> tuple[Array, Array]:
    """Where each of several curves is highest between `low` and `high`, and how high it is.

    `height` takes places, a row for each point that is tried and a column for each curve, and returns heights. A curve
    may have several peaks, provided that `candidates` points tell the highest. The place is good to about 1e-8 of the
    range, as far as rounding lets a flat top be told. Fewer `looks` will do where only the height of one is wanted.

    Examples
    --------
    >>> place, top = peaks(lambda x: 2 - (x - [0.3, 5.0]) ** 2, np.zeros(2), np.ones(2), 11)
    >>> place.round(6).tolist(), top.round(6).tolist()
    ([0.3, 1.0], [2.0, -14.0])
    """
    every = np.arange(len(low))
    for points in (candidates, *[_CLOSER] * looks):
        tried = np.linspace(low, high, points)
        heights = height(tried)
        top = heights.argmax(axis=0)
        low, high = tried[np.maximum(top - 1, 0), every], tried[np.minimum(top + 1, points - 1), every]
    return tried[top, every], heights[top, every]
