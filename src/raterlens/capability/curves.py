"""How a score follows ability: the expected score as a share of its range, against the predictor s = a θ − η.

    mean(s) = E[y | s] / (K − 1),      density(s) = mean'(s)

Pass or fail is a link's F and f. Ordered scores 0 .. K − 1 have thresholds τ; with several scales (an item's
own thresholds each) the curve is their average. With two categories and τ = 0 both are the binary curve.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy import special

from raterlens.base.arrays import Array
from raterlens.capability.chebyshev_table import many_draws, read_off
from raterlens.capability.integrals import (
    Grid,
    many_steep,
    moments,
    pass_and_fail,
    quadrature,
    rates_and_density,
    reached,
)
from raterlens.capability.links import Link

# Half the width of the stretch of s on which a curve with threshold 0 rises.
_REACH = 2.0
# A logistic curve falls below 1e-17 this far from its thresholds.
_TAIL = 40.0
# Of odds, below which no product of them overflows.
_LARGEST_EXPONENT = 600.0
# Points of the rule for averages over students and over noise, where marks are probabilities.
_NODES = 41
_POINTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(_NODES)
_WEIGHTS /= _WEIGHTS.sum()


class Curve(Protocol):
    """A way of scoring, as capability needs it."""

    @property
    def reach(self) -> tuple[float, float]:
        """Between which s the curve does most of its rising."""

    def __hash__(self) -> int: ...

    def mean(self, s: Array) -> Array: ...

    def density(self, s: Array) -> Array: ...

    def moments(self, a: Array, eta: Array, order: int = 0) -> Array:
        """∫ density(a t − η) t^k φ(t) dt for k = 0 .. order, shape (order + 1, ...)."""

    @property
    def step_weights(self) -> Array:
        """(steps,): what each step from a score to the next (of each scale) counts in the mean; they sum to 1."""

    @property
    def scales(self) -> tuple[int, ...]:
        """Steps of each scale."""

    def cumulative(self, s: Array) -> Array:
        """(2, steps, ...): the probabilities that a step is reached, and that it is not."""

    def rates(self, a: Array, eta: Array) -> Array:
        """(2, steps, ...): the same on average over a standard normal population."""

    def expected(self, a: Array, eta: Array) -> Array:
        """The mean on average over a standard normal population."""


@dataclass(frozen=True, slots=True)
class PassCurve:
    """Pass or fail through a link."""

    link: Link

    @property
    def reach(self) -> tuple[float, float]:
        return -_REACH, _REACH

    def mean(self, s: Array) -> Array:
        return np.exp(self.link.log_pass(s))

    def density(self, s: Array) -> Array:
        return self.link.density(s)

    def moments(self, a: Array, eta: Array, order: int = 0) -> Array:
        return moments(a, eta, self.link, order)

    @property
    def step_weights(self) -> Array:
        return np.ones(1)

    @property
    def scales(self) -> tuple[int, ...]:
        return (1,)

    def cumulative(self, s: Array) -> Array:
        return np.exp(np.stack([self.link.log_pass(s), self.link.log_fail(s)]))[:, None]

    def rates(self, a: Array, eta: Array) -> Array:
        return pass_and_fail(a, eta, self.link)[:, None]

    def expected(self, a: Array, eta: Array) -> Array:
        return np.asarray(pass_and_fail(a, eta, self.link)[0])

    def rates_and_density(self, a: Array, eta: Array) -> tuple[Array, Array]:
        """`rates`, and the first of the moments."""
        rates, density = rates_and_density(a, eta, self.link)
        return rates[:, None], density


def through_log_link(curve: Curve) -> bool:
    """Where pass rates are capped at 1, and nothing of a rater is smooth."""
    return isinstance(curve, PassCurve) and curve.link.name == "log"


@dataclass(frozen=True, slots=True, eq=False)
class GradedCurve:
    """Cumulative scores, P(y ≥ k) = F(s − τ_k): every threshold is a pass/fail decision of its own."""

    thresholds: Array
    """(scales, steps)"""
    link: Link

    @property
    def reach(self) -> tuple[float, float]:
        return _around(self.thresholds)

    def mean(self, s: Array) -> Array:
        return np.asarray(np.mean([np.exp(self.link.log_pass(s - tau)) for tau in self._each()], axis=0))

    def density(self, s: Array) -> Array:
        return np.asarray(np.mean([self.link.density(s - tau) for tau in self._each()], axis=0))

    def moments(self, a: Array, eta: Array, order: int = 0) -> Array:
        a, eta = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(eta, np.float64))
        steep = None if order or self.link.name != "logit" else many_steep(np.abs(a), eta, self._grid)
        if steep is None:
            each = [moments(a, eta + tau, self.link, order) for tau in self._each()]
            return np.asarray(np.mean(each, axis=0))
        # One density for all thresholds, not a mixture for each of them.
        out = np.empty((1, *a.shape))
        out[:, steep] = quadrature(np.abs(a[steep]), eta[steep], self.density, 0, self._grid)
        if not steep.all():
            each = [moments(a[~steep], eta[~steep] + tau, self.link) for tau in self._each()]
            out[:, ~steep] = np.mean(each, axis=0)
        return out

    @property
    def step_weights(self) -> Array:
        return np.full(self.thresholds.size, 1 / self.thresholds.size)

    @property
    def scales(self) -> tuple[int, ...]:
        return (self.thresholds.shape[1],) * len(self.thresholds)

    def cumulative(self, s: Array) -> Array:
        return np.concatenate([PassCurve(self.link).cumulative(s - tau) for tau in self._each()], axis=1)

    def rates(self, a: Array, eta: Array) -> Array:
        a, eta = np.broadcast_arrays(a, eta)
        return pass_and_fail(a, np.add.outer(self._each(), eta), self.link)

    def expected(self, a: Array, eta: Array) -> Array:
        return np.asarray(self.rates(a, eta)[0].mean(axis=0))

    @property
    def _grid(self) -> Grid:
        """The grid of the logit: its error, exp(-2 pi^2 / step), is negligible."""
        return Grid(0.25, float(self.thresholds.min()) - _TAIL, float(self.thresholds.max()) + _TAIL)

    def _each(self) -> Array:
        return self.thresholds.ravel()


@dataclass(frozen=True, slots=True, eq=False)
class AdjacentCurve:
    """Adjacent-category logits, log P(y = k) / P(y = k − 1) = s − τ_k: the density is Var(y | s) / (K − 1)."""

    thresholds: Array
    """(scales, steps); not a number beyond a scale's highest score."""

    @property
    def reach(self) -> tuple[float, float]:
        return _around(self.thresholds)

    def mean(self, s: Array) -> Array:
        """Share of each scale's own highest score."""
        return np.asarray(np.mean([_mean(p) / (len(p) - 1) for p in self._probabilities(s)], axis=0))

    def density(self, s: Array) -> Array:
        return np.asarray(np.mean([_variance(p) / (len(p) - 1) for p in self._probabilities(s)], axis=0))

    def moments(self, a: Array, eta: Array, order: int = 0) -> Array:
        a, eta = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(eta, np.float64))
        if not order and many_draws(a):
            return read_off(self._moment, np.abs(a), eta)[None]
        flat = quadrature(np.abs(a).ravel(), eta.ravel(), self.density, order, self._grid)
        if order:
            flat[1] *= np.where(a.ravel() < 0, -1.0, 1.0)
        return flat.reshape(order + 1, *a.shape)

    def _moment(self, a: Array, eta: Array) -> Array:
        return quadrature(a.ravel(), eta.ravel(), self.density, 0, self._grid).reshape(a.shape)

    @property
    def step_weights(self) -> Array:
        steps = np.array(self.scales)
        return np.repeat(1 / (len(steps) * steps), steps)

    @property
    def scales(self) -> tuple[int, ...]:
        return tuple(np.isfinite(self.thresholds).sum(axis=1).tolist())

    def cumulative(self, s: Array) -> Array:
        out, first = np.empty((2, len(self.step_weights), *np.shape(s))), 0
        for p in self._probabilities(s):
            steps = len(p) - 1
            above, below = out[:, first : first + steps]
            above[-1], below[0] = p[-1], p[0]
            for k in range(1, steps):
                np.add(below[k - 1], p[k], out=below[k, ...])
                np.add(above[-k], p[-1 - k], out=above[-1 - k, ...])
            first += steps
        return out

    def rates(self, a: Array, eta: Array) -> Array:
        a, eta = np.broadcast_arrays(np.abs(a), np.asarray(eta, np.float64))
        return read_off(self._rates, a, eta) if many_draws(a) else self._rates(a, eta)

    def _rates(self, a: Array, eta: Array) -> Array:
        return reached(a, eta, self.cumulative, self._step_densities, self._grid)

    def expected(self, a: Array, eta: Array) -> Array:
        a, eta = np.broadcast_arrays(np.abs(a), np.asarray(eta, np.float64))
        return read_off(self._expected, a, eta) if many_draws(a) else self._expected(a, eta)

    def _expected(self, a: Array, eta: Array) -> Array:
        def both(s: Array) -> Array:
            mean = self.mean(s)
            return np.stack([mean, 1 - mean])[:, None]

        return np.asarray(reached(a, eta, both, lambda x: self.density(x)[None], self._grid)[0, 0])

    @property
    def _grid(self) -> Grid:
        # The sum of exp(k s − ..) is a polynomial in exp(s) with positive coefficients: its roots, the poles of the
        # density, keep at least π / (K − 1) from the real line, and this step leaves less than 1e-11.
        low, high = float(np.nanmin(self.thresholds)), float(np.nanmax(self.thresholds))
        return Grid(min(0.4, 0.75 / self.thresholds.shape[1]), low - _TAIL, high + _TAIL)

    def _step_densities(self, s: Array) -> Array:
        """(steps, ...): d P(y ≥ k) / ds = sum over j ≥ k of P(y = j) (j − E[y])."""
        found = []
        for p in self._probabilities(s):
            pull = p * (_scores(p) - _mean(p))
            found.append(np.flip(np.cumsum(np.flip(pull[1:], 0), 0), 0))
        return np.concatenate(found)

    def _probabilities(self, s: Array) -> list[Array]:
        """(categories, ...) of every scale; sums along a short last axis would be slow."""
        scales = [own[np.isfinite(own)] for own in self.thresholds]
        s = np.asarray(s, np.float64)
        furthest = np.abs(s).max(initial=0.0)
        if all(len(tau) * furthest + np.abs(tau).sum() < _LARGEST_EXPONENT for tau in scales):
            return [_by_odds(np.exp(s), np.exp(-tau)) for tau in scales]
        found = []
        for tau in scales:
            logs = np.multiply.outer(np.arange(len(tau) + 1), s)
            logs -= np.append(0.0, np.cumsum(tau)).reshape(-1, *[1] * np.ndim(s))
            found.append(special.softmax(logs, axis=0))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class MarkCurve:
    """Marks on a fine scale, normal around s: a mark is s and noise, in units of the model. Marks that are
    probabilities are normal as log-odds, and their mean is that of probabilities."""

    edges: Array
    """(steps,): in units, halfway between neighbouring marks."""
    noise: float | Array
    """Standard deviation."""
    span: float
    """Units on the scale of marks."""
    odds: bool = False
    """Marks are probabilities."""

    @property
    def reach(self) -> tuple[float, float]:
        return -_REACH, _REACH

    def mean(self, s: Array) -> Array:
        if not self.odds:
            return np.asarray(np.asarray(s) / self.span + 0.5)
        return self._over_noise(special.expit, s)

    def density(self, s: Array) -> Array:
        if not self.odds:
            return np.full(np.shape(s), 1 / self.span)
        return self._over_noise(lambda x: special.expit(x) * special.expit(-x), s)

    def _over_noise(self, value: Callable[[Array], Array], s: Array) -> Array:
        return np.asarray(
            sum(w * value(np.asarray(s) + self.noise * x) for x, w in zip(_POINTS, _WEIGHTS, strict=True))
        )

    def moments(self, a: Array, eta: Array, order: int = 0) -> Array:
        a, eta = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(eta, np.float64))
        if not self.odds:
            of_normal = np.array([1.0, 0.0, 1.0])[: order + 1].reshape(-1, *[1] * a.ndim)
            return np.asarray(np.broadcast_to(of_normal / self.span, (order + 1, *a.shape)).copy())
        density = self.density(np.multiply.outer(_POINTS, a) - eta)
        return np.stack([np.tensordot(_WEIGHTS * _POINTS**k, density, 1) for k in range(order + 1)])

    @property
    def step_weights(self) -> Array:
        return np.full(len(self.edges), 1 / len(self.edges))

    @property
    def scales(self) -> tuple[int, ...]:
        return (len(self.edges),)

    def cumulative(self, s: Array) -> Array:
        over = (np.asarray(s) - self.edges.reshape(-1, *[1] * np.ndim(s))) / self.noise
        return np.asarray(special.ndtr(np.stack([over, -over])))

    def rates(self, a: Array, eta: Array) -> Array:
        return self.widened(a).cumulative(-np.asarray(eta))

    def expected(self, a: Array, eta: Array) -> Array:
        return self.widened(a).mean(-np.asarray(eta))

    def widened(self, a: Array) -> "MarkCurve":
        """With what students of standard normal abilities add to the noise; its noise is then an array."""
        return replace(self, noise=np.sqrt(self.noise**2 + np.asarray(a) ** 2))


