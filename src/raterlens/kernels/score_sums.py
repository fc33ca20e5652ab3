"""Students' scores, summed over nodes of ability with weights of each student's own (`c/score_sums.c`).

The same sums as in `uncertainty/sandwich.py`, where their readable twin is.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from raterlens.base.arrays import Array, Indices
from raterlens.base.threads import in_threads, spans
from raterlens.kernels.library import (
    Doubles,
    Integer,
    Ints,
    Longs,
    Shorts,
    begin_within,
    inside,
    kernel,
    refuse_unless,
    same,
)
from raterlens.kernels.sparse_rows import SparseRows

Codes = NDArray[np.integer]

_score_sums = kernel(
    "score_sums",
    *[Integer] * 2,
    Doubles,
    Integer,
    Doubles,
    *(Longs, Ints, Shorts),
    *(Ints, Longs, Ints, Doubles, Doubles),
    *(Longs, Ints, Doubles),
    *[Integer] * 2,
    *(Doubles, Longs, Longs, Ints, Doubles),
)

_quadratic_forms = kernel("quadratic_forms", *[Integer] * 2, Longs, Ints, Doubles, Doubles, Integer, Doubles)
# Rows that are worth a thread of their own.
_LEAST = 2_000


def quadratic_forms(rows: sparse.csr_array, matrix: Array) -> Array:
    """(rows,): `row @ matrix @ row` of each, for a symmetric matrix."""
    known, out = SparseRows.of(rows), np.empty(rows.shape[0])
    refuse_unless(matrix.shape == (rows.shape[1],) * 2, "a square matrix")
    full = Doubles.of(matrix)

    def part(span: tuple[int, int]) -> None:
        _quadratic_forms(*span, known.indptr, known.indices, known.data, full, len(full), out)

    in_threads(part, spans(len(out), _LEAST))
    return out


class ScoreSums:
    """Ratings, student after student, and scores of their cells at nodes of ability."""

    def __init__(
        self,
        begin: Indices,
        cell: Codes,
        score: Codes | None,
        scores: tuple[Indices, Sequence[tuple[Indices, Array, Array]]],
        points: Array,
        jacobian: sparse.csr_array,
    ) -> None:
        """
        Parameters
        ----------
        begin
            (students + 1,): where the ratings of each begin, with the end.
        cell
            (ratings,): a context, or a context with a score.
        score
            (ratings,): where cells are contexts, whose tables leave out what depends on the score.
        scores
            The context of each cell, and derivatives of its log-probability in intercepts, several times: (cells,) the
            intercept as a row of the Jacobian, how much the slope moves it, and the derivatives (cells, nodes).
        jacobian
            (contexts + contexts x steps, parameters): of slopes and intercepts. Where cells are contexts, there are as
            many derivatives as steps.
        """
        context, terms = scores
        n_cells, steps = len(context), len(terms)
        contexts = jacobian.shape[0] // (1 + steps)
        shapes = [tuple(map(np.shape, term)) for term in terms]
        known = all(each == ((n_cells,), (n_cells,), (n_cells, len(points))) for each in shapes)
        among = all(inside(rows, jacobian.shape[0]) for rows in (context, *(term[0] for term in terms)))
        refuse_unless(known and among, "cells and their derivatives")
        # The lowest and the highest score depend on one step only.
        used = np.stack([table.any(axis=1) for _, _, table in terms], axis=1)
        first = np.append(0, np.cumsum(used.sum(axis=1)))
        through, lever = np.empty(first[-1], dtype=np.int32), np.empty(first[-1])
        table = np.empty((first[-1], len(points)))
        # Rows of a cell next to each other: a student's cells are found in few places.
        place = first[:-1, None] + np.cumsum(used, axis=1) - 1
        for term, some, at in zip(terms, used.T, place.T, strict=True):
            for whole, own in zip((through, lever, table), term, strict=True):
                whole[at[some]] = own[some]
        self._entries = Ints.of(context), Longs.of(first), through, lever, table
        self._jacobian, self._points, self._sizes = (
            SparseRows.of(jacobian),
            Doubles.of(points),
            (contexts, steps),
        )
        self._begin, self._cell = Longs.of(begin), Ints.of(cell)
        fitting = begin_within(self._begin, len(cell)) and inside(self._cell, n_cells)
        refuse_unless(fitting, "cells of ratings")
        # Parameters of each rating, those that a student's ratings share counted as often.
        lengths = np.diff(self._jacobian.indptr)
        widths = np.bincount(np.repeat(np.arange(n_cells), np.diff(first)), lengths[through], n_cells)
        widths = widths.astype(np.int64) + lengths[context]
        self._score = None
        if score is not None:
            self._score = Shorts.of(score)
            whole = contexts * (1 + steps) == jacobian.shape[0]
            fitting = whole and same(n_cells, contexts) and same(len(score), len(cell))
            refuse_unless(fitting and inside(self._score, 1 + steps), "scores of ratings")
            widths += lengths[:contexts] + lengths[contexts:].reshape(contexts, steps).max(axis=1)
        self._most = np.concatenate([[0], np.cumsum(widths[cell])])

    def over(self, span: tuple[int, int], weights: Array) -> tuple[Indices, Codes, Array]:
        """How many parameters each of these students' ratings depend on, which, and the sums of their scores with these
        weights (students, nodes)."""
        begin, n_parameters = self._begin, self._jacobian.shape[1]
        fitting = 0 <= span[0] <= span[1] < len(begin)
        refuse_unless(
            fitting and weights.shape == (span[1] - span[0], len(self._points)), "weights of students"
        )
        most = self._most[begin[span[1]]] - self._most[begin[span[0]]]
        most = min(int(most), len(weights) * n_parameters)
        place, lengths = np.full(n_parameters, -1, dtype=np.int64), np.empty(len(weights), dtype=np.int64)
        parameter, value = np.empty(most, dtype=np.int32), np.empty(most)
        jacobian = self._jacobian.indptr, self._jacobian.indices, self._jacobian.data
        _score_sums(
            *span, Doubles.of(weights), len(self._points), self._points, self._begin, self._cell,
            self._score, *self._entries,
            *jacobian, *self._sizes, np.empty(len(self._points)), place, lengths, parameter, value,
        )  # fmt: skip
        found = int(lengths.sum())
        return lengths, parameter[:found], value[:found]
