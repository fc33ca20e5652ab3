"""From slopes and severities to each rater's capability, with standard errors and intervals.

kappa-bar depends on a rater's slope a and severity eta, on the variance of the reading effect where there is one, and
on sigma, the yardstick's slope. All are estimated; the delta method carries their covariances, and intervals come from
kappa-bar of normal draws of them, so that they stay within the index's range and follow its curvature.

If the yardstick is the most discriminating rater, a rater's draws compete with the best of the others: the rater who
came out on top might not be the best, so its rho of 1 is uncertain, too. Its rival is the runner-up.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from raterlens.base.arrays import Array
from raterlens.capability.index import Gradient, Index
from raterlens.capability.integrals import peaks
from raterlens.capability.yardstick import LARGEST_SLOPE, Measure
from raterlens.inference.panel_draws import FLATTEST, Draws, Measured, Rival, outer_quantiles, over_draws
from raterlens.models.panel import Panel

_LEVEL = 0.95
_TAIL = (1 - _LEVEL) / 2
# Whoever ran to the largest slope was lucky: up to 1.96 standard errors, intervals covered 84 % of raters at a limit.
AT_LIMIT = 2.4
# Whoever is estimated at 0 was unlucky. An estimate of a slope z standard errors above 0 that would be x below 0 is 0,
# and twice the log-likelihood at the true slope is then (z + x)² - x² below its top. Up to this root, 95 % are covered
# of those who come out at 0 once in a hundred times (z = 2.326; x is beyond 0.965 in one of twenty of them), and more
# of those who do more often.
AT_ZERO = 3.146
# Severities of an interval that are tried before the best of them is refined.
_CANDIDATES = 33


@dataclass(frozen=True, slots=True)
class RaterEstimates:
    """One entry per rater; standard errors and intervals are NaN where no covariance was computed."""

    slope: Array
    rho: Array
    rho_se: Array
    eta: Array
    eta_se: Array
    kappa: Array
    kappa_se: Array
    kappa_low: Array
    kappa_high: Array
    sharpness: Array
    sharpness_se: Array
    sharpness_low: Array
    sharpness_high: Array
    passes: Array
    """The share of students who pass where the average rater passes half."""
    passes_low: Array
    passes_high: Array
    sigma: float
    sigma_se: float
    alpha: float


@dataclass(frozen=True, slots=True)
class CurveEstimates:
    """Capability at abilities: each (raters, abilities)."""

    kappa: Array
    low: Array
    high: Array


def measure(panel: Panel, yardstick: Measure, origin: Measure, *, is_most: bool) -> Measured:
    """Put a panel on a yardstick."""
    size = np.abs(panel.slope)
    # Where nobody discriminates, anybody might as well as data can tell.
    most = float(size[panel.candidates].max()) or LARGEST_SLOPE
    sigma, zero = yardstick.of(size), origin.of(panel.severity)
    return Measured(
        a=np.clip(panel.slope, -most, most),
        eta=panel.severity - zero,
        sigma=sigma,
        origin=zero,
        joint=None if panel.covariance is None else _joint(panel, yardstick, origin),
        falling=panel.falling,
        most=most,
        is_most=is_most,
        sampled=panel.largest is not None,
        rival=_rival(panel, yardstick, origin) if is_most and panel.covariance is not None else None,
        halo=panel.halo,
        limits=panel.limits,
    )


def rater_estimates(
    panel: Panel, on: Measured, index: Index, *, with_intervals: bool = True
) -> RaterEstimates:
    """Capability of every rater; intervals take most of the time."""
    found, wider = _shown(on, index), _widening(on, index)
    low, high = np.full((2, *found.shape), np.nan)
    if on.joint is not None and with_intervals:
        best = _IfTheBest(on)
        low, high = _quantiles(on, index, Index.all_shown, found, beside=best.see)
        _one_sided(on, index, Index.all_shown, low[:2], high[:2])
        if on.limits is not None:
            # A slope that may be as large as the search goes may be larger: the bound is none of sharpness.
            high[1] = np.where(on.limits.high >= LARGEST_SLOPE, 1.0, high[1])
        if on.is_most:
            high[0] = np.maximum(high[0], best.upper(index))
        if on.is_most and on.sigma == 0:
            # Shares of nothing: anything is possible.
            low[0], high[0] = 0.0, 1.0
        if wider is not None:
            most = np.maximum(high[0], 1.0)
            low, high = found - wider * (found - low), found + wider * (high - found)
            high[0] = np.minimum(high[0], most)
            # Neither sharpness nor a share of passes exceeds 1.
            high[1:] = np.minimum(high[1:], 1.0)
            low[2:] = np.maximum(low[2:], 0.0)
    return _estimates(panel, on, index, np.stack([found, low, high], axis=1), wider)


def _shown(on: Measured, index: Index) -> Array:
    """(values, raters): kappa, sharpness and standard."""
    return np.stack(index.all_shown(on.a, on.eta, on.sigmas, on.halos))


def _widening(on: Measured, index: Index) -> Array | None:
    """(values, raters): how much wider intervals are by what is not known of raters' own thresholds; None where raters
    have none, or nothing is known of errors."""
    if index.own is None or on.joint is None:
        return None

    def of(one: Index, a: Array, eta: Array) -> tuple[Array, ...]:
        return one.all_shown(a, eta, np.full(a.shape, on.sigma), 0.0)

    return index.widening(of, on.a, on.eta)


_LARGEST_ERROR = 1.0
"""Largest error of kappa and sharpness, which are between -1 and 1: one beyond says only that they are not straight in
slope and severity as far as these could be. The interval does without."""


def _estimates(panel: Panel, on: Measured, index: Index, shown: Array, wider: Array | None) -> RaterEstimates:
    """`shown`: kappa, sharpness and standard, each with both ends of its interval (values, 3, raters)."""
    a, eta, sigmas, halos = on.a, on.eta, on.sigmas, on.halos
    rho, rho_gradient = index.rho(a, sigmas)
    rho_se = eta_se = kappa_se = sharpness_se = np.full_like(a, np.nan)
    sigma_se = np.nan
    if on.joint is not None:
        rho_se = _standard_error(rho_gradient, on.joint)
        kappa_se = _standard_error(index.gradient(a, eta, sigmas, halos), on.joint)
        sharpness_se = _standard_error(index.sharpness_gradient(a, eta, halos), on.joint)
        if wider is not None:
            kappa_se, sharpness_se = kappa_se * wider[0], sharpness_se * wider[1]
        kappa_se, sharpness_se = (
            np.where(se > _LARGEST_ERROR, np.nan, se) for se in (kappa_se, sharpness_se)
        )
        fall = np.where(a == 0, AT_ZERO, AT_LIMIT)
        unheld = 0.0 if on.limits is None else (on.limits.severity_unheld / fall) ** 2
        eta_se = np.sqrt(np.maximum(on.joint[:, 1, 1], 0.0) + unheld)
        sigma_se = float(np.sqrt(max(on.joint[0, 2, 2], 0.0)))
    if on.is_most and on.sigma == 0:
        rho_se = kappa_se = np.full_like(a, np.nan)
    named = {
        f"{name}{end}": values
        for name, three in zip(("kappa", "sharpness", "passes"), shown, strict=True)
        for end, values in zip(("", "_low", "_high"), three, strict=True)
    }
    return RaterEstimates(
        slope=panel.slope,
        rho=rho,
        rho_se=rho_se,
        eta=eta,
        eta_se=eta_se,
        kappa_se=kappa_se,
        sharpness_se=sharpness_se,
        sigma=on.sigma,
        sigma_se=sigma_se,
        alpha=-on.origin,
        **named,
    )


def curve_estimates(on: Measured, index: Index, abilities: Array) -> CurveEstimates:
    """kappa(theta) of every rater with pointwise intervals."""

    def at(of: Index, a: Array, eta: Array, sigma: Array, halo: Array | float) -> Iterator[Array]:
        best = of.best(sigma)
        for theta in abilities:
            yield of.rate_at(float(theta), a, eta, halo) / best

    kappa = np.stack(list(at(index, on.a, on.eta, on.sigmas, on.halos)), axis=1)
    low, high = np.full_like(kappa, np.nan), np.full_like(kappa, np.nan)
    if on.joint is not None:
        low, high = _quantiles(on, index, at, kappa.T)
        _one_sided(on, index, at, low, high)
        low, high = low.T, high.T
    return CurveEstimates(kappa, low, high)


def _joint(panel: Panel, yardstick: Measure, origin: Measure) -> Array:
    """(raters, 3, 3): covariance of (a_r, eta_r, sigma), sigma and the origin being linear in the panel; with halo,
    (raters, 4, 4)."""
    n, covariance = len(panel.slope), panel.covariance
    assert covariance is not None
    nothing = np.zeros(n)
    of_sigma = covariance @ np.concatenate([yardstick.weights * np.sign(panel.slope), nothing])
    of_origin = covariance @ np.concatenate([nothing, origin.weights])
    variance = covariance.diagonal()
    joint = np.empty((n, *(3 if panel.halo_covariance is None else 4,) * 2))
    joint[:, 0, 0] = variance[:n]
    joint[:, 1, 1] = variance[n:] - 2 * of_origin[n:] + origin.weights @ of_origin[n:]
    joint[:, 2, 2] = (yardstick.weights * np.sign(panel.slope)) @ of_sigma[:n]
    joint[:, 0, 1] = joint[:, 1, 0] = covariance.diagonal(n) - of_origin[:n]
    joint[:, 0, 2] = joint[:, 2, 0] = of_sigma[:n]
    joint[:, 1, 2] = joint[:, 2, 1] = of_sigma[n:] - origin.weights @ of_sigma[n:]
    if (halo := panel.halo_covariance) is not None:
        with_sigma = halo @ np.concatenate([yardstick.weights * np.sign(panel.slope), nothing, nothing])
        with_origin = halo @ np.concatenate([nothing, origin.weights, nothing])
        joint[:, 0, 3] = joint[:, 3, 0] = halo.diagonal()
        joint[:, 1, 3] = joint[:, 3, 1] = halo.diagonal(n) - with_origin
        joint[:, 2, 3] = joint[:, 3, 2] = with_sigma
        joint[:, 3, 3] = halo.diagonal(2 * n)
    return joint


def _rival(panel: Panel, yardstick: Measure, origin: Measure) -> Rival | None:
    """The second most discriminating rater, where one rater is the yardstick."""
    holders = np.flatnonzero(yardstick.weights)
    others = np.where(panel.candidates, np.abs(panel.slope), -1.0)
    others[holders] = -1.0
    second = int(np.argmax(others))
    if len(holders) != 1 or others[second] < 0:
        return None
    as_yardstick = Measure(0.0, np.eye(1, len(others), second)[0])
    joint = _joint(panel, as_yardstick, origin)[holders[0]]
    return Rival(int(holders[0]), float(others[second]), joint)


def _standard_error(gradient: Gradient, joint: Array) -> Array:
    by = np.stack(gradient, axis=1)[:, : joint.shape[1]]
    return np.asarray(np.sqrt(np.maximum(np.einsum("ri,rij,rj->r", by, joint, by), 0.0)))


Values = Callable[[Index, Array, Array, Array, Array | float], Iterable[Array]]
"""Function of an index, slopes, severities, yardsticks and halos."""


def _one_sided(on: Measured, index: Index, values: Values, low: Array, high: Array) -> None:
    """Put in the intervals, of what is 0 where a slope is, of raters whose slope is 0; (values, raters) twice. Not of
    raters as a sample, whose slopes may be negative."""
    zero = np.flatnonzero((on.a == 0) & (on.limits is None) & (not on.sampled))
    if not len(zero):
        return
    low[:, zero] = 0.0
    highest, sigma = _highest_slope(on, zero), on.sigmas[zero]
    if on.is_most:
        sigma = np.maximum(sigma, highest)
    halo = 0.0 if on.halo is None else on.halo[zero]
    of_these = list(values(index.of(zero), highest, on.eta[zero], sigma, halo))
    high[:, zero] = np.stack(of_these[: len(high)])


def _quantiles(
    on: Measured,
    index: Index,
    values: Values,
    found: Array,
    beside: Callable[[slice, Draws], None] = lambda rows, draws: None,
) -> tuple[Array, Array]:
    """(values, raters) twice: over draws, stretched where what was `found` is beyond them.

    `beside` is told the draws as well.
    """
    assert on.joint is not None
    low, high = np.empty_like(found), np.empty_like(found)

    def block(rows: slice, draws: Draws) -> None:
        beside(rows, draws)
        for which, value in enumerate(values(index.of(np.arange(len(on.a))[rows]), *draws)):
            least, most = outer_quantiles(value, _TAIL)
            if on.sampled and (least < 0).any():
                # Who may not tell students apart: the question is how good it is at most.
                _, above = outer_quantiles(value, 1 - _LEVEL)
                most = np.where(least < 0, np.maximum(above, 0.0), most)
            low[which, rows], high[which, rows] = least, most

    over_draws(on, block, each_by_itself=index.by_formula)
    return np.minimum(low, found), np.maximum(high, found)


class _IfTheBest:
    """Upper limits of kappa of those who might discriminate best, were they the ones.

    Whoever is the best has rho = 1 at its own slope, and the severity of its interval at which kappa is highest. Draws
    come close to that severity only: their quantiles would stay just below 1, where the best rater is. Where slopes are
    known so poorly that their limits come from profile likelihood, it may be as steep as its own limit: a severity then
    costs less, and even who is estimated at 0 may be the best.
    """

    def __init__(self, on: Measured) -> None:
        self._on, self._might = on, np.zeros(len(on.a), dtype=bool)
        self._ends = np.full((2, len(on.a)), np.nan)
        """Ends of the severities of those who might."""

    def see(self, rows: slice, draws: Draws) -> None:
        on = self._on
        if not on.is_most:
            return
        known = (on.a[rows] > FLATTEST) | (on.limits is not None)
        might = known & (np.count_nonzero(np.abs(draws.a) >= draws.sigma, axis=1) > _TAIL * draws.a.shape[1])
        self._might[rows] = might
        if might.any():
            self._ends[:, rows][:, might] = outer_quantiles(draws.eta[might], _TAIL)

    def upper(self, index: Index) -> Array:
        """(raters,): minus infinity of the others."""
        on, might = self._on, np.flatnonzero(self._might)
        upper = np.full_like(on.a, -np.inf)
        if len(might):
            steepest = on.a if on.limits is None else np.maximum(on.limits.high, on.a)
            own, halos = steepest[might], on.halos if on.halo is None else on.halo[might]
            best, (low, high), of = index.best(own), self._ends[:, might], index.of(might)
            rate = partial(of.rate, own[:, None], halo=np.expand_dims(halos, -1))
            _, top = peaks(lambda eta: rate(eta=eta.T).T / best, low, high, _CANDIDATES)
            upper[might] = np.minimum(top, 1.0)
        return upper


def _highest_slope(on: Measured, zero: NDArray[np.int64]) -> Array:
    """A slope estimated at 0 is as likely as a one-sided interval allows up to some slope.

    The log-likelihood falls as g a + a^2 / (2 v); it may fall by z^2 / 2. Without a gradient this is z sqrt(v).
    """
    assert on.joint is not None
    g, variance = np.maximum(on.falling[zero], 0.0), on.joint[zero, 0, 0]
    highest = AT_ZERO**2 / (np.sqrt(g**2 + AT_ZERO**2 / np.maximum(variance, 1e-12)) + g)
    return np.asarray(np.minimum(highest, on.most))
