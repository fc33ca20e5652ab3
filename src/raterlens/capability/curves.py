"""How a score follows ability: the expected score as a share of its range, against the predictor s = a θ − η.

    mean(s) = E[y | s] / (K − 1),      density(s) = mean'(s)

Pass or fail is a link's F and f. Ordered scores 0 .. K − 1 have thresholds τ; with several scales (an item's
own thresholds each) the curve is their average. With two categories and τ = 0 both are the binary curve.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Self, TypeAlias

import numpy as np
from scipy import special

from raterlens.base.arrays import Array, Indices
from raterlens.capability.chebyshev_table import many_draws, read_off
from raterlens.capability.integrals import Grid, averages, moments, rates_and_density
from raterlens.capability.links import Link

# Half the width of the stretch of s on which a curve with threshold 0 rises.
_REACH = 2.0
# A logistic curve falls below 1e-17 this far from its thresholds.
_TAIL = 40.0
# Of odds, below which no product of them overflows.
_LARGEST_EXPONENT = 600.0


# A curve is a way of scoring, as capability needs it; or `own` ones of several raters, who are then the rows of slopes
# and severities (raters, places) and of predictors (..., raters, places). It has
#
#     of(rows)                   those of these raters; itself where it is that of all
#     reach                      between which s it does most of its rising
#     mean(s), density(s)        and moments(a, η, order): ∫ density(a t − η) t^k φ(t) dt for k = 0 .. order
#     scales                     steps from a score to the next, of each scale
#     cumulative(s)              (2, steps, ...): the probabilities that a step is reached, and that it is not
#     rates_and_density(a, η)    `cumulative` on average over a standard normal population, and the first of the moments
#     expected(a, η)             the mean on average over it


class _Scored:
    """Methods that all curves share."""

    __slots__ = ()

    @property
    def step_weights(self: "Curve") -> Array:  # type: ignore[misc]
        """(steps,): what each step from a score to the next (of each scale) counts in the mean; they sum to 1."""
        steps = np.array(self.scales)
        return np.repeat(1 / (len(steps) * steps), steps)

    def expected(self: "Curve", a: Array, eta: Array) -> Array:  # type: ignore[misc]
        return np.asarray(np.tensordot(self.step_weights, self.rates_and_density(a, eta)[0][0], 1))


class _Thresholds(_Scored):
    """Scores by their thresholds."""

    __slots__ = ()
    thresholds: Array
    """(scales, steps), not a number beyond a scale's highest score; or (raters, scales, steps)."""

    @property
    def own(self) -> bool:
        return self.thresholds.ndim == 3

    def of(self, rows: Indices | slice) -> Self:
        return replace(self, thresholds=self.thresholds[rows]) if self.own else self  # type: ignore[type-var]

    @property
    def reach(self) -> tuple[float, float]:
        return float(np.nanmin(self.thresholds)) - _REACH, float(np.nanmax(self.thresholds)) + _REACH

    @property
    def scales(self) -> tuple[int, ...]:
        return tuple(map(len, self._scales()))

    def _scales(self) -> list[Array]:
        """Thresholds of each scale, (steps,) or (steps, raters, 1)."""
        if not self.own:
            return [own[np.isfinite(own)] for own in self.thresholds]
        each = self.thresholds.transpose(1, 2, 0)[..., None]
        return [own[np.isfinite(own[:, 0, 0])] for own in each]


class _Decisions(_Thresholds):
    """P(y ≥ k) = F(s − τ_k): every threshold is a pass/fail decision of its own."""

    __slots__ = ()
    link: Link

    def mean(self, s: Array) -> Array:
        return np.asarray(np.mean([np.exp(self.link.log_pass(s - tau)) for tau in self._each()], axis=0))

    def density(self, s: Array) -> Array:
        return np.asarray(np.mean([self.link.density(s - tau) for tau in self._each()], axis=0))

    def moments(self, a: Array, eta: Array, order: int = 0) -> Array:
        each = [moments(a, eta + tau, self.link, order) for tau in self._each()]
        return np.asarray(np.mean(each, axis=0))

    def cumulative(self, s: Array) -> Array:
        each = [(self.link.log_pass(s - tau), self.link.log_fail(s - tau)) for tau in self._each()]
        return np.exp(np.stack(each, axis=1))

    def rates_and_density(self, a: Array, eta: Array) -> tuple[Array, Array]:
        each = [rates_and_density(a, eta + tau, self.link) for tau in self._each()]
        rates, densities = zip(*each, strict=True)
        return np.stack(rates, axis=1), np.asarray(np.mean(densities, axis=0))

    def _each(self) -> list[Array]:
        return [tau for scale in self._scales() for tau in scale]


