"""The students' scores: covariances over their posteriors, and sums with any weights, node by node
(`c/score_covariance.c`).

The same sum as the expansion in `likelihood/engines/numpy.py`, its readable twin: here a student's few parameters and
the few nodes that carry the posterior's mass are so cheap to visit that no expansion is needed.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array, Indices
from raterlens.base.threads import in_threads, spans
from raterlens.kernels.library import (
    LANE,
    Doubles,
    Integer,
    Ints,
    Longs,
    Real,
    SparseRows,
    Struct,
    begin_within,
    inside,
    kernel,
    padded,
    refuse_unless,
    same,
)

# A wide posterior is gone over by every second node, or every fourth.
_STRIDES = (1, 2, 4)
_STRAY = "sums of parameters that none of a student's cells depends on"


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Ingredients of the scores of all students."""

    counts: SparseRows
    sums: SparseRows
    weight: Array | None
    first: Indices
    """(cells + 1,): where the entries of a cell begin."""
    parameter: Indices
    """(entries,)"""
    row: Indices | None
    """(entries,): row of the table of each; None where each has its own."""
    factor: Array | None
    """(entries,): factor of that row; None where it is 1."""
    steepest: Array
    """(cells,)"""
    slopes: tuple[Indices, Indices, Array]
    """(sums, parameters), by rows: what a sum times ability adds to the score of a parameter."""
    table: Array
    """(rows, nodes)"""
    points: Array
    step: float
    furthest: float
    """How far apart nodes may be, in posterior standard deviations."""
    pattern: SparseRows | None
    """The entries of the upper triangle that are kept, where not all are."""
    n_parameters: int

    def refuse_unless_fitting(self) -> None:
        n_students, n_cells = self.counts.shape
        (indptr, indices, data), n = self.slopes, self.n_parameters
        fitting = (
            same(n_students, self.sums.shape[0], n_students if self.weight is None else len(self.weight))
            and n_cells <= len(self.steepest) == len(self.first) - 1
            and begin_within(self.first, len(self.parameter))
            and inside(self.parameter, n)
            and (self.factor is None or len(self.factor) == len(self.parameter))
            and (
                self.row is None
                or (same(len(self.row), len(self.parameter)) and inside(self.row, len(self.table)))
            )
            and (self.row is not None or same(len(self.table), len(self.parameter)))
            and same(self.table.shape[1], len(self.points))
            and self.sums.shape[1] <= len(indptr) - 1
            and begin_within(indptr, min(len(indices), len(data)))
            and inside(indices, n)
            and (self.pattern is None or self.pattern.shape == (n, n))
        )
        refuse_unless(fitting, "cells and parameters")

    @property
    def most(self) -> int:
        """Parameters that no student's score has more of."""
        cells = int(np.diff(self.counts.indptr).max(initial=0))
        return min(cells * int(np.diff(self.first).max(initial=0)), self.n_parameters)


