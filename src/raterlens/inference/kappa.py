"""From slopes and severities to each rater's capability, with standard errors and intervals.

kappa-bar depends on a rater's slope a and severity eta and on sigma, the yardstick's slope. All three are
estimated; the delta method carries their covariances, and intervals come from kappa-bar of normal draws of
(a, eta, sigma), so that they stay within [0, 1] and follow its curvature.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from raterlens.inference.index import Gradient, Index
from raterlens.models.facets import LARGEST_SLOPE, FacetsModel

Array = NDArray[np.float64]

_LEVEL = 0.95
_ONE_SIDED = 1.6449
_DRAWS = 1_000
# Raters whose draws are evaluated at a time.
_BLOCK = 100


@dataclass(frozen=True, slots=True)
class RaterEstimates:
    """One entry a rater; standard errors and intervals are NaN where no covariance was computed."""

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


def rater_estimates(
    model: FacetsModel,
    parameters: Array,
    covariance: Array | None,
    index: Index,
    *,
    gradient: Array,
    centred: bool = True,
) -> RaterEstimates:
    """Capability of every rater.

    Parameters
    ----------
    covariance
        Of the parameters; None where it was not computed.
    gradient
        Of the log-likelihood: how fast it falls from slopes that are held at 0.
    centred
        Severities relative to the average rater (alpha takes the mean), or as they are.
    """
    effects, at = model.effects_at(parameters), model.effects
    a, severity = effects[at["slope"]], effects[at["severity"]]
    yardstick = _yardstick(a)
    sigma = float(abs(a[yardstick]))
    origin = float(severity.mean()) if centred else 0.0
    eta = severity - origin
    # Slopes that ran to the limit count as the yardstick's.
    a = np.clip(a, -sigma, sigma)
    everywhere = np.full_like(a, sigma)
    kappa = index.kappa(a, eta, everywhere)
    rho, rho_gradient = index.rho(a, everywhere)
    nowhere = np.full_like(a, np.nan)
    rho_se = eta_se = kappa_se = low = high = nowhere
    sigma_se = np.nan
    if covariance is not None:
        joint = _joint_covariance(model, parameters, covariance, yardstick, centred=centred)
        rho_se = _standard_error(rho_gradient, joint)
        kappa_se = _standard_error(index.gradient(a, eta, everywhere), joint)
        eta_se = np.sqrt(np.maximum(joint[:, 1, 1], 0.0))
        sigma_se = float(np.sqrt(joint[0, 2, 2]))
        low, high = _intervals(a, eta, sigma, joint, index)
        if model.slope.size == len(a):
            at_zero = np.flatnonzero(a == 0)
            falling = -gradient[model.blocks["slope"]][at_zero]
            upper = np.minimum(_highest_slope(falling, joint[at_zero, 0, 0]), sigma)
            low[at_zero], high[at_zero] = 0.0, index.kappa(upper, eta[at_zero], everywhere[at_zero])
    return RaterEstimates(
        slope=effects[at["slope"]],
        rho=rho,
        rho_se=rho_se,
        eta=eta,
        eta_se=eta_se,
        kappa=kappa,
        kappa_se=kappa_se,
        kappa_low=low,
        kappa_high=high,
        sigma=sigma,
        sigma_se=sigma_se,
        alpha=-origin,
        yardstick=yardstick,
    )


def _yardstick(slopes: Array) -> int:
    """The most discriminating rater, leaving out slopes that ran to the limit unless all did."""
    size = np.abs(slopes)
    settled = np.where(size < LARGEST_SLOPE, size, -1.0)
    return int(np.argmax(settled if settled.max() > 0 else size))


def _joint_covariance(
    model: FacetsModel, parameters: Array, covariance: Array, yardstick: int, *, centred: bool
) -> Array:
    """(raters, 3, 3): covariance of (a_r, eta_r, sigma)."""
    through = model.effect_jacobian(parameters)[: 2 * model.contexts.n_raters]
    n = model.contexts.n_raters
    both = through @ (through @ covariance).T
    slopes, mixed, severities = both[:n, :n], both[:n, n:], both[n:, n:]
    if centred:
        mixed = mixed - mixed.mean(axis=1, keepdims=True)
        mean = severities.mean(axis=0)
        own = np.diag(severities) - 2 * mean + mean.mean()
    else:
        own = np.diag(severities)
    joint = np.empty((n, 3, 3))
    joint[:, 0, 0] = np.diag(slopes)
    joint[:, 1, 1] = own
    joint[:, 2, 2] = slopes[yardstick, yardstick]
    joint[:, 0, 1] = joint[:, 1, 0] = np.diag(mixed)
    joint[:, 0, 2] = joint[:, 2, 0] = slopes[:, yardstick]
    joint[:, 1, 2] = joint[:, 2, 1] = mixed[yardstick]
    return joint


def _standard_error(gradient: Gradient, joint: Array) -> Array:
    by = np.stack(gradient, axis=1)
    return np.asarray(np.sqrt(np.maximum(np.einsum("ri,rij,rj->r", by, joint, by), 0.0)))


def _intervals(a: Array, eta: Array, sigma: float, joint: Array, index: Index) -> tuple[Array, Array]:
    """Quantiles of kappa-bar over draws of (a, eta, sigma)."""
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
        slope = draws[..., 0] if (a < 0).any() else np.maximum(draws[..., 0], 0.0)
        # A draw that discriminates better than the yardstick is the yardstick.
        yardstick = np.maximum(np.maximum(np.abs(slope), np.abs(draws[..., 2])), 1e-6)
        kappa = index.kappa(slope, draws[..., 1], yardstick)
        low[rows], high[rows] = np.quantile(kappa, [tail, 1 - tail], axis=1)
    return low, high


def _highest_slope(falling: Array, variance: Array) -> Array:
    """Largest slope that is as likely as a one-sided interval allows, for slopes estimated at 0.

    There the log-likelihood falls as g a + a^2 / (2 v); it may fall by z^2 / 2. Without a gradient this is z sqrt(v).
    """
    g = np.maximum(falling, 0.0)
    return np.asarray(_ONE_SIDED**2 / (np.sqrt(g**2 + _ONE_SIDED**2 / variance) + g))
