"""Derivatives of the log-probabilities of ratings, as functions of ability: each cell's part in a student's score,
scores summed over abilities with any weights, and second derivatives in the contexts.

With the posterior for weights a summed score is the student's part of the gradient (Fisher's identity); with the
posterior times the deviation of ability from its mean, the derivative of that mean.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from raterlens.base.arrays import Array, Indices, Mask, run_starts
from raterlens.base.threads import in_threads, spans
from raterlens.kernels.break_even import compiled_code_pays
from raterlens.likelihood.engines.contract import CellScores
from raterlens.likelihood.nodes import Nodes
from raterlens.models.contexts import Contexts
from raterlens.models.responses import Adjacent, Predictor, Response
from raterlens.ratings.coded import Ratings


class Term(NamedTuple):
    """The derivative of each cell's log-probability in one of its context's intercepts."""

    through: Indices
    """(cells,): that intercept, as a row of the model's Jacobian: slopes of contexts come first, then intercepts."""
    lever: Array
    """(cells,): how much ability, times the slope, adds to it."""
    table: Array
    """(cells, nodes); a row of zeros counts for nothing."""


class ScoreTerms(NamedTuple):
    """All of a cell's derivatives."""

    context: Indices
    """(cells,): which is the row of its slope, too."""
    terms: list[Term]

    def along(self, t: Array) -> Array:
        """(cells, nodes): the derivative in the slope, which moves every intercept by t."""
        moved = sum(term.lever[:, None] * term.table for term in self.terms)
        return np.asarray(moved * t, np.float64)


def cell_terms(response: Response, predictor: Predictor, t: Array) -> ScoreTerms:
    """Derivatives of every context with every score."""
    contexts, scores, lever = len(predictor.slope), response.n_categories, response.lever
    context = np.repeat(np.arange(contexts), scores)
    own = contexts + context * len(lever)
    return ScoreTerms(
        context,
        [
            Term(own + np.tile(step, contexts), np.tile(lever[step], contexts), table.reshape(-1, len(t)))
            for step, table in response.score_tables(predictor, t)
        ],
    )


def context_terms(response: Adjacent, predictor: Predictor, t: Array) -> ScoreTerms:
    """Derivatives of every context alone: its scores differ by no more than constants."""
    tables = -response.probabilities(predictor, t).transpose(1, 0, 2)
    context = np.arange(len(predictor.slope))
    own = len(context) + context * len(tables)
    return ScoreTerms(
        context,
        [
            Term(own + step, np.full(len(context), response.lever[step]), table)
            for step, table in enumerate(tables)
        ],
    )


def cell_scores(
    members: sparse.csr_array,
    found: ScoreTerms,
    jacobian: sparse.csr_array,
    moving: list[tuple[sparse.csr_array, Array]],
    reach: Array,
    slopes: sparse.csr_array | None = None,
) -> CellScores:
    """Scores of cells that are sets of contexts, or of contexts with scores.

    Parameters
    ----------
    members
        (cells, what `found` is of): how often each occurs in a cell.
    moving
        What multiplies a coordinate of the nodes: its derivatives (contexts, parameters), and the coordinate (nodes,).
    reach
        (contexts,): how fast scores change with ability.
    slopes
        (sums, parameters): where cells leave sums of scores out.
    """
    steepest = np.zeros(members.shape[0])
    cell = np.repeat(np.arange(len(steepest)), np.diff(members.indptr))
    np.maximum.at(steepest, cell, reach[found.context][members.indices])
    terms = [(rows[found.context], found.along(coordinate)) for rows, coordinate in moving]
    terms += [(jacobian[term.through], term.table) for term in found.terms]
    size = jacobian.shape[1]
    without = sparse.csr_array((1, size)) if slopes is None else sparse.csr_array(slopes)
    return CellScores(*score_rows(members, terms, size), without, steepest)


def slope_reach(response: Response, predictor: Predictor) -> Array:
    """(contexts,): how fast scores change with ability; infinite where no slope tells."""
    if not response.bounded_turns:
        return np.full(len(predictor.slope), np.inf)
    return np.asarray(np.maximum(np.abs(predictor.slope) * response.steepness, 1e-3))