# `Scores` of `c/score_covariance.c`.
_Scores = Struct.of(
    *(("indptr", Longs), ("indices", Ints), ("times", Doubles)),
    *(("sums_indptr", Longs), ("sums_indices", Ints), ("sums_data weight", Doubles)),
    *(("first parameter row", Longs), ("factor steepest", Doubles)),
    *(("slopes_indptr slopes_indices", Longs), ("slopes_data", Doubles)),
    *(field for n in _STRIDES for field in ((f"table_{n} nodes_{n}", Doubles), (f"width_{n}", Integer))),
    *(("points", Doubles), ("n_nodes", Integer), ("step furthest", Real)),
    *(("pattern_indptr", Longs), ("pattern_indices", Ints), ("n_parameters", Integer)),
)
_add_covariances = kernel(
    "add_covariances", _Scores.pointer, Doubles, *[Integer] * 5, Longs, Longs, *[Doubles] * 4, returns=Integer
)
_summed_scores = kernel(
    "summed_scores", _Scores.pointer, Doubles, *[Integer] * 3, *[Longs] * 3, Doubles, returns=Integer
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


class Covariances:
    """Adds up the covariances of stretches of students, each thread in a total of its own."""

    def __init__(self, scores: Scores) -> None:
        self._scores = scores
        scores.refuse_unless_fitting()
        # Four rows at a time are multiplied with two.
        self._most, self._width = -(-scores.most // 4) * 4, padded(len(scores.points))
        pattern = scores.pattern
        # The table and the nodes at every stride, padded so that a posterior at the very end fills whole vectors.
        grids = [
            (
                np.pad(scores.table[:, ::stride], [(0, 0), (0, LANE)]),
                np.pad(scores.points[::stride], (0, LANE)),
            )
            for stride in _STRIDES
        ]
        self._first = Longs.of(scores.first)
        given = (
            (Longs, scores.parameter),
            (Longs, scores.row),
            (Doubles, scores.factor),
            (Doubles, scores.steepest),
        )
        of_cells = [None if each is None else kind.of(each) for kind, each in given]
        slopes = [kind.of(each) for kind, each in zip((Longs, Longs, Doubles), scores.slopes, strict=True)]
        self._kept = of_cells, slopes, grids  # which the record has the addresses of
        self._record = _Scores.filled(
            *(*scores.counts.arrays, *scores.sums.arrays, scores.weight, self._first, *of_cells, *slopes),
            *(field for table, points in grids for field in (table, points, table.shape[1])),
            *(scores.points, len(scores.points), scores.step, scores.furthest),
            *((None, None) if pattern is None else pattern.arrays[:2]),
            scores.n_parameters,
        )

    def add(self, posteriors: Array, first: int, part: tuple[tuple[int, int], Array]) -> None:
        """Add a span of students, whose posteriors begin with those of the `first`, to an upper triangle: a full
        matrix, row by row, or the entries of the pattern."""
        (span, total), known, n = part, self._scores, self._scores.n_parameters
        rows = np.zeros((self._most, self._width))
        size = n * n if known.pattern is None else len(known.pattern.indices)
        refuse_unless(
            self._fitting(posteriors, first, span) and total.size == size, "posteriors or covariances"
        )
        missing = _add_covariances(
            self._record,
            posteriors,
            first,
            *span,
            self._width,
            self._most,
            np.full(self._scores.n_parameters, -1, dtype=np.int64),
            np.empty(self._most, dtype=np.int64),
            np.empty((3, self._most)),
            rows,
            np.empty((3, self._width)),
            total,
        )
        refuse_unless(missing == 0, _STRAY)

    def summed(self, weights: Array, first: int, span: tuple[int, int]) -> tuple[Indices, Indices, Array]:
        """Sum the scores of a span of students over the nodes, with weights (students, nodes) that begin with those of
        the `first`: how many parameters each student's scores are by, which, and the sums."""
        known, n = self._scores, self._scores.n_parameters
        refuse_unless(self._fitting(weights, first, span), "weights of students")
        cells = known.counts.indices[known.counts.indptr[span[0]] : known.counts.indptr[span[1]]]
        most = min(int(np.diff(self._first)[cells].sum()), (span[1] - span[0]) * n)
        lengths = np.empty(span[1] - span[0], dtype=np.int64)
        parameter, value = np.empty(most, dtype=np.int64), np.empty(most)
        place = np.full(n, -1, dtype=np.int64)
        missing = _summed_scores(
            self._record, Doubles.of(weights), first, *span, place, lengths, parameter, value
        )
        refuse_unless(missing == 0, _STRAY)
        found = int(lengths.sum())
        return lengths, parameter[:found], value[:found]

    def _fitting(self, posteriors: Array, first: int, span: tuple[int, int]) -> bool:
        known = self._scores
        last = min(first + len(posteriors), known.counts.shape[0])
        return 0 <= first <= span[0] <= span[1] <= last and posteriors.shape[1] == len(known.points)
