"""From slopes and severities to each rater's capability, with standard errors and intervals.

kappa-bar depends on a rater's slope a and severity eta and on sigma, the yardstick's slope. All three are
estimated; the delta method carries their covariances, and intervals come from kappa-bar of normal draws of
(a, eta, sigma), so that they stay within [0, 1] and follow its curvature.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from raterlens import capability
from raterlens.models.facets import LARGEST_SLOPE, FacetsModel

Array = NDArray[np.float64]

_LEVEL = 0.95
_DRAWS = 1_000
# Raters whose draws are evaluated at a time.
_BLOCK = 100


@dataclass(frozen=True, slots=True)
class RaterEstimates:
    """One entry a rater."""

    slope: Array
    rho: Array
    rho_se: Array
    eta: Array
    eta_se: Array
    kappa: Array
    kappa_se: Array
    kappa_low: Array
    kappa_high: Array
    sigma: float
    sigma_se: float
    alpha: float
    yardstick: int


def rater_estimates(model: FacetsModel, parameters: Array, covariance: Array | None, link: str) -> RaterEstimates:
    """Capability of every rater at centred parameters.

    Parameters
    ----------
    covariance
        Of the parameters; None where it was not computed, and then every standard error is NaN.
    """
    slopes, severity = parameters[model.blocks["slope"]], parameters[model.blocks["severity"]]
    n = len(severity)
    yardstick = _yardstick(slopes)
    sigma = float(abs(slopes[yardstick]))
    which = np.arange(n) if len(slopes) == n else np.zeros(n, dtype=np.int64)
    a = slopes[which]
    eta = severity - severity.mean()
    rho = np.clip(a / sigma, -1.0, 1.0)
    kappa = capability.gmf(rho=rho, eta=eta, sigma=sigma, link=link)
    if covariance is None:
        unknown = np.full(n, np.nan)
        spread = _Spread(unknown, unknown, unknown, unknown, unknown, np.nan)
    else:
        joint = _joint_covariance(model, covariance, which, yardstick)
        spread = _spread(a, eta, sigma, joint, which == yardstick, link)
    return RaterEstimates(
        a,
        rho,
        spread.rho_se,
        eta,
        spread.eta_se,
        kappa,
        spread.kappa_se,
        spread.low,
        spread.high,
        sigma,
        spread.sigma_se,
        float(-severity.mean()),
        yardstick,
    )


@dataclass(frozen=True, slots=True)
class _Spread:
    rho_se: Array
    eta_se: Array
    kappa_se: Array
    low: Array
    high: Array
    sigma_se: float


def _yardstick(slopes: Array) -> int:
    """The most discriminating rater, leaving out slopes that ran to the limit unless all did."""
    size = np.abs(slopes)
    settled = np.where(size < LARGEST_SLOPE, size, -1.0)
    return int(np.argmax(settled if settled.max() > 0 else size))


def _joint_covariance(
    model: FacetsModel, covariance: Array, which: NDArray[np.int64], yardstick: int
) -> Array:
    """(raters, 3, 3): covariance of (a_r, eta_r, sigma), where eta is severity minus its mean."""
    slope, severity = model.blocks["slope"], model.blocks["severity"]
    slopes = covariance[slope, slope]
    mixed = covariance[slope, severity]
    mixed = mixed - mixed.mean(axis=1, keepdims=True)
    severities = covariance[severity, severity]
    mean = severities.mean(axis=0)
    raters = np.arange(len(which))
    joint = np.empty((len(which), 3, 3))
    joint[:, 0, 0] = slopes[which, which]
    joint[:, 1, 1] = np.diag(severities) - 2 * mean + mean.mean()
    joint[:, 2, 2] = slopes[yardstick, yardstick]
    joint[:, 0, 1] = joint[:, 1, 0] = mixed[which, raters]
    joint[:, 0, 2] = joint[:, 2, 0] = slopes[which, yardstick]
    joint[:, 1, 2] = joint[:, 2, 1] = mixed[yardstick, raters]
    return joint


def _spread(
    a: Array, eta: Array, sigma: float, joint: Array, is_yardstick: NDArray[np.bool_], link: str
) -> _Spread:
    d_a, d_eta, d_sigma = capability.gmf_gradient(a, eta, sigma, link)
    gradient = np.stack([d_a, d_eta, d_sigma], axis=1)
    rho_gradient = np.stack([np.full_like(a, 1 / sigma), np.zeros_like(a), -a / sigma**2], axis=1)
    low, high = _intervals(a, eta, sigma, joint, is_yardstick, link)
    return _Spread(
        _standard_error(rho_gradient, joint),
        np.sqrt(joint[:, 1, 1]),
        _standard_error(gradient, joint),
        low,
        high,
        float(np.sqrt(joint[0, 2, 2])),
    )


def _standard_error(gradient: Array, joint: Array) -> Array:
    variance = np.einsum("ri,rij,rj->r", gradient, joint, gradient)
    return np.sqrt(np.maximum(variance, 0.0))


def _intervals(
    a: Array, eta: Array, sigma: float, joint: Array, is_yardstick: NDArray[np.bool_], link: str
) -> tuple[Array, Array]:
    """Quantiles of kappa-bar over draws of (a, eta, sigma); one-sided for a slope at the bound 0."""
    half = np.random.default_rng(20250212).standard_normal((_DRAWS // 2, 3))
    normal = np.concatenate([half, -half])
    values, vectors = np.linalg.eigh(joint)
    root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None]
    tail = (1 - _LEVEL) / 2
    low, high = np.empty_like(a), np.empty_like(a)
    for first in range(0, len(a), _BLOCK):
        rows = slice(first, first + _BLOCK)
        centre = np.stack([a[rows], eta[rows], np.full(len(a[rows]), sigma)], axis=1)
        draws = centre[:, None] + np.einsum("rij,dj->rdi", root[rows], normal)
        slope, yardstick = draws[..., 0], np.abs(draws[..., 2])
        slope = slope if (a < 0).any() else np.maximum(slope, 0.0)
        # A draw that discriminates better than the yardstick is the yardstick.
        yardstick = np.maximum(np.maximum(np.abs(slope), yardstick), 1e-6)
        kappa = capability.gmf(rho=slope / yardstick, eta=draws[..., 1], sigma=yardstick, link=link)
        at_zero = a[rows] == 0
        low[rows] = np.where(at_zero, 0.0, np.quantile(kappa, tail, axis=1))
        high[rows] = np.where(at_zero, np.quantile(kappa, _LEVEL, axis=1), np.quantile(kappa, 1 - tail, axis=1))
    return low, high
