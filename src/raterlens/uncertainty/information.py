"""Observed information of the marginal likelihood, exact, by Louis's identity.

    I = sum_n E_n[-d2 log p(y_n | theta)] - Cov_n[d log p(y_n | theta)]

The expectation follows from the expected counts; the covariances of the students' scores are an engine's to add up.
"""

import numpy as np
from scipy import sparse

from raterlens.engine.protocol import Matrix, Nodes
from raterlens.estimation.extremes import PSEUDO_NODES
from raterlens.estimation.marginal import EssayMarginal, FacetsMarginal
from raterlens.models.responses import Predictor, Response, counted_scores
from raterlens.ratings.coded import Ratings
from raterlens.types import Array
from raterlens.uncertainty.cell_scores import cell_scores, few_kinds


def observed_information(
    problem: FacetsMarginal, ratings: Ratings, parameters: Array, nodes: Nodes
) -> Matrix:
    """(parameters, parameters): minus the second derivative of what was maximised.

    Sparse where the design is (two raters are coupled by the students they share), unless it was added up in full.
    """
    model = problem.model
    predictor = model.predictor(parameters)
    found = problem.derivatives(parameters, nodes)
    pseudo = problem.pseudo.spread()
    curvature = context_curvature(problem.response, predictor, nodes, found.counts)
    curvature = curvature + context_curvature(problem.response, predictor, PSEUDO_NODES, pseudo)
    jacobian = model.jacobian(parameters)
    at_nodes = counted_scores(problem.response, predictor, PSEUDO_NODES.points, pseudo)
    d_slope = found.d_slope + at_nodes @ problem.response.lever @ PSEUDO_NODES.points
    second = jacobian.T @ curvature @ jacobian
    second = second + model.second(parameters, d_slope, found.d_intercepts + at_nodes.sum(axis=1))
    information = -second
    if isinstance(problem, EssayMarginal) and not few_kinds(problem, nodes):
        problem = problem.by_ratings(ratings)
    tables, scores = problem.tables(parameters, nodes), cell_scores(problem, parameters, nodes)
    information = information - problem.engine.score_covariance(tables, nodes, scores)
    if isinstance(information, np.ndarray):
        return information
    return sparse.csr_array((information + information.T) / 2)


def context_curvature(
    response: Response, predictor: Predictor, nodes: Nodes, counts: Array
) -> sparse.csr_array:
    """Expected second derivatives in the slopes, then the intercepts, of the contexts."""
    t, lever = nodes.points, response.lever
    curvature = response.curvature(predictor, t, counts)
    n, steps = len(predictor.slope), len(lever)
    slopes = np.einsum("cqjk,j,k,q->c", curvature, lever, lever, t**2, optimize=True)
    mixed = np.einsum("cqjk,k,q->cj", curvature, lever, t, optimize=True)
    context = np.arange(n)
    intercept = n + context[:, None] * steps + np.arange(steps)
    across, down = np.broadcast_arrays(intercept[:, None, :], intercept[:, :, None])
    slope = np.broadcast_to(context[:, None], intercept.shape)
    values = np.concatenate([slopes, mixed.ravel(), mixed.ravel(), curvature.sum(axis=1).ravel()])
    rows = np.concatenate([context, slope.ravel(), intercept.ravel(), down.ravel()])
    columns = np.concatenate([context, intercept.ravel(), slope.ravel(), across.ravel()])
    return sparse.csr_array((values, (rows, columns)), shape=(n * (1 + steps),) * 2)
