"""The capability index, sharpness and standard as functions of slope, severity and yardstick, with their gradients."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from raterlens.base.arrays import Array, Indices
from raterlens.capability.chebyshev_table import many_draws, read_off, read_off_slopes
from raterlens.capability.curves import Curve, MarkCurve, PassCurve, through_log_link
from raterlens.capability.population import Normal, Population, over_readings

# ------------------------------------------------------------------------------------------------- perfect rater


# Sharpness and standard: what a rater does, measured against a rater who makes no error rather than against a panel.
#
# Sharpness is how closely a rater's scores follow ability, as a share of what any rater could reach who gives the same
# scores equally often:
#
#     sharpness = Cov(y, θ) / max Cov(y', θ),    y' distributed as y
#
# in [−1, 1] and free of the unit of θ. The best such rater gives the highest scores to the most able students, so with
# P_k = P(y ≥ k) the divisor is the sum over k of E[θ − E θ; the top share P_k], which is φ(Φ⁻¹(P_k)) for standard
# normal abilities. With the probit link sharpness is a / sqrt(1 + a²) at any severity; with the others it hardly
# depends on it.
#
# The standard is the share of students who pass where an average rater passes half. For pass or fail and standard
# normal abilities, capability against the perfect rater is sharpness · exp(−Φ⁻¹(P)² / 2): what is left after
# discrimination and after the standard have taken their part.

# Of a central difference, relative: truncation and rounding are both below 1e-8.
_STEP = 1e-4


def sharpness_of(
    population: Population, curve: Curve, a: Array, eta: Array, halo: Array | float = 0.0
) -> Array:
    """Sharpness of raters with slope a, severity eta and a reading effect of variance `halo`."""
    a, eta = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(eta, np.float64))
    if isinstance(curve, MarkCurve):
        # Of normal marks it is their correlation with ability, whatever increasing function of them is read.
        reach = a * population.sd
        return np.asarray(reach / np.sqrt(reach**2 + curve.noise**2 + halo))
    if through_log_link(curve):
        # Where nearly everybody passes, the few fails that the slope adds count for much, however flat it is. Against
        # the perfect rater at the best severity, sharpness goes to 0 with the slope, as for every other link.
        best = population.best(curve, np.maximum(np.abs(a), 1e-12))
        return np.asarray(np.sign(a) * best / population.densest)
    return _share_of_most(curve, population, *population.follows(curve, a, eta, halo))


def all_of_normal(population: Normal, curve: Curve, a: Array, eta: Array, halo: Array | float = 0.0) -> Array:
    """(3, ...): how fast scores rise with ability, sharpness, and the expected score as a share of its range."""
    share, follows = population.follows(curve, a, eta, halo)
    sharpness = _share_of_most(curve, population, share, follows)
    return np.stack([follows / population.sd**2, sharpness, np.tensordot(curve.step_weights, share[0], 1)])


def passes_as_standard(curve: Curve, population: Normal) -> bool:
    """Whether the standard is the share of passes: students' mean is where a rater without severity is undecided."""
    return isinstance(curve, PassCurve) and curve.link.symmetric and population.mean == 0


def _share_of_most(curve: Curve, population: Population, share: Array, follows: Array) -> Array:
    most = np.tensordot(curve.step_weights, population.top(share), 1)
    ratio = np.divide(follows, most, out=np.zeros(follows.shape), where=most > 0)
    return np.asarray(np.clip(ratio, -1.0, 1.0))


def sharpness_gradient(
    population: Population, curve: Curve, a: Array, eta: Array, halo: Array | float = 0.0
) -> tuple[Array, Array, Array]:
    """Derivatives of sharpness in the slope, the severity and the variance of the reading effect."""

    def rise(by_slope: float, by_severity: float, by_halo: float) -> Array:
        variances = [np.maximum(halo + sign * by_halo, 0.0) for sign in (1, -1)]
        above, below = (
            sharpness_of(population, curve, a + sign * by_slope, eta + sign * by_severity, variance)
            for sign, variance in zip((1, -1), variances, strict=True)
        )
        width = variances[0] - variances[1] if by_halo else 2 * _STEP
        return np.asarray((above - below) / width)

    by_halo = rise(0.0, 0.0, _STEP) if np.any(halo) else np.zeros_like(a)
    return rise(_STEP, 0.0, 0.0), rise(0.0, _STEP, 0.0), by_halo


