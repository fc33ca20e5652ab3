"""The spread of the reading effect of each rater, with its standard error and interval.

What is estimated is the variance tau^2, whose likelihood is regular even at 0; far from 0 that of tau is nearer to a
normal one. So the interval is of tau where 0 is beyond a one-sided interval of the variance; else it begins at 0 and
ends where that of the variance does. It is one-sided where the estimate is 0.

Maximum likelihood estimates of a spread are a little too small, as what the other parameters take up is not allowed
for. The estimate is left as it is, but the interval of a common spread is that of the adjusted profile likelihood (Cox
and Reid, 1987), which has -log|I| / 2 added, I being the information on everything else.
"""

import numpy as np

from raterlens.base.arrays import Array
from raterlens.estimation.facets_estimate import FacetsEstimate
from raterlens.inference.covariance import Covariance, in_full
from raterlens.likelihood.readings import HaloMarginal
from raterlens.models.redundancy import redundancy
from raterlens.models.terms.halo import HALO, LARGEST_HALO, Halo

_TWO_SIDED, _ONE_SIDED = 1.9600, 1.6449
# Parameters and readings up to which the adjustment is made: it takes the information twice more, and matters less the
# more readings there are.
_MOST_PARAMETERS, _MOST_READINGS = 300, 5_000
# Of differences in the variance, in standard errors.
_STEP = 0.5


def halo_estimates(found: FacetsEstimate, spread: Covariance | None) -> dict[str, Array]:
    """Columns of the table of raters."""
    model = found.model
    variance = model.halo_variances(found.parameters)
    tau = np.sqrt(variance)
    se = low = high = np.full_like(tau, np.nan)
    if spread is not None:
        through = model.effect_jacobian(found.parameters)[model.effects["halo"]]
        error = np.sqrt(np.maximum((through @ (through @ in_full(spread.matrix)).T).diagonal(), 0.0))
        se = _errors(tau, error)
        more, factor = _adjustment(found, spread)
        error = factor * error
        adjusted = np.sqrt(variance + more)
        wide = _TWO_SIDED * _errors(adjusted, error)
        far = (wide <= adjusted) & (variance >= _ONE_SIDED * error)
        near = np.where(tau > 0, adjusted**2 + _TWO_SIDED * error, _largest_from_zero(found, error))
        low = np.where(far, adjusted - wide, 0.0)
        high = np.minimum(np.where(far, adjusted + wide, np.sqrt(near)), LARGEST_HALO)
        low, high = np.minimum(low, tau), np.maximum(high, tau)
    return {"halo": tau, "halo_se": np.where(np.isfinite(se), se, np.nan), "halo_low": low, "halo_high": high}


def _errors(tau: Array, error: Array) -> Array:
    """Errors of spreads, from those of the variances."""
    return np.divide(error, 2 * tau, out=np.full_like(tau, np.inf), where=tau > 0)


def _largest_from_zero(found: FacetsEstimate, error: Array) -> Array:
    """A variance estimated at 0 is as likely as a one-sided interval allows up to here: the log-likelihood falls as
    g v + v^2 / (2 error^2), and may fall by z^2 / 2."""
    falls = np.maximum(-found.value.gradient[found.model.blocks["halo"]], 0.0)
    g = np.broadcast_to(falls, error.shape)
    return np.asarray(_ONE_SIDED**2 / (np.sqrt(g**2 + (_ONE_SIDED / np.maximum(error, 1e-12)) ** 2) + g))


def _adjustment(found: FacetsEstimate, spread: Covariance) -> tuple[float, float]:
    """How much larger the common variance is by the adjusted profile likelihood, by one of Newton's steps, and how many
    times larger its standard error is there."""
    model, problem, x = found.model, found.problem, found.parameters
    assert isinstance(problem, HaloMarginal)
    place = model.blocks["halo"].start
    variance = float(in_full(spread.matrix)[place, place]) if model.term(HALO, Halo).size == 1 else 0.0
    few = model.blocks.size <= _MOST_PARAMETERS and problem.kinds.n_groups <= _MOST_READINGS
    few = few and not model.nested  # whose information comes from differences
    if not few or variance <= 0 or x[place] <= 0:
        return 0.0, 1.0
    step = min(_STEP * float(np.sqrt(variance)), float(x[place]) / 2)
    # Where everything else goes as the variance moves.
    along = np.asarray(in_full(spread.matrix)[:, place]) / variance
    below, here, above = (_told(found, problem, x + side * step * along) for side in (-1, 0, 1))
    if not all(np.isfinite([below, here, above]).ravel()):
        return 0.0, 1.0
    rise = -(above[0] - below[0]) / (4 * step)
    bend = -(above[0] - 2 * here[0] + below[0]) / (2 * step**2)
    more = float(np.clip(variance * rise / (1 - min(variance * bend, 0.0)), 0.0, np.sqrt(variance)))
    return more, float(np.exp(-more * (above[1] - below[1]) / (4 * step)))


def _told(found: FacetsEstimate, problem: HaloMarginal, parameters: Array) -> tuple[float, float]:
    """Logarithms of the determinant of the information on all that is estimated but the reading effect, and of what is
    left of the information on the effect itself."""
    held = found.held | found.at_limit
    constraints = redundancy(found.model, found.parameters, held).constraints
    information = in_full(problem.information(parameters, found.nodes)) + constraints.T @ constraints
    others = held.copy()
    others[found.model.blocks["halo"]] = True
    whole, rest = (
        float(np.linalg.slogdet(information[np.ix_(free, free)])[1])
        for free in (np.flatnonzero(~held), np.flatnonzero(~others))
    )
    return rest, whole - rest
