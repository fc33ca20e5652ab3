"""How much raters differ, learnt from what each rater's own ratings say: EM on a quadratic likelihood per rater.

Each rater's slope ã_r has an error variance e_r of its own. With weights w_r that make the t distribution of a normal
one, an M-step is

    s² = sum w_r [(a_r - m)² + V_r] / (R - 1),      V_r = 1 / (1 / e_r + w_r / s²)

where R - 1 instead of R comes from a prior proportional to s, which keeps small panels from collapsing to s = 0. On
large panels this is all there is to know; on small ones it is where the posterior over s begins (`panel_posterior.py`).

How heavy the tails of the t distribution are shows on large panels only: there it is what makes the slopes likeliest.
With tails heavier than the raters', most raters would be drawn to the usual one too strongly, and seem known too well.
"""

import numpy as np
from scipy import special

from raterlens.base.arrays import Array
from raterlens.likelihood.panel_prior import FREEDOM, PanelPrior

_MOST_ROUNDS = 500
_SETTLED = 1e-5
# Relative to a usual slope: no panel is so alike, or so unlike.
LEAST_SPREAD, LARGEST_SPREAD = 0.02, 4.0
# Raters from which on tails are learnt, and what they may be; the last is all but a normal distribution.
ENOUGH_FOR_TAILS, _TAILS = 200, (2.0, 4.0, 8.0, 100.0)
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(25)


def learned(prior: PanelPrior, parameters: Array, gradient: Array, blocks: Array) -> PanelPrior:
    """The prior at the spreads that ratings speak for.

    Parameters
    ----------
    gradient
        Of the log-likelihood, without any prior, at `parameters`.
    blocks
        (raters, own, own): information about each rater's slope and severity, or severity alone.
    """
    severity = parameters[prior.severities]
    towards = gradient[prior.severities][:, None]
    if prior.slopes is not None:
        towards = np.stack([gradient[prior.slopes], gradient[prior.severities]], axis=1)
    error = np.asarray(np.linalg.inv(blocks), np.float64)
    # Where each rater's quadratic log-likelihood has its top.
    moved = np.einsum("rij,rj->ri", error, towards)
    slope_spread, freedom, there = prior.slope_spread, prior.freedom, parameters
    if prior.slopes is not None:
        top = parameters[prior.slopes] + moved[:, 0]
        spread, centre, freedom = _likeliest(top, error[:, 0, 0], prior.slope_means)
        there = parameters.copy()
        there[prior.slopes] = centre
        for _ in range(2):  # the usual slope depends a little on the spread around it
            slope_spread = float(np.clip(spread / prior.usual_slope(there), LEAST_SPREAD, LARGEST_SPREAD))
            prior = prior.at(slope_spread, prior.severity_spread, freedom)
    severity_spread, _ = _spread(severity + moved[:, -1], error[:, -1, -1], prior.severity_means)
    scale = prior.usual_slope(there)
    low, high = LEAST_SPREAD * scale, max(LARGEST_SPREAD * scale, 1.0)
    return prior.at(slope_spread, float(np.clip(severity_spread, low, high)))


def _likeliest(top: Array, error: Array, means: Array) -> tuple[float, Array, float]:
    """The spread, where raters are under it, and the tails."""
    if len(top) < ENOUGH_FOR_TAILS:
        return *_spread(top, error, means, FREEDOM), FREEDOM
    found = [(*_spread(top, error, means, freedom), freedom) for freedom in _TAILS]
    return max(found, key=lambda one: _height(top, error, means, *one))


def _height(top: Array, error: Array, means: Array, spread: float, centre: Array, freedom: float) -> float:
    """Log-likelihood of what each rater's own ratings say, over normal errors."""
    weight = 1 / (freedom + ((centre - means @ (np.linalg.pinv(means) @ centre)) / spread) ** 2)
    weighted = weight[:, None] * means
    usual = means @ np.linalg.solve(weighted.T @ means, weighted.T @ centre)
    z = ((top - usual)[:, None] + np.sqrt(error)[:, None] * _NODES) / spread
    density = (1 + z**2 / freedom) ** (-(freedom + 1) / 2)
    scale = special.gammaln((freedom + 1) / 2) - special.gammaln(freedom / 2) - np.log(np.pi * freedom) / 2
    return float(np.log(density @ (_WEIGHTS / _WEIGHTS.sum())).sum() + len(top) * (scale - np.log(spread)))


def _spread(top: Array, error: Array, means: Array, freedom: float | None = None) -> tuple[float, Array]:
    """A spread, and where raters are under it; of a normal distribution where tails are not given."""
    n, fit = len(top), np.linalg.pinv(means)
    centre, variance = top, np.zeros(n)
    spread = max(float(np.sum((top - means @ (fit @ top)) ** 2)) / max(n - 1, 1), 1e-8)
    weight = np.ones(n)
    for _ in range(_MOST_ROUNDS):
        weighted = weight[:, None] * means
        usual = means @ np.linalg.solve(weighted.T @ means, weighted.T @ centre)
        if freedom is not None:
            weight = (freedom + 1) / (freedom + ((centre - usual) ** 2 + variance) / spread)
        variance = 1 / (1 / error + weight / spread)
        centre = variance * (top / error + weight * usual / spread)
        found = float(np.sum(weight * ((centre - usual) ** 2 + variance))) / max(n - 1, 1)
        settled = abs(np.log(found / spread)) < _SETTLED
        spread = found
        if settled:
            break
    return float(np.sqrt(spread)), centre