@dataclass(frozen=True, slots=True)
class Usual:
    """The average rater, whom standards are compared with."""

    curve: Curve
    slope: float = 1.0
    alpha: float = 0.0
    """The predictor of an average student."""

    def share(self, population: Population, curve: Curve, a: Array, eta: Array, halo: Array | float) -> Array:
        """Share of students to whom raters who score by this curve give the middle mark: what this one gives to half
        of them.

        `eta` is counted from the average rater. Between two marks, the middle one is a mixture of both.
        """
        if isinstance(curve, MarkCurve):
            half = replace(curve, edges=np.zeros(1))
            return np.asarray(population.centred().follows(half, a, eta, halo)[0][0, 0])
        always, weights = _middle_mark(self, population)
        reached = population.follows(curve, a, eta - self.alpha, halo)[0][0]
        return np.asarray(always + np.tensordot(weights, reached, 1))


@lru_cache(maxsize=64)
def _middle_mark(usual: Usual, population: Population) -> tuple[float, Array]:
    """The share of students that the middle mark's mixture gives it to in any case, and the weight of each step."""
    slope, severity = np.array([usual.slope]), np.array([-usual.alpha])
    reached = population.follows(usual.curve, slope, severity)[0][0, :, 0]
    always, weights, first = 0.0, [], 0
    for steps in usual.curve.scales:
        share = np.concatenate([[1.0], reached[first : first + steps], [0.0]])
        below = min(
            int(np.searchsorted(-share, -0.5, "right")), steps + 1
        )  # the first step that fewer than half reach
        part = (0.5 - share[below]) / (share[below - 1] - share[below])
        own = np.zeros(steps + 2)
        own[below - 1], own[below] = part, 1 - part
        always += own[0] / len(usual.curve.scales)
        weights.append(own[1:-1] / len(usual.curve.scales))
        first += steps
    return always, np.concatenate(weights)


def standard_of(
    population: Population, curve: Curve, a: Array, eta: Array, halo: Array | float = 0.0
) -> Array:
    """Share of passes where the average rater's is a half.

    `eta` is counted from the average rater, and students from the ability at which that rater is undecided.
    """
    return population.centred().expected(curve, a, eta - undecided(curve), halo)


@lru_cache(maxsize=16)
def undecided(curve: Curve) -> float:
    """The predictor at which a pass is as likely as a fail."""
    if isinstance(curve, PassCurve) and curve.link.symmetric:
        return 0.0
    low, high = (20 * end for end in curve.reach)
    while high - low > 1e-12:  # closer and closer looks, each of a thousandth
        tried = np.linspace(low, high, 1001)
        above = int(np.argmax(curve.mean(tried) >= 0.5))
        low, high = float(tried[max(above - 1, 0)]), float(tried[above])
    return (low + high) / 2


# --------------------------------------------------------------------------------------------------------- index


# The capability index as a function of what is estimated: a rater's slope and severity, and the yardstick.
#
# One index for every way of scoring (curve) and every population; uncertainty (kappa.py) is the same for all.

# A slope that stands for 0 where its best severity is looked for.
_FLAT = 1e-6


Value = Callable[[Curve, Array, Array, Array | float], Array]
"""Function of a curve, slopes, severities and variances of the reading effect."""


class Gradient(NamedTuple):
    """Derivatives in the slope, the severity, sigma and the variance of the reading effect."""

    slope: Array
    severity: Array
    sigma: Array
    halo: Array


