"""Covariances from the students' own scores: robust to what the model gets wrong about them.

A student's score is the gradient of that student's log-likelihood; by Fisher's identity it is the posterior mean of
the complete-data score. Students are independent, whatever their ratings are among themselves, so the sum of the
scores' outer products estimates the variance of the gradient:

    sandwich = inv(I) (sum_n g_n g_n') inv(I)

It is right where ratings of a student depend on each other in ways that the model leaves out (a halo, say).
"""

from collections.abc import Callable

import numpy as np
from scipy import sparse

from raterlens.engine.cells import rating_cells
from raterlens.engine.protocol import Nodes
from raterlens.estimation.marginal import FacetsMarginal
from raterlens.models.known_rows import as_modelled
from raterlens.ratings.coded import Ratings
from raterlens.types import Array
from raterlens.uncertainty.covariance import Covariance


def student_scores(
    problem: FacetsMarginal, ratings: Ratings, parameters: Array, nodes: Nodes
) -> sparse.csr_array:
    """(students, parameters): each student's gradient of the marginal log-likelihood."""
    return summed_scores(problem, ratings, parameters, nodes, lambda posterior: posterior)


def summed_scores(
    problem: FacetsMarginal,
    ratings: Ratings,
    parameters: Array,
    nodes: Nodes,
    weighted: Callable[[Array], Array],
) -> sparse.csr_array:
    """(students, parameters): each student's complete-data score, summed over nodes with weights that follow from the
    posterior (students, nodes)."""
    response, contexts = problem.response, problem.model.contexts
    k, steps = response.n_categories, len(response.lever)
    cells = rating_cells(as_modelled(ratings, problem.model), contexts, k)
    tables = response.scores(problem.model.predictor(parameters), nodes.points)
    tables = tables.reshape(steps, -1, len(nodes.points))
    slopes, intercepts = np.empty(cells.nnz), np.empty((cells.nnz, steps))
    for rows, posterior, _ in problem.engine.posteriors(problem.tables(parameters, nodes), nodes):
        own = slice(cells.indptr[rows][0], cells.indptr[min(rows.stop, cells.shape[0])])
        student = np.repeat(np.arange(len(posterior)), np.diff(cells.indptr)[rows])
        weight = weighted(posterior)[student] * cells.data[own, None]
        at_nodes = tables[:, cells.indices[own]] * weight
        intercepts[own] = at_nodes.sum(axis=2).T
        slopes[own] = np.einsum("j,jcq,q->c", response.lever, at_nodes, nodes.points, optimize=True)
    context = cells.indices // k
    student = np.repeat(np.arange(ratings.n_students), np.diff(cells.indptr))
    in_contexts = sparse.csr_array(
        (
            np.concatenate([slopes, intercepts.ravel()]),
            (
                np.concatenate([student, np.repeat(student, steps)]),
                np.concatenate(
                    [context, (len(contexts) + context[:, None] * steps + np.arange(steps)).ravel()]
                ),
            ),
        ),
        shape=(ratings.n_students, len(contexts) * (1 + steps)),
    )
    return sparse.csr_array(in_contexts @ problem.model.jacobian(parameters))


def outer_products(scores: sparse.csr_array) -> sparse.csr_array:
    """(parameters, parameters): sum of the students' outer products, an estimate of the information."""
    return sparse.csr_array(scores.T @ scores)


def sandwich(bread: Covariance, scores: sparse.csr_array) -> Covariance:
    """The covariance that holds where students are independent, with n / (n - 1) as for a mean."""
    n = scores.shape[0]
    half = np.asarray(scores @ bread.matrix)
    return Covariance(half.T @ half * (n / (n - 1)), bread.undetermined)