def _by_odds(odds: Array, easier: Array) -> Array:
    """(categories, ...): each step multiplies by the odds of reaching it, so that one exponential does for all."""
    p = np.empty((len(easier) + 1, *odds.shape))
    p[0] = 1.0
    for k, factor in enumerate(easier):
        np.multiply(p[k], odds, out=p[k + 1, ...])
        p[k + 1] *= factor
    p /= p.sum(axis=0)
    return p


def curve_of(link: Link, thresholds: Array | None = None, *, graded: bool = False) -> Curve:
    """Pass or fail where there are no thresholds, else ordered scores."""
    if thresholds is None:
        return PassCurve(link)
    return GradedCurve(thresholds, link) if graded else AdjacentCurve(thresholds)


def _scores(p: Array) -> Array:
    return np.arange(float(len(p))).reshape(-1, *[1] * (p.ndim - 1))


def _mean(p: Array) -> Array:
    return np.asarray(np.sum(_scores(p) * p, axis=0))


def _variance(p: Array) -> Array:
    return np.asarray(np.sum(p * (_scores(p) - _mean(p)) ** 2, axis=0))


def _around(thresholds: Array) -> tuple[float, float]:
    return float(np.nanmin(thresholds)) - _REACH, float(np.nanmax(thresholds)) + _REACH