@dataclass(frozen=True, slots=True, eq=False)
class OwnCurves:
    """How each rater uses the scale, and how well that is known."""

    curve: Curve
    """Its rows are the raters."""
    nearby: tuple[tuple[Curve, Curve], ...] = ()
    """Half a `NEARBY` below and above, for each contrast of thresholds."""
    covariance: Array | None = None
    """(raters, 2 + contrasts, 2 + contrasts): of slope, severity, and the contrasts of the thresholds."""

    def of(self, rows: Indices | slice) -> "OwnCurves":
        return OwnCurves(
            self.curve.of(rows),
            tuple((low.of(rows), high.of(rows)) for low, high in self.nearby),
            None if self.covariance is None else self.covariance[rows],
        )


NEARBY = 0.02
"""Between the thresholds of two nearby curves."""


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
    own: "OwnCurves | None" = None
    """Where raters use the scale in their own ways; `curve` is then the yardstick's. The first axis of slopes and
    severities is that of these raters."""
    usual: Usual | None = None
    """The average rater; None for pass and fail, and where no standard is asked for."""

    def of(self, rows: Indices | slice) -> "Index":
        """For these raters alone."""
        return self if self.own is None else replace(self, own=self.own.of(rows))

    @property
    def by_formula(self) -> bool:
        """Whether each value follows from its slope and severity alone, not from tables for many of them."""
        if self.own is not None or not isinstance(self.curve, PassCurve):
            return False
        if not isinstance(self.population, Normal):
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
        return self._at(self.population.rate, a, eta, halo)

    def all_shown(
        self, a: Array, eta: Array, sigma: Array, halo: Array | float = 0.0
    ) -> tuple[Array, Array, Array]:
        """kappa-bar, sharpness and standard: all that is shown of a rater, of many draws in less time than one after
        the other."""
        students, curve = self.population, self.curve
        if not isinstance(students, Normal) or through_log_link(curve) or isinstance(curve, MarkCurve):
            rate, sharpness, standard = self.rate(a, eta, halo), self.sharpness(a, eta, halo), None
        else:
            rate, sharpness, standard = self._at(partial(all_of_normal, students), a, eta, halo)
            standard = standard if passes_as_standard(curve, students) else None
        if standard is None:
            standard = self.standard(a, eta, halo)
        return rate / self.best(sigma), sharpness, standard

    def kappa_at(self, theta: float, a: Array, eta: Array, sigma: Array, halo: Array | float = 0.0) -> Array:
        """Capability at one ability."""
        return self.rate_at(theta, a, eta, halo) / self.best(sigma)

    def rate_at(self, theta: float, a: Array, eta: Array, halo: Array | float = 0.0) -> Array:
        """How fast the expected score rises at one ability."""

        def rate(curve: Curve, a: Array, eta: Array, halo: Array | float) -> Array:
            return over_readings(lambda shift: np.asarray(a * curve.density(a * theta - eta + shift)), halo)

        return self._of_raters(rate, a, eta, halo)

    def gradient(self, a: Array, eta: Array, sigma: Array, halo: Array | float = 0.0) -> Gradient:
        """Gradient of kappa-bar."""

        def all_of(curve: Curve, a: Array, eta: Array, halo: Array | float) -> Array:
            return np.stack(self.population.sensitivity(curve, a, eta, halo))

        rate, by_slope, by_severity, by_halo = self._of_raters(all_of, a, eta, halo)
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
        return self._at(partial(sharpness_of, self.population), a, eta, halo)

    def sharpness_gradient(self, a: Array, eta: Array, halo: Array | float = 0.0) -> Gradient:
        def gradient(curve: Curve, a: Array, eta: Array, halo: Array | float) -> Array:
            return np.stack(sharpness_gradient(self.population, curve, a, eta, halo))

        by_slope, by_severity, by_halo = self._of_raters(gradient, a, eta, halo)
        return Gradient(by_slope, by_severity, np.zeros_like(a), by_halo)

    def standard(self, a: Array, eta: Array, halo: Array | float = 0.0) -> Array:
        """Share of students who pass where the average rater, from whom eta is counted, passes half; of more scores
        than pass and fail, who get the middle mark, which the average rater gives to half."""
        found = standard_of if isinstance(self.curve, PassCurve) else (self.usual or Usual(self.curve)).share
        return self._at(partial(found, self.population), a, eta, halo)

    def lost_to_curves(
        self, a: Array, eta: Array, sigma: Array, halo: Array | float = 0.0
    ) -> tuple[Array, Array]:
        """(raters,) each: capability if the rater used the scale as the panel does, all else being equal, less what it
        is; and the standard error of that."""
        shared, best, halo_of = replace(self, own=None), self.best(sigma), np.broadcast_to(halo, a.shape)

        def cost(by: Index, slope: Array, severity: Array) -> list[Array]:
            halos, most = (np.expand_dims(each, tuple(range(1, slope.ndim))) for each in (halo_of, best))
            return [(shared.rate(slope, severity, halos) - by.rate(slope, severity, halos)) / most]

        (lost,) = cost(self, a, eta)
        if self.own is None or self.own.covariance is None:
            return lost, np.full(len(a), np.nan)
        gradient = self._own_gradients(cost, a, eta)[:, 0]
        variance = np.einsum("ri,rij,rj->r", gradient, self.own.covariance, gradient)
        return lost, np.sqrt(np.maximum(variance, 0.0))

    def _at(self, value: Value, a: Array, eta: Array, halo: Array | float) -> Array:
        """A value at each slope and severity; for many draws of each rater, by a table of it where it is smooth."""
        if through_log_link(self.curve) or not many_draws(a) or np.any(halo):
            return self._of_raters(value, a, eta, halo)
        curve = self.curve if self.own is None else self.own.curve

        def of_rows(a: Array, eta: Array, rows: Indices) -> Array:
            return value(curve.of(rows), a, eta, 0.0)

        return read_off(of_rows, a, np.broadcast_to(eta, np.shape(a)))

    def _of_raters(self, value: Value, a: Array, eta: Array, halo: Array | float) -> Array:
        """A value by the curve of each rater."""
        if self.own is None:
            return value(self.curve, a, eta, halo)
        a, eta, halo = np.broadcast_arrays(a, eta, halo)
        if a.ndim > 1:
            return value(self.own.curve, a, eta, halo)
        return value(self.own.curve, a[:, None], eta[:, None], halo[:, None])[..., 0]

    def widening(self, values: "OwnValues", a: Array, eta: Array) -> Array:
        """(values, raters): how many times larger the standard error of each value is than with thresholds that are
        known, where raters have their own; 1 where not."""
        if self.own is None or self.own.covariance is None:
            return np.ones((1, len(a)))
        by, known = self._own_gradients(values, a, eta), self.own.covariance
        whole = np.einsum("rvi,rij,rvj->vr", by, known, by)
        fixed = np.einsum("rvi,rij,rvj->vr", by[..., :2], known[:, :2, :2], by[..., :2])
        return np.asarray(np.sqrt(np.clip(whole / np.maximum(fixed, 1e-12), _LEAST, _MOST)))

    def _own_gradients(self, values: "OwnValues", a: Array, eta: Array) -> Array:
        """(raters, values, 2 + contrasts): derivatives in each rater's slope, severity and own use of the scale."""
        assert self.own is not None
        side = NEARBY / 2 * np.array([-1.0, 1.0, 0.0, 0.0])
        moved = np.stack(values(self, a[:, None] + side, eta[:, None] + np.roll(side, 2)))
        rises = [moved[..., 1] - moved[..., 0], moved[..., 3] - moved[..., 2]]
        for pair in self.own.nearby:
            low, high = (np.stack(values(replace(self, own=OwnCurves(curve)), a, eta)) for curve in pair)
            rises.append(high - low)
        return np.stack(rises, axis=-1).swapaxes(0, 1) / NEARBY


OwnValues = Callable[[Index, Array, Array], Sequence[Array]]
"""Values that follow from an index, slopes and severities, (raters,) or (raters, places)."""

# Of a ratio of variances.
_LEAST, _MOST = 0.25, 25.0