@dataclass(frozen=True, slots=True)
class PassCurve(_Decisions):
    """Pass or fail through a link."""

    link: Link
    thresholds: ClassVar[Array] = np.zeros((1, 1))  # type: ignore[misc]


def through_log_link(curve: "Curve") -> bool:
    """Where pass rates are capped at 1, and nothing of a rater is smooth."""
    return isinstance(curve, PassCurve) and curve.link.name == "log"


@dataclass(frozen=True, slots=True, eq=False)
class GradedCurve(_Decisions):
    """Cumulative scores."""

    thresholds: Array
    link: Link


@dataclass(frozen=True, slots=True, eq=False)
class AdjacentCurve(_Thresholds):
    """Adjacent-category logits, log P(y = k) / P(y = k − 1) = s − τ_k: the density is Var(y | s) / (K − 1)."""

    thresholds: Array

    def mean(self, s: Array) -> Array:
        """Share of each scale's own highest score."""
        return np.asarray(np.mean([_mean(p) / (len(p) - 1) for p in self._probabilities(s)], axis=0))

    def density(self, s: Array) -> Array:
        return _density(self._probabilities(s))

    def moments(self, a: Array, eta: Array, order: int = 0) -> Array:
        if not order:
            return self.rates_and_density(a, eta)[1][None]

        def density(s: Array, rows: Indices) -> Array:
            return self.of(rows).density(s)[None]

        found = averages(density, a, eta, self._grid, own=self.own, order=order)[:, 0]
        found[1] *= np.where(a < 0, -1.0, 1.0)
        return found

    def cumulative(self, s: Array) -> Array:
        return _cumulative(self._probabilities(s))

    def rates_and_density(self, a: Array, eta: Array) -> tuple[Array, Array]:
        a, eta = np.broadcast_arrays(np.abs(np.asarray(a, np.float64)), np.asarray(eta, np.float64))
        if many_draws(a):
            *rates, density = read_off(lambda a, eta, rows: self.of(rows)._averages(a, eta), a, eta)
        else:
            *rates, density = self._averages(a, eta)
        return np.reshape(rates, (2, -1, *a.shape)), density

    def _averages(self, a: Array, eta: Array) -> Array:
        """(2 steps + 1, ...)"""

        def functions(s: Array, rows: Indices) -> Array:
            p = self.of(rows)._probabilities(s)
            density = _density(p)
            return np.concatenate([_cumulative(p).reshape(-1, *density.shape), density[None]])

        return np.asarray(averages(functions, a, eta, self._grid, own=self.own)[0])

    @property
    def _grid(self) -> Grid:
        # The sum of exp(k s − ..) is a polynomial in exp(s) with positive coefficients: its roots, the poles of the
        # density, keep at least π / (K − 1) from the real line, and this step leaves less than 1e-11.
        low, high = float(np.nanmin(self.thresholds)), float(np.nanmax(self.thresholds))
        return Grid(min(0.4, 0.75 / self.thresholds.shape[-1]), low - _TAIL, high + _TAIL)

    def _probabilities(self, s: Array) -> list[Array]:
        """(categories, ...) of every scale; sums along a short last axis would be slow."""
        scales, s = self._scales(), np.asarray(s, np.float64)
        furthest = np.abs(s).max(initial=0.0)
        if all(len(tau) * furthest + np.abs(tau).sum(0).max() < _LARGEST_EXPONENT for tau in scales):
            return [_by_odds(np.exp(s), np.exp(-tau)) for tau in scales]
        found = []
        for tau in scales:
            logs = np.stack([k * s - tau[:k].sum(axis=0) for k in range(len(tau) + 1)])
            found.append(special.softmax(logs, axis=0))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class MarkCurve(_Scored):
    """Marks on a fine scale, normal around s: a mark is s and noise, in units of the model, which for marks that are
    probabilities are log-odds."""

    edges: Array
    """(steps,): in units, halfway between neighbouring marks."""
    noise: float | Array
    """Standard deviation; (raters, 1) of each rater."""
    span: float
    """Units on the scale of marks."""

    @property
    def own(self) -> bool:
        return np.ndim(self.noise) > 0

    @property
    def reach(self) -> tuple[float, float]:
        return -_REACH, _REACH

    def of(self, rows: Indices | slice) -> "MarkCurve":
        return replace(self, noise=np.asarray(self.noise)[rows]) if self.own else self

    def mean(self, s: Array) -> Array:
        return np.asarray(np.asarray(s) / self.span + 0.5)

    def density(self, s: Array) -> Array:
        return np.full(np.shape(s), 1 / self.span)

    def moments(self, a: Array, eta: Array, order: int = 0) -> Array:
        shape = np.broadcast_shapes(np.shape(a), np.shape(eta))
        of_normal = np.array([1.0, 0.0, 1.0])[: order + 1].reshape(-1, *[1] * len(shape))
        return np.asarray(np.broadcast_to(of_normal / self.span, (order + 1, *shape)).copy())

    @property
    def scales(self) -> tuple[int, ...]:
        return (len(self.edges),)

    def cumulative(self, s: Array) -> Array:
        over = (np.asarray(s) - self.edges.reshape(-1, *[1] * np.ndim(s))) / self.noise
        return np.asarray(special.ndtr(np.stack([over, -over])))

    def rates_and_density(self, a: Array, eta: Array) -> tuple[Array, Array]:
        # Students of standard normal abilities add to the noise.
        widened = replace(self, noise=np.sqrt(self.noise**2 + np.asarray(a) ** 2))
        return widened.cumulative(-np.asarray(eta)), self.moments(a, eta)[0]

    def expected(self, a: Array, eta: Array) -> Array:
        return self.mean(np.broadcast_arrays(-np.asarray(eta), a)[0])


