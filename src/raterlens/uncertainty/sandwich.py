"""Covariances from the students' own scores: robust to what the model gets wrong about them.

A student's score is the gradient of that student's log-likelihood; by Fisher's identity it is the posterior mean of
the complete-data score. Students are independent, whatever their ratings are among themselves, so the sum of the
scores' outer products estimates the variance of the gradient:

    sandwich = inv(I) (sum_n g_n g_n') inv(I)

It is right where ratings of a student depend on each other in ways that the model leaves out (a halo, say).
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

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

# Numbers of posteriors that stay in the cache.
_NEAR = 2**16


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
    response, t = problem.response, nodes.points
    modelled = as_modelled(ratings, problem.model)
    begin, order = _by_student(modelled)
    cell, score = problem.model.contexts.places(modelled)[order], modelled.score[order]
    predictor = problem.model.predictor(parameters)
    if isinstance(response, Adjacent):
        # All scores of a context have the same, but for a constant.
        tables = -response.probabilities(predictor, t).transpose(1, 0, 2)
        rated = _Rated(begin, cell, score)
    else:
        tables = response.scores(predictor, t).reshape(len(response.lever), -1, len(t))
        rated = _Rated(begin, cell * response.n_categories + score, None)
    # Those of the slope come first.
    tables = np.concatenate([(np.tensordot(response.lever, tables, 1) * t)[None], tables])
    sums = _compiled_sums if compiled_code_pays(len(order) * tables[:, 0].size) else _sums
    posteriors = problem.engine.posteriors(problem.tables(parameters, nodes), nodes)
    return sums(rated, tables, t, problem.jacobian(parameters), (posteriors, weighted))


class _Rated(NamedTuple):
    """Ratings, student after student."""

    begin: Indices
    """(students + 1,): where those of each begin, with the end."""
    cell: NDArray[np.integer]
    """(ratings,): a context, or a context with a score."""
    score: NDArray[np.integer] | None
    """(ratings,): where cells are contexts, whose tables leave out what depends on the score."""


_Weights: TypeAlias = tuple[Iterable[tuple[slice, Array, Array]], Callable[[Array], Array]]
"""Posteriors of some students after the other, and what becomes of them."""


def _sums(
    rated: _Rated, tables: Array, t: Array, jacobian: sparse.csr_array, weights: _Weights
) -> sparse.csr_array:
    """(students, parameters), from `tables`, (1 + steps, cells, nodes)."""
    posteriors, weighted = weights
    begin, cell, score = rated
    steps = len(tables) - 1
    found = np.empty((len(cell), 1 + steps))
    for rows, posterior, _ in posteriors:
        weight, span = weighted(posterior), begin[rows.start : rows.stop + 1]
        own = slice(span[0], span[-1])
        student = np.repeat(np.arange(len(posterior)), np.diff(span))
        found[own] = _products(weight, student, tables, cell[own])
        if score is not None:
            found[own, 0] += score[own] * (weight @ t)[student]
            found[own, 1:] += np.eye(1 + steps)[score[own], 1:] * weight.sum(axis=1)[student, None]
    n_contexts = jacobian.shape[0] // (1 + steps)
    context = cell // (tables.shape[1] // n_contexts)
    columns = np.column_stack([context, n_contexts + context[:, None] * steps + np.arange(steps)])
    in_contexts = sparse.csr_array(
        (found.ravel(), columns.ravel(), begin * (1 + steps)), shape=(len(begin) - 1, jacobian.shape[0])
    )
    return sparse.csr_array(in_contexts @ jacobian)


def _compiled_sums(
    rated: _Rated, tables: Array, t: Array, jacobian: sparse.csr_array, weights: _Weights
) -> sparse.csr_array:
    """The same by compiled code, some students at a time, so that their weights stay in the cache."""
    from raterlens.kernels.score_sums import ScoreSums  # may be missing

    sums, (posteriors, weighted) = ScoreSums(*rated, tables, t, jacobian), weights
    size, parts = max(1, _NEAR // len(t)), []
    for rows, posterior, _ in posteriors:

        def block(some: slice, first: int = rows.start, own: Array = posterior) -> tuple[NDArray[Any], ...]:
            return sums.over((first + some.start, first + some.stop), weighted(own[some]))

        parts += in_blocks(block, len(posterior), size)
    lengths, parameter, value = (np.concatenate(part) for part in zip(*parts, strict=True))
    begin = np.concatenate([[0], np.cumsum(lengths)])
    return sparse.csr_array((value, parameter, begin), shape=(len(lengths), jacobian.shape[1]))


def _by_student(ratings: Ratings) -> tuple[Indices, Indices]:
    """Where the ratings of each student begin, with the end, among their rows in an order by students."""
    begin = np.concatenate([[0], np.cumsum(np.bincount(ratings.student, minlength=ratings.n_students))])
    if (ratings.student[1:] >= ratings.student[:-1]).all():
        return begin, np.arange(ratings.n_ratings)
    return begin, np.argsort(ratings.student, kind="stable")


def _products(weight: Array, student: Indices, tables: Array, row: NDArray[np.integer]) -> Array:
    """(ratings, tables): `sum_q weight[student_i, q] tables[:, row_i, q]`."""
    found = np.empty((len(row), len(tables)))
    # Whoever has a cell is multiplied by its scores: one product of matrices per cell.
    order = np.argsort(row, kind="stable")
    for some in np.split(order, run_starts(row[order])[1:]):
        found[some] = weight[student[some]] @ tables[:, row[some[0]]].T
    return found


def outer_products(scores: sparse.csr_array) -> sparse.csr_array:
    """(parameters, parameters): sum of the students' outer products, an estimate of the information."""
    return sparse.csr_array(scores.T @ scores)


def sandwich(bread: Covariance, scores: sparse.csr_array) -> Covariance:
    """The covariance that holds where students are independent, with n / (n - 1) as for a mean."""
    n = scores.shape[0]
    half = np.asarray(scores @ bread.matrix)
    return Covariance(half.T @ half * (n / (n - 1)), bread.undetermined)
