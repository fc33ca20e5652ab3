r"""Sharpness and standard: what a rater does, measured against a rater who makes no error rather than against a panel.

Sharpness is how closely a rater's scores follow ability, as a share of what any rater could reach who gives the same
scores equally often:

    sharpness = Cov(y, θ) / max Cov(y', θ),    y' distributed as y

in [−1, 1] and free of the unit of θ. The best such rater gives the highest scores to the most able students, so with
P_k = P(y ≥ k) the divisor is the sum over k of E[θ − E θ; the top share P_k], which is φ(Φ⁻¹(P_k)) for standard normal
abilities. With the probit link sharpness is a / sqrt(1 + a²) at any severity; with the others it hardly depends on it.

The standard is the share of students who pass where an average rater passes half. For pass or fail and standard normal
abilities, capability against the perfect rater is sharpness · exp(−Φ⁻¹(P)² / 2): what is left after discrimination and
after the standard have taken their part.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from raterlens.base.arrays import Array
from raterlens.capability.arguments import normal_students, number, plain
from raterlens.capability.curves import Curve, PassCurve, through_log_link
from raterlens.capability.links import get_link
from raterlens.capability.population import Normal, Population

# Of a central difference, relative: truncation and rounding are both below 1e-8.
_STEP = 1e-4


def sharpness(
    *, slope: ArrayLike, severity: ArrayLike = 0.0, link: str = "logit", mean: float = 0.0, sd: float = 1.0
) -> Array:
    """How closely pass and fail follow ability, as a share of what is possible at the same pass rate.

    Parameters
    ----------
    slope
        Of the predictor S = slope θ − severity. Negative: the rater scores against ability.
    severity
        Counted from the average rater.
    link
        ``logit``, ``probit``, ``cauchit``, ``cloglog`` or ``log``.
    mean, sd
        The normal population of students.

    Examples
    --------
    >>> sharpness(slope=1.5, severity=[0, 1, 2]).round(3)
    array([0.664, 0.66 , 0.646])
    """
    a = number("slope", slope, "leave out raters without an estimate")
    eta = number("severity", severity, "leave out raters without an estimate")
    return plain(sharpness_of(PassCurve(get_link(link)), normal_students(mean, sd), a, eta))


def sharpness_of(
    curve: Curve, population: Population, a: Array, eta: Array, halo: Array | float = 0.0
) -> Array:
    """Sharpness of raters with slope a, severity eta and a reading effect of variance `halo`."""
    a, eta = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(eta, np.float64))
    if through_log_link(curve):
        # Where nearly everybody passes, the few fails that the slope adds count for much, however flat it is. Against
        # the perfect rater at the best severity, sharpness goes to 0 with the slope, as for every other link.
        return np.asarray(np.sign(a) * _at_best_severity(curve, population, np.abs(a)))
    return _share_of_most(curve, population, *population.follows(curve, a, eta, halo))


def rate_and_sharpness(
    curve: Curve, population: Population, a: Array, eta: Array, halo: Array | float = 0.0
) -> Array:
    """(2, ...): how fast scores rise with ability, and sharpness, which of normal abilities follows from that."""
    if not isinstance(population, Normal) or through_log_link(curve):
        return np.stack([population.rate(curve, a, eta, halo), sharpness_of(curve, population, a, eta, halo)])
    return all_of_normal(curve, population, a, eta, halo)[:2]


def all_of_normal(curve: Curve, population: Normal, a: Array, eta: Array, halo: Array | float = 0.0) -> Array:
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
    curve: Curve, population: Population, a: Array, eta: Array, halo: Array | float = 0.0
) -> tuple[Array, Array, Array]:
    """Derivatives of sharpness in the slope, the severity and the variance of the reading effect."""

    def rise(by_slope: float, by_severity: float, by_halo: float) -> Array:
        variances = [np.maximum(halo + sign * by_halo, 0.0) for sign in (1, -1)]
        above, below = (
            sharpness_of(curve, population, a + sign * by_slope, eta + sign * by_severity, variance)
            for sign, variance in zip((1, -1), variances, strict=True)
        )
        width = variances[0] - variances[1] if by_halo else 2 * _STEP
        return np.asarray((above - below) / width)

    by_halo = rise(0.0, 0.0, _STEP) if np.any(halo) else np.zeros_like(a)
    return rise(_STEP, 0.0, 0.0), rise(0.0, _STEP, 0.0), by_halo


def standard_of(
    curve: Curve, population: Population, a: Array, eta: Array, halo: Array | float = 0.0
) -> Array:
    """Expected score as a share of its range (pass or fail: share of passes) where the average rater's is a half.

    `eta` is counted from the average rater, and students from the ability at which that rater is undecided.
    """
    return population.centred().expected(curve, a, eta - _undecided(curve), halo)


@lru_cache(maxsize=16)
def _undecided(curve: Curve) -> float:
    """The predictor at which a student's expected score is half of the range."""
    if isinstance(curve, PassCurve) and curve.link.symmetric:
        return 0.0
    low, high = (20 * end for end in curve.reach)
    while high - low > 1e-12:  # closer and closer looks, each of a thousandth
        tried = np.linspace(low, high, 1001)
        above = int(np.argmax(curve.mean(tried) >= 0.5))
        low, high = float(tried[max(above - 1, 0)]), float(tried[above])
    return (low + high) / 2


def _at_best_severity(curve: Curve, population: Population, a: Array) -> Array:
    steep = np.maximum(a, 1e-12)
    return np.asarray(population.best(curve, steep) / population.densest * (a > 0))
