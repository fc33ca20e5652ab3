"""Covariances from the students' own scores: robust to what the model gets wrong about them.

A student's score is the gradient of that student's log-likelihood; by Fisher's identity it is the posterior mean of
the complete-data score. Students are independent, whatever their ratings are among themselves, so the sum of the
scores' outer products estimates the variance of the gradient:

    sandwich = inv(I) (sum_n g_n g_n') inv(I)

It is right where ratings of a student depend on each other in ways that the model leaves out (a halo, say).
"""

from collections.abc import Callable, Iterator

import numpy as np
from scipy import sparse

from raterlens.engine.cells import rating_cells
from raterlens.engine.protocol import Nodes
from raterlens.estimation.marginal import FacetsMarginal
from raterlens.models.known_rows import as_modelled
from raterlens.models.responses import Adjacent
from raterlens.ratings.coded import Ratings
from raterlens.ratings.long_columns import run_starts
from raterlens.types import Array
from raterlens.uncertainty.covariance import Covariance

# Numbers in the posteriors of a batch of students: 8 MB.
_BATCH = 2**20


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
    context, t = cells.indices // k, nodes.points
    predictor, alike = problem.model.predictor(parameters), cells.indices
    if isinstance(response, Adjacent):
        # All scores of a context have the same, but for a constant.
        tables, alike = -response.probabilities(predictor, t).transpose(1, 0, 2), context
    else:
        tables = response.scores(predictor, t).reshape(steps, -1, len(t))
    # Those of the slope come last.
    tables = np.concatenate([tables, (np.tensordot(response.lever, tables, 1) * t)[None]])
    found = np.empty((cells.nnz, steps + 1))
    for first, posterior in _in_batches(problem, parameters, nodes):
        weight, span = weighted(posterior), cells.indptr[first : first + len(posterior) + 1]
        student = np.repeat(np.arange(len(posterior)), np.diff(span))
        # Whoever has a cell is multiplied by its scores: one product of matrices per cell.
        order = span[0] + np.argsort(alike[span[0] : span[-1]], kind="stable")
        for some in np.split(order, run_starts(alike[order])[1:]):
            found[some] = weight[student[some - span[0]]] @ tables[:, alike[some[0]]].T
        if isinstance(response, Adjacent):
            own, score = slice(span[0], span[-1]), cells.indices[span[0] : span[-1]] % k
            found[own, :-1] += np.eye(k)[score, 1:] * weight.sum(axis=1)[student, None]
            found[own, -1] += score * (weight @ t)[student]
    found *= cells.data[:, None]
    intercepts, slopes = found[:, :-1], found[:, -1]
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


def _in_batches(problem: FacetsMarginal, parameters: Array, nodes: Nodes) -> Iterator[tuple[int, Array]]:
    """The first of some students and their posteriors, in fewer and larger blocks than an engine has."""
    first, kept = 0, list[Array]()
    for rows, posterior, _ in problem.engine.posteriors(problem.tables(parameters, nodes), nodes):
        kept.append(posterior)
        if (rows.stop - first) * len(nodes.points) >= _BATCH or rows.stop >= problem.n_students:
            yield first, np.concatenate(kept)
            first, kept = rows.stop, []


def outer_products(scores: sparse.csr_array) -> sparse.csr_array:
    """(parameters, parameters): sum of the students' outer products, an estimate of the information."""
    return sparse.csr_array(scores.T @ scores)


def sandwich(bread: Covariance, scores: sparse.csr_array) -> Covariance:
    """The covariance that holds where students are independent, with n / (n - 1) as for a mean."""
    n = scores.shape[0]
    half = np.asarray(scores @ bread.matrix)
    return Covariance(half.T @ half * (n / (n - 1)), bread.undetermined)
