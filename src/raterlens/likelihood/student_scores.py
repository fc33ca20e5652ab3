"""Each student's score, that is the derivative of its log-probability, summed over abilities with any weights.

With the posterior for weights it is the student's part of the gradient (Fisher's identity); with the posterior times
the deviation of ability from its mean, the derivative of that mean.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from raterlens.base.threads import in_threads, spans
from raterlens.base.types import Array, Indices
from raterlens.kernels.break_even import compiled_code_pays
from raterlens.likelihood.cell_scores import ScoreTerms, cell_terms, context_terms
from raterlens.models.contexts import Contexts
from raterlens.models.responses import Adjacent, Predictor, Response
from raterlens.ratings.coded import Ratings
from raterlens.ratings.long_columns import run_starts

Posteriors: TypeAlias = Iterable[tuple[slice, Array, Array]]
"""Of some students after the other, as engines give them."""
Weighted: TypeAlias = Callable[[Array], Array]
"""From posteriors (students, nodes) to weights."""
_Weights: TypeAlias = tuple[Posteriors, Weighted]
# Numbers of posteriors that stay in the cache.
_NEAR = 2**16


def summed_scores(
    ratings: Ratings,
    contexts: Contexts,
    response: Response,
    predictor: Predictor,
    jacobian: sparse.csr_array,
    t: Array,
    weights: _Weights,
) -> sparse.csr_array:
    """(students, parameters): rating by rating, with what constants add."""
    begin, order = _by_student(ratings)
    cell, score = contexts.places(ratings)[order], ratings.score[order]
    if isinstance(response, Adjacent):
        scores = context_terms(response, predictor, t)
        rated = _Rated(begin, cell, score)
    else:
        scores = cell_terms(response, predictor, t)
        rated = _Rated(begin, cell * response.n_categories + score, None)
    sums = _compiled_sums if compiled_code_pays(len(order) * len(scores.terms) * len(t)) else _sums
    return sums(rated, scores, t, jacobian, weights)


class _Rated(NamedTuple):
    """Ratings, student after student."""

    begin: Indices
    """(students + 1,): where those of each begin, with the end."""
    cell: NDArray[np.integer]
    """(ratings,): a context, or a context with a score."""
    score: NDArray[np.integer] | None
    """(ratings,): where cells are contexts, whose tables leave out what depends on the score."""


def _sums(
    rated: _Rated, scores: ScoreTerms, t: Array, jacobian: sparse.csr_array, weights: _Weights
) -> sparse.csr_array:
    """(students, parameters)"""
    posteriors, weighted = weights
    begin, cell, score = rated
    tables = np.stack([scores.along(t), *(term.table for term in scores.terms)])
    through = np.stack([scores.context, *(term.through for term in scores.terms)])
    found = np.empty((len(cell), len(tables)))
    for rows, posterior, _ in posteriors:
        weight, span = weighted(posterior), begin[rows.start : rows.stop + 1]
        own = slice(span[0], span[-1])
        student = np.repeat(np.arange(len(posterior)), np.diff(span))
        found[own] = _products(weight, student, tables, cell[own])
        if score is not None:
            found[own, 0] += score[own] * (weight @ t)[student]
            found[own, 1:] += np.eye(len(tables))[score[own], 1:] * weight.sum(axis=1)[student, None]
    in_contexts = sparse.csr_array(
        (found.ravel(), through[:, cell].T.ravel(), begin * len(tables)),
        shape=(len(begin) - 1, jacobian.shape[0]),
    )
    return sparse.csr_array(in_contexts @ jacobian)


def _compiled_sums(
    rated: _Rated, scores: ScoreTerms, t: Array, jacobian: sparse.csr_array, weights: _Weights
) -> sparse.csr_array:
    """The same by compiled code, some students at a time, so that their weights stay in the cache."""
    from raterlens.kernels.score_sums import ScoreSums  # may be missing

    sums, (posteriors, weighted) = ScoreSums(*rated, scores, t, jacobian), weights
    size, parts = max(1, _NEAR // len(t)), list[tuple[NDArray[Any], ...]]()

    def stretch(first: int, posterior: Array, span: tuple[int, int]) -> list[tuple[NDArray[Any], ...]]:
        blocks = ((begin, min(begin + size, span[1])) for begin in range(*span, size))
        return [sums.over((first + a, first + b), weighted(posterior[a:b])) for a, b in blocks]

    for rows, posterior, _ in posteriors:
        for found in in_threads(partial(stretch, rows.start, posterior), spans(len(posterior), size)):
            parts += found
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
