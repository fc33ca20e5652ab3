"""From slopes and severities to each rater's capability, with standard errors and intervals.

kappa-bar depends on a rater's slope a and severity eta, on the variance of the reading effect where there is one, and
on sigma, the yardstick's slope. All are estimated; the delta method carries their covariances, and intervals come from
kappa-bar of normal draws of them, so that they stay within the index's range and follow its curvature.

If the yardstick is the most discriminating rater, a rater's draws compete with the best of the others: the rater who
came out on top might not be the best, so its rho of 1 is uncertain, too. Its rival is the runner-up.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from raterlens.base.arrays import NORMAL_95, Array
from raterlens.base.threads import in_threads, one_thread
from raterlens.capability.index import Gradient, Index
from raterlens.capability.integrals import peaks
from raterlens.capability.yardstick import LARGEST_SLOPE, Measure
from raterlens.models.calibration import Panel, SlopeLimits

_LEVEL = 0.95
_TAIL = (1 - _LEVEL) / 2
# Whoever ran to the largest slope was lucky: up to 1.96 standard errors, intervals covered 84 % of raters at a limit.
AT_LIMIT = 2.4
# Whoever is estimated at 0 was unlucky. An estimate of a slope z standard errors above 0 that would be x below 0 is 0,
# and twice the log-likelihood at the true slope is then (z + x)² - x² below its top. Up to this root, 95 % are covered
# of those who come out at 0 once in a hundred times (z = 2.326; x is beyond 0.965 in one of twenty of them), and more
# of those who do more often.
AT_ZERO = 3.146
# A slope up to this many standard errors above 0 is as unlucky, less and less so, or rounding would decide.
_NEXT_TO_ZERO = 0.01
# Severities of an interval that are tried before the best of them is refined.
_CANDIDATES = 33
FLATTEST = 1e-6
"""A yardstick's slope in a draw; no rater's slope matters below it."""


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
    def reversible(self) -> bool:
        """Whether slopes may be negative."""
        return self.sampled or bool((self.a < 0).any())

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
    # (values, raters): kappa, sharpness and standard.
    found, wider = np.stack(index.all_shown(on.a, on.eta, on.sigmas, on.halos)), _widening(on, index)
    low, high = np.full((2, *found.shape), np.nan)
    if on.joint is not None and with_intervals:
        low, high = _quantiles(on, index, Index.all_shown, found)
        _one_sided(on, index, Index.all_shown, low[:2], high[:2])
        if on.limits is not None:
            # A slope that may be as large as the search goes may be larger: the bound is none of sharpness.
            high[1] = np.where(on.limits.high >= LARGEST_SLOPE, 1.0, high[1])
        if on.is_most:
            high[0] = np.maximum(high[0], _upper_of_the_best(on, index))
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


def curve_estimates(on: Measured, index: Index, abilities: Array) -> dict[str, Array]:
    """kappa(theta) of every rater with pointwise intervals, each (raters, abilities)."""

    def at(of: Index, a: Array, eta: Array, sigma: Array, halo: Array | float) -> Iterator[Array]:
        best = of.best(sigma)
        for theta in abilities:
            yield of.rate_at(float(theta), a, eta, halo) / best

    kappa = np.stack(list(at(index, on.a, on.eta, on.sigmas, on.halos)))
    low, high = np.full((2, *kappa.shape), np.nan) if on.joint is None else _quantiles(on, index, at, kappa)
    return {"kappa": kappa.T, "kappa_low": low.T, "kappa_high": high.T}


def _joint(panel: Panel, yardstick: Measure, origin: Measure) -> Array:
    """(raters, 3, 3): covariance of (a_r, eta_r, sigma), sigma and the origin being linear in the panel; with halo,
    (raters, 4, 4)."""
    n, covariance, halo = len(panel.slope), panel.covariance, panel.halo_covariance
    assert covariance is not None
    sigma, zero = yardstick.weights * np.sign(panel.slope), origin.weights
    whole = np.zeros((2 * n, 2))
    whole[:n, 0], whole[n:, 1] = sigma, zero
    # Of (a_r, b_r, halo_r, sigma, origin), from which eta_r = b_r - origin.
    joint = np.zeros((n, 5, 5))
    with_both, variance = covariance @ whole, covariance.diagonal()
    joint[:, 0, 0], joint[:, 1, 1], joint[:, 0, 1] = variance[:n], variance[n:], covariance.diagonal(n)
    joint[:, 0, 3:], joint[:, 1, 3:] = with_both[:n], with_both[n:]
    joint[:, 3:, 3:] = np.triu(whole.T @ with_both)
    if halo is not None:
        joint[:, 0, 2], joint[:, 1, 2], joint[:, 2, 2] = (halo.diagonal(k * n) for k in range(3))
        joint[:, 2, 3:] = halo @ np.concatenate([whole, np.zeros((n, 2))])
    joint += np.triu(joint, 1).swapaxes(1, 2)
    through = np.eye(5)[[0, 1, 3] if halo is None else [0, 1, 3, 2]]
    through[1, 4] = -1.0
    return np.asarray(through @ joint @ through.T)


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


def _quantiles(on: Measured, index: Index, values: Values, found: Array) -> tuple[Array, Array]:
    """(values, raters) twice: over draws, stretched where what was `found` is beyond them."""
    low, high = np.empty_like(found), np.empty_like(found)

    def block(rows: slice, draws: Draws) -> None:
        for which, value in enumerate(values(index.of(np.arange(len(on.a))[rows]), *draws)):
            least, most = outer_quantiles(value, _TAIL)
            if on.sampled and (least < 0).any():
                # Who may not tell students apart: the question is how good it is at most.
                _, above = outer_quantiles(value, 1 - _LEVEL)
                most = np.where(least < 0, np.maximum(above, 0.0), most)
            low[which, rows], high[which, rows] = least, most

    over_draws(on, block, each_by_itself=index.by_formula)
    return np.minimum(low, found), np.maximum(high, found)


def _one_sided(on: Measured, index: Index, values: Values, low: Array, high: Array) -> None:
    """Put in the intervals, of what is 0 where a slope is, of raters whose slope is 0, and the less, the further it is
    above 0; (values, raters) twice. Not of raters whose slopes may be negative.

    A slope estimated at 0 is as likely as a one-sided interval allows up to where the log-likelihood, which falls as
    g a + a^2 / (2 v), has fallen by z^2 / 2. Without a gradient this is z sqrt(v).
    """
    assert on.joint is not None
    g, error = np.maximum(on.falling, 0.0), np.sqrt(np.maximum(on.joint[:, 0, 0], 1e-12))
    near = np.maximum(1 - on.a / (_NEXT_TO_ZERO * np.minimum(error, 1.0)), 0.0)
    some = np.flatnonzero((near > 0) & (on.limits is None) & (not on.reversible))
    if not len(some):
        return
    highest = np.minimum(AT_ZERO**2 / (np.sqrt(g**2 + (AT_ZERO / error) ** 2) + g), on.most)[some]
    sigma = np.maximum(on.sigmas[some], highest) if on.is_most else on.sigmas[some]
    halo, near = 0.0 if on.halo is None else on.halo[some], near[some]
    of_these = list(values(index.of(some), highest, on.eta[some], sigma, halo))[: len(high)]
    low[:, some] = (1 - near) * np.maximum(low[:, some], 0.0)
    high[:, some] = near * np.stack(of_these) + (1 - near) * high[:, some]


def _upper_of_the_best(on: Measured, index: Index) -> Array:
    """(raters,): upper limits of kappa of those who might discriminate best, were they the ones; minus infinity of the
    others.

    Whoever is the best has rho = 1 at its own slope, and the severity of its interval at which kappa is highest. Draws
    come close to that severity only: their quantiles would stay just below 1, where the best rater is. Where slopes are
    known so poorly that their limits come from profile likelihood, it may be as steep as its own limit: a severity then
    costs less, and even who is estimated at 0 may be the best.
    """
    ends, upper = np.full((2, len(on.a)), np.nan), np.full_like(on.a, -np.inf)
    known = (on.a > FLATTEST) | (on.limits is not None)

    def block(rows: slice, draws: Draws) -> None:
        most = np.count_nonzero(np.abs(draws.a) >= draws.sigma, axis=1)
        might = known[rows] & (most > _TAIL * draws.a.shape[1])
        if might.any():
            ends[:, rows][:, might] = outer_quantiles(draws.eta[might], _TAIL)

    over_draws(on, block)
    might = np.flatnonzero(np.isfinite(ends[0]))
    if len(might):
        steepest = on.a if on.limits is None else np.maximum(on.limits.high, on.a)
        own, halos = steepest[might], on.halos if on.halo is None else on.halo[might]
        best, (low, high), of = index.best(own), ends[:, might], index.of(might)
        rate = partial(of.rate, own[:, None], halo=np.expand_dims(halos, -1))
        _, top = peaks(lambda eta: rate(eta=eta.T).T / best, low, high, _CANDIDATES)
        upper[might] = np.minimum(top, 1.0)
    return upper


# Normal "draws" of what is known of each rater -----------------------------------------------------------------------
#
# Normal "draws" of what is known of each rater: slope, severity, yardstick and reading effect, on all cores.
#
# The draws are no random numbers but the points of a lattice, the same in every fit. The last of the standard normal
# numbers moves severity alone, and each comes with its opposite: so turning all scores round, which turns severities
# round, gives the same intervals. Against 130,000 Sobol points, ends of intervals are off by 0.001 to 0.003 (root mean
# square; random numbers: 0.003 to 0.016).
#
# Slopes are drawn on a scale on which what few ratings say of one is about normal: h(a), h' = (1 + a⁴)^(-1/4). A slope
# could more easily be twice as large than 0, as scores hardly differ between large slopes; near 0 both sides are alike.
#
# Quantiles near both ends need no sorting of what is in between. A quantile of a smooth distribution is nearly
# quadratic in the normal score of its probability. The draws around it, by weighted least squares, say where it is
# several times as exactly as the two next to it do.

Result = TypeVar("Result")

_DRAWS = 1_024
# Multiplier of the lattice: of all for half as many points, the least sum of 1 + 2 pi² B_2 in three dimensions.
_KOROBOV = 119
# Raters whose draws are looked at together, about half of a panel on each of two cores; or as many as fit into memory.
_FEW, _BLOCK = 25, 250
_MANY = 1_000
# Share of a standard deviation that is left after what comes before it, below which it is rounding.
_SINGULAR = 1e-7


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
    # Cholesky's, in the order slope, yardstick, reading effect, severity.
    order, root = [0, *range(2, joint.shape[1]), 1], np.zeros((joint.shape[1], len(on.a), joint.shape[1]))
    root[order] = lower_root(joint[:, order][:, :, order]).swapaxes(0, 1)
    reversible = on.reversible

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
