"""Observed information of the marginal likelihood, exact, by Louis's identity.

    I = sum_n E_n[-d2 log p(y_n | theta)] - Cov_n[d log p(y_n | theta)]

The expectation follows from the expected counts; the covariances of the students' scores are an engine's to add up.
"""

import numpy as np
from scipy import sparse

from raterlens.base.types import Array
from raterlens.engine.protocol import Matrix, Nodes
from raterlens.estimation.context_curvature import context_curvature
from raterlens.estimation.extremes import PSEUDO_NODES
from raterlens.estimation.halo_marginal import HaloMarginal
from raterlens.estimation.marginal import EssayMarginal, FacetsMarginal
from raterlens.inference.cell_scores import cell_scores, few_kinds
from raterlens.inference.halo_information import halo_information
from raterlens.inference.shape_information import shape_added, with_everyone
from raterlens.models.responses import counted_scores
from raterlens.ratings.coded import Ratings


def observed_information(
    problem: FacetsMarginal, ratings: Ratings, parameters: Array, nodes: Nodes
) -> Matrix:
    """(parameters, parameters): minus the second derivative of what was maximised.

    Sparse where the design is (two raters are coupled by the students they share), unless it was added up in full.
    """
    model = problem.model
    if isinstance(problem, HaloMarginal):
        return problem.with_priors(halo_information(problem, parameters, nodes), parameters)
    asked, predictor = problem, model.predictor(parameters)
    found = problem.derivatives(parameters, nodes)
    curvature = context_curvature(problem.response, predictor, nodes, found.counts)
    d_slope, d_intercepts = found.d_slope, found.d_intercepts
    if problem.pseudo.counts.any():
        pseudo = problem.pseudo.spread()
        curvature = curvature + context_curvature(problem.response, predictor, PSEUDO_NODES, pseudo)
        at_nodes = counted_scores(problem.response, predictor, PSEUDO_NODES.points, pseudo)
        d_slope = d_slope + at_nodes @ problem.response.lever @ PSEUDO_NODES.points
        d_intercepts = d_intercepts + at_nodes.sum(axis=1)
    jacobian = problem.jacobian(parameters)
    second = jacobian.T @ curvature @ jacobian
    if not model.straight:
        second = second + model.second(parameters, d_slope, d_intercepts)
    second = shape_added(problem, second, parameters, found.everyone, nodes)
    if isinstance(problem, EssayMarginal) and not few_kinds(problem, nodes):
        problem = problem.by_ratings(ratings)
    tables = problem.tables(parameters, nodes)
    scores = with_everyone(problem, cell_scores(problem, parameters, nodes), parameters, nodes)
    missing = problem.engine.score_covariance(tables, nodes, scores)
    return asked.with_priors(_without(second, missing), parameters)


def _without(second: sparse.csr_array, missing: Matrix) -> Matrix:
    """Minus the sum of both, in the place of the latter where it is full."""
    if not isinstance(missing, np.ndarray):
        information = -(second + missing)
        return sparse.csr_array((information + information.T) / 2)
    np.negative(missing, out=missing)
    listed = sparse.csr_array(second)
    listed.sum_duplicates()
    row = np.repeat(np.arange(len(missing)), np.diff(listed.indptr))
    missing[row, listed.indices] -= listed.data
    return missing
