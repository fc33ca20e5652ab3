"""How much raters differ, learnt from what each rater's own ratings say: EM on a quadratic likelihood per rater.

Each rater's slope ã_r has an error variance e_r of its own. With weights w_r that make the t distribution of a normal
one, an M-step is

    s² = sum w_r [(a_r - m)² + V_r] / (R - 1),      V_r = 1 / (1 / e_r + w_r / s²)

where R - 1 instead of R comes from a prior proportional to s, which keeps small panels from collapsing to s = 0. On
large panels this is all there is to know; on small ones it is where the posterior over s begins (`panel_posterior.py`).
"""

import numpy as np

from raterlens.estimation.panel_prior import FREEDOM, PanelPrior
from raterlens.types import Array

_MOST_ROUNDS = 500
_SETTLED = 1e-5
# Relative to a usual slope: no panel is so alike, or so unlike.
LEAST_SPREAD, LARGEST_SPREAD = 0.02, 4.0


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
    slope_spread, there = prior.slope_spread, parameters
    if prior.slopes is not None:
        top = parameters[prior.slopes] + moved[:, 0]
        spread, centre = _spread(top, error[:, 0, 0], prior.slope_means, heavy=True)
        there = parameters.copy()
        there[prior.slopes] = centre
        for _ in range(2):  # the usual slope depends a little on the spread around it
            slope_spread = float(np.clip(spread / prior.usual_slope(there), LEAST_SPREAD, LARGEST_SPREAD))
            prior = prior.at(slope_spread, prior.severity_spread)
    severity_spread, _ = _spread(severity + moved[:, -1], error[:, -1, -1], prior.severity_means)
    scale = prior.usual_slope(there)
    low, high = LEAST_SPREAD * scale, max(LARGEST_SPREAD * scale, 1.0)
    return prior.at(slope_spread, float(np.clip(severity_spread, low, high)))


def _spread(top: Array, error: Array, means: Array, *, heavy: bool = False) -> tuple[float, Array]:
    """A spread, and where raters are under it."""
    n, fit = len(top), np.linalg.pinv(means)
    centre, variance = top, np.zeros(n)
    spread = max(float(np.sum((top - means @ (fit @ top)) ** 2)) / max(n - 1, 1), 1e-8)
    weight = np.ones(n)
    for _ in range(_MOST_ROUNDS):
        weighted = weight[:, None] * means
        usual = means @ np.linalg.solve(weighted.T @ means, weighted.T @ centre)
        if heavy:
            weight = (FREEDOM + 1) / (FREEDOM + ((centre - usual) ** 2 + variance) / spread)
        variance = 1 / (1 / error + weight / spread)
        centre = variance * (top / error + weight * usual / spread)
        found = float(np.sum(weight * ((centre - usual) ** 2 + variance))) / max(n - 1, 1)
        settled = abs(np.log(found / spread)) < _SETTLED
        spread = found
        if settled:
            break
    return float(np.sqrt(spread)), centre