def _by_odds(odds: Array, easier: Array) -> Array:
    """(categories, ...): each step multiplies by the odds of reaching it, so that one exponential does for all."""
    p = np.empty((len(easier) + 1, *np.broadcast_shapes(odds.shape, easier.shape[1:])))
    p[0] = 1.0
    for k, factor in enumerate(easier):
        np.multiply(p[k], odds, out=p[k + 1, ...])
        p[k + 1] *= factor
    p /= p.sum(axis=0)
    return p


Curve: TypeAlias = PassCurve | GradedCurve | AdjacentCurve | MarkCurve


def curve_of(link: Link, thresholds: Array | None = None, *, graded: bool = False) -> Curve:
    """Pass or fail where there are no thresholds, else ordered scores."""
    if thresholds is None:
        return PassCurve(link)
    return GradedCurve(thresholds, link) if graded else AdjacentCurve(thresholds)


def _mean(p: Array) -> Array:
    return np.asarray(np.tensordot(np.arange(float(len(p))), p, 1))


def _density(probabilities: list[Array]) -> Array:
    found = []
    for p in probabilities:
        off = np.arange(float(len(p))).reshape(-1, *[1] * (p.ndim - 1)) - _mean(p)
        found.append(np.sum(p * off**2, axis=0) / (len(p) - 1))
    return np.asarray(np.mean(found, axis=0))


def _cumulative(probabilities: list[Array]) -> Array:
    """(2, steps, ...), each from the smaller end, so that no digits are lost."""
    found = []
    for p in probabilities:
        sums = np.stack([p[:0:-1], p[:-1]])
        for k in range(1, len(p) - 1):  # NumPy adds up along a first axis number by number
            sums[:, k] += sums[:, k - 1]
        found.append(np.stack([sums[0, ::-1], sums[1]]))
    return np.concatenate(found, axis=1)