def score_rows(
    members: sparse.csr_array, terms: list[tuple[sparse.csr_array, Array]], n_parameters: int
) -> tuple[Indices, Indices, Array]:
    """For every cell, a row for each parameter that one of its members depends on."""
    # Of graded scores most are 0: a score depends on the two thresholds around it.
    used = [np.asarray(scores.any(axis=1)) for _, scores in terms]
    parts = [_spread(members, term[0], own, n_parameters) for term, own in zip(terms, used, strict=True)]
    keys, place = np.unique(np.concatenate([key for key, _, _ in parts]), return_inverse=True)
    # One product for all terms: each by itself would fill the table again.
    member = np.concatenate([own + term * members.shape[1] for term, (_, own, _) in enumerate(parts)])
    value = np.concatenate([own for _, _, own in parts])
    shape = len(keys), len(terms) * members.shape[1]
    scores = np.concatenate([of_term for _, of_term in terms])
    table = np.asarray(sparse.csr_array((value, (place, member)), shape=shape) @ scores)
    cell, parameter = np.divmod(keys, n_parameters)
    return np.searchsorted(cell, np.arange(members.shape[0] + 1)), parameter, table


def _spread(
    members: sparse.csr_array, derivatives: sparse.csr_array, used: Mask, n_parameters: int
) -> tuple[Indices, Indices, Array]:
    """Every (cell, member, parameter): cell and parameter in one number, the member, and the derivative; members that
    are not `used` left out."""
    listed = members.tocoo()
    kept = used[listed.col]
    row, column, times = listed.row[kept], listed.col[kept], listed.data[kept]
    length = np.diff(derivatives.indptr)[column]
    place = np.repeat(derivatives.indptr[column] - np.cumsum(length) + length, length)
    place += np.arange(len(place))
    cell, member = (np.repeat(which.astype(np.int64), length) for which in (row, column))
    key = cell * n_parameters + derivatives.indices[place]
    return key, member, np.repeat(times, length) * derivatives.data[place]


def expected_scores(
    scores: CellScores,
    counts: sparse.csr_array,
    posteriors: Iterable[tuple[slice, Array, Array]],
    weighted: Callable[[Array], Array],
) -> sparse.csr_array:
    """(students, parameters): the scores of each student's cells, counted in (students, cells), summed over nodes with
    weights that follow from the posterior (students, nodes). Sums of scores are not among them."""
    parts, length = [], np.diff(scores.first)
    for rows, posterior, _ in posteriors:
        own, weight = counts[rows].tocoo(), weighted(posterior)
        rows_of = length[own.col]
        student, times = np.repeat(own.row, rows_of), np.repeat(own.data, rows_of)
        row = np.arange(len(student)) + np.repeat(
            scores.first[own.col] - np.cumsum(rows_of) + rows_of, rows_of
        )
        value = times * np.einsum("eq,eq->e", weight[student], scores.table[row])
        shape = len(posterior), scores.n_parameters
        parts.append(sparse.csr_array((value, (student, scores.parameter[row])), shape=shape))
    return sparse.csr_array(sparse.vstack(parts, format="csr"))


Posteriors: TypeAlias = Iterable[tuple[slice, Array, Array]]
"""Posteriors of blocks of students, as engines give them."""
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


def context_curvature(
    response: Response, predictor: Predictor, nodes: Nodes, counts: Array
) -> sparse.csr_array:
    """Expected second derivatives in the slopes, then the intercepts, of the contexts."""
    slopes, mixed, intercepts = response.summed_curvature(predictor, nodes.points, counts)
    n, steps = mixed.shape
    context = np.arange(n)
    intercept = n + context[:, None] * steps + np.arange(steps)
    across, down = np.broadcast_arrays(intercept[:, None, :], intercept[:, :, None])
    slope = np.broadcast_to(context[:, None], intercept.shape)
    values = np.concatenate([slopes, mixed.ravel(), mixed.ravel(), intercepts.ravel()])
    rows = np.concatenate([context, slope.ravel(), intercept.ravel(), down.ravel()])
    columns = np.concatenate([context, intercept.ravel(), slope.ravel(), across.ravel()])
    return sparse.csr_array((values, (rows, columns)), shape=(n * (1 + steps),) * 2)


def placed_at(block: Array, at: slice, size: int) -> sparse.csr_array:
    """(size, size): a block on the diagonal, zeros elsewhere."""
    place = np.arange(at.start, at.stop)
    row, column = np.repeat(place, len(place)), np.tile(place, len(place))
    return sparse.csr_array((block.ravel(), (row, column)), shape=(size, size))
