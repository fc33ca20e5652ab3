"""Covariances from the students' own scores: robust to what the model gets wrong about them.

A student's score is the gradient of that student's log-likelihood; by Fisher's identity it is the posterior mean of
the complete-data score. Students are independent, whatever their ratings are among themselves, so the sum of the
scores' outer products estimates the variance of the gradient:

    sandwich = inv(I) (sum_n g_n g_n') inv(I)

It is right where ratings of a student depend on each other in ways that the model leaves out (a halo, say).
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from raterlens.engine.protocol import Nodes
from raterlens.estimation.marginal import FacetsMarginal
from raterlens.kernels.break_even import compiled_code_pays
from raterlens.models.known_rows import as_modelled
from raterlens.models.responses import Adjacent
from raterlens.parallel.threads import in_blocks
from raterlens.ratings.coded import Ratings
from raterlens.ratings.long_columns import run_starts
from raterlens.types import Array, Indices
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
    modelled = as_modelled(ratings, problem.model)
    begin, order = _by_student(modelled)
    context, score = contexts.places(modelled)[order], modelled.score[order]
    predictor, t = problem.model.predictor(parameters), nodes.points
    if isinstance(response, Adjacent):
        # All scores of a context have the same, but for a constant.
        tables, alike = -response.probabilities(predictor, t).transpose(1, 0, 2), context
    else:
        tables = response.scores(predictor, t).reshape(steps, -1, len(t))
        alike = context * k + score
    # Those of the slope come first.
    tables = np.concatenate([(np.tensordot(response.lever, tables, 1) * t)[None], tables])
    found = np.empty((len(order), 1 + steps))
    for first, posterior in _in_batches(problem, parameters, nodes):
        weight, span = weighted(posterior), begin[first : first + len(posterior) + 1]
        own = slice(span[0], span[-1])
        student = np.repeat(np.arange(len(posterior)), np.diff(span))
        found[own] = _products(weight, student, tables, alike[own])
        if isinstance(response, Adjacent):
            found[own, 0] += score[own] * (weight @ t)[student]
            found[own, 1:] += np.eye(k)[score[own], 1:] * weight.sum(axis=1)[student, None]
    rows = len(contexts) + context[:, None] * steps + np.arange(steps)
    in_contexts = sparse.csr_array(
        (found.ravel(), np.column_stack([context, rows]).ravel(), begin * (1 + steps)),
        shape=(ratings.n_students, len(contexts) * (1 + steps)),
    )
    return sparse.csr_array(in_contexts @ problem.jacobian(parameters))


def _by_student(ratings: Ratings) -> tuple[Indices, Indices]:
    """Where the ratings of each student begin, with the end, among their rows in an order by students."""
    begin = np.concatenate([[0], np.cumsum(np.bincount(ratings.student, minlength=ratings.n_students))])
    if (ratings.student[1:] >= ratings.student[:-1]).all():
        return begin, np.arange(ratings.n_ratings)
    return begin, np.argsort(ratings.student, kind="stable")


def _products(weight: Array, student: Indices, tables: Array, row: NDArray[np.integer]) -> Array:
    """(ratings, tables): `sum_q weight[student_i, q] tables[:, row_i, q]`."""
    found = np.empty((len(row), len(tables)))
    if compiled_code_pays(len(row) * weight.shape[1] * len(tables)):
        from raterlens.kernels.residual_sweep import averaged  # may be missing

        def block(rows: slice) -> None:
            for place, table in enumerate(tables):
                found[rows, place] = averaged(weight, student[rows], table, row[rows])

        in_blocks(block, len(row))
        return found
    # Whoever has a cell is multiplied by its scores: one product of matrices per cell.
    order = np.argsort(row, kind="stable")
    for some in np.split(order, run_starts(row[order])[1:]):
        found[some] = weight[student[some]] @ tables[:, row[some[0]]].T
    return found


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
