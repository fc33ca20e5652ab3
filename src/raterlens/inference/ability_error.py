"""Standard errors of abilities that know that raters and items are estimated, too.

A student's posterior is taken at the estimates. They have errors of their own, which move its mean: by

    d E[θ] / d x = Cov(θ, d log p(ratings | θ) / d x)

over the posterior, so that with V the covariance of the estimates x the variance of an ability is that of its posterior
plus (d E / d x) V (d E / d x)'. With five raters of sixty students, the posterior alone leaves out a third of it.

Slopes that ran to a limit have no variance in V. How far they could be from it is known by profile likelihood, and
with it what means and variances of abilities are there.
"""

from functools import partial

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array
from raterlens.config.limits import THETA_ERROR_RATINGS
from raterlens.estimation.facets_estimate import Covariance, FacetsEstimate
from raterlens.estimation.methods import on_scale
from raterlens.inference.slope_limits import Reach
from raterlens.kernels.library import compiled_code_pays
from raterlens.likelihood.engines.contract import Matrix, about_means
from raterlens.ratings.coded import Ratings

_BLOCK = 4_096
# How far a slope is from the limit that it ran to, on average and in standard errors: E|z|.
_USUALLY = np.sqrt(2 / np.pi)


def ability_errors(
    found: FacetsEstimate, ratings: Ratings, spread: Covariance | None, reach: Reach | None = None
) -> Array:
    """(students,)"""
    posterior = found.moments.sd
    if spread is None or ratings.n_ratings > THETA_ERROR_RATINGS:
        return posterior
    added = _quadratic(_gradient(found), spread.matrix)
    if reach is not None:
        for there, fall in zip(reach.unheld, reach.falls, strict=True):
            moved = on_scale(found.model, there, found.problem.moments(there, found.nodes))
            added += ((moved.mean - found.moments.mean) / fall) ** 2
            added += _USUALLY / fall * (moved.sd**2 - posterior**2)
    total = posterior**2 + np.maximum(added, 0.0)
    # Whoever knows nothing of a student but the population is off by no more.
    mean, sd = found.model.population(found.parameters)
    most = np.maximum(posterior**2, sd**2 + (found.moments.mean - mean) ** 2)
    return np.asarray(np.sqrt(np.minimum(total, most)))


def _quadratic(rows: sparse.csr_array, matrix: Matrix) -> Array:
    """(rows,): `row @ matrix @ row` of each."""
    if isinstance(matrix, np.ndarray) and compiled_code_pays(rows.nnz * len(matrix)):
        from raterlens.kernels.score_covariance import quadratic_forms  # may be missing

        return quadratic_forms(rows, matrix)
    found = np.empty(rows.shape[0])
    for first in range(0, len(found), _BLOCK):
        some = rows[first : first + _BLOCK]
        found[first : first + _BLOCK] = some.multiply(some @ matrix).sum(axis=1)
    return found


def _gradient(found: FacetsEstimate) -> sparse.csr_array:
    """(students, parameters): of the posterior means."""
    x, nodes = found.model.off_zero(found.parameters), found.nodes
    gradient = found.problem.student_scores(x, nodes, partial(about_means, points=nodes.points))
    if not found.model.enters("mean"):
        return gradient
    # θ = mean + sd z, with the mean and log sd among the parameters.
    mean, sd = found.model.population(found.parameters)
    by_mean, by_log_sd = (found.model.design(name)[:1] for name in ("mean", "log_sd"))
    off = sparse.csr_array((found.moments.mean - mean)[:, None])
    return sparse.csr_array(sd * gradient + np.ones_like(off.toarray()) @ by_mean + off @ by_log_sd)
