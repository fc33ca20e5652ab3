"""The engine for large data: one compiled pass over the students (`kernels/posterior_pass.py`), on all cores.

The same numbers as `numpy_engine.py`, the twin that a test holds it to. Importing this module loads the compiler.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from raterlens.engine.arrangement import Arrangement
from raterlens.engine.protocol import CellScores, Expected, Matrix, Moments, Nodes, Tables
from raterlens.engine.score_expansion import STEP
from raterlens.engine.symmetric import mirrored
from raterlens.kernels.exponential import padded
from raterlens.kernels.posterior_pass import RANGE, by_logarithms, by_products
from raterlens.kernels.score_covariance import add_covariances, grids
from raterlens.parallel.threads import available_cores, in_threads, spans
from raterlens.types import Array

# Numbers of posteriors at a time: 8 MB.
_POSTERIORS = 2**20
# Parameters up to which covariances are added up in a full matrix: 200 MB.
DENSE = 5_000
# Numbers in the full matrices of all threads together: 1 GiB.
_FULL = 2**27


@dataclass(frozen=True, slots=True)
class _Work:
    """Rows to go over."""

    counts: sparse.csr_array
    sums: sparse.csr_array
    """With one empty column where the model has no linear part."""
    weight: Array | None = None
    """How many students each row stands for, where not for one."""

    @property
    def n_rows(self) -> int:
        return int(self.counts.shape[0])


class CompiledEngine:
    """Evaluates tables by compiled code, students shared out over threads."""

    def __init__(
        self,
        counts: sparse.csr_array,
        sums: sparse.csr_array | None = None,
        *,
        threads: int | None = None,
        weight: Array | None = None,
        arrange: bool = False,
        dense: int = DENSE,
    ) -> None:
        """
        Parameters
        ----------
        weight
            How many students each row stands for, where not for one.
        arrange
            Merge and order the students, which takes about as long as one evaluation and saves a quarter of each,
            or nearly all of it where many students have the same ratings.
        dense
            Parameters up to which covariances of scores are added up in a full matrix.
        """
        self._linear, self._dense = sums is not None, dense
        sums = sums if sums is not None else sparse.csr_array((counts.shape[0], 1))
        self._students = self._work = _Work(counts, sums, weight)
        self._place = None
        if arrange:
            arranged = Arrangement.of(counts, sums)
            self._work = _Work(counts[arranged.rows], sums[arranged.rows], arranged.weight)
            self._place = arranged.place
        # Parts of equal work, by nonzeros.
        marks = np.linspace(0, self._work.counts.nnz, (threads or available_cores()) + 1)
        edges = np.searchsorted(self._work.counts.indptr, marks)
        edges[0], edges[-1] = 0, self._work.n_rows
        self._parts = [(int(a), int(b)) for a, b in pairwise(edges) if a < b]

    @property
    def n_students(self) -> int:
        return self._students.n_rows

    def evaluate(self, tables: Tables, nodes: Nodes) -> Expected:
        work, mean = _Pass(self._work, tables, nodes), np.empty(self._work.n_rows)

        def part(span: tuple[int, int]) -> tuple[float, Array, Array]:
            expected, weighted = np.zeros_like(work.rows.factors), np.zeros_like(work.linear)
            return work.over(span, found=(expected, weighted, mean, np.empty(0))), expected, weighted

        done = in_threads(part, self._parts)
        _, expected, weighted = done[0]
        for _, more, more_weighted in done[1:]:
            expected += more
            weighted += more_weighted
        expected = np.ascontiguousarray(expected[:, : len(nodes.points)])
        loglik = sum(part[0] for part in done)
        return Expected(loglik, expected, weighted if self._linear else None)

    def moments(self, tables: Tables, nodes: Nodes) -> Moments:
        work, rows = _Pass(self._work, tables, nodes), self._work.n_rows
        found, no_counts = Moments(np.empty(rows), np.empty(rows)), np.empty((len(work.rows.factors), 0))

        def part(span: tuple[int, int]) -> None:
            work.over(span, found=(no_counts, np.zeros_like(work.linear), found.mean, found.sd))

        in_threads(part, self._parts)
        return found if self._place is None else found.of(self._place)

    def posteriors(self, tables: Tables, nodes: Nodes) -> Iterator[tuple[slice, Array, Array]]:
        return _posteriors(self._students, tables, nodes)

    def score_covariance(self, tables: Tables, nodes: Nodes, scores: CellScores) -> Matrix:
        work, size = self._work, scores.n_parameters
        full = size <= self._dense
        threads = min(available_cores(), max(1, _FULL // size**2)) if full else available_cores()
        pattern = sparse.csr_array((1, size)) if full else _coupled(work.counts, scores)
        totals = [np.zeros(size * size if full else pattern.nnz) for _ in range(threads)]
        known = (
            (scores.slopes.indptr, scores.slopes.indices, scores.slopes.data),
            grids(scores.table, nodes.points),
            (nodes.points, nodes.step, STEP),
            (pattern.indptr, pattern.indices),
            size,
        )
        for rows, posterior, _ in _posteriors(work, tables, nodes):
            cells, sums = work.counts[rows], work.sums[rows]
            block = (
                posterior,
                np.ones(len(posterior)) if work.weight is None else work.weight[rows],
                (cells.indptr, cells.indices, cells.data),
                (scores.first, scores.parameter, scores.steepest),
                (sums.indptr, sums.indices, sums.data),
            )
            edges = np.linspace(0, len(posterior), threads + 1).astype(int)
            parts = list(zip(edges[:-1], edges[1:], totals, strict=True))
            in_threads(partial(_add_part, block + known), parts)
        half, *others = totals
        for other in others:
            half += other
        if full:
            return mirrored(half.reshape(size, size))
        upper = sparse.csr_array((half, pattern.indices, pattern.indptr), shape=(size, size))
        return sparse.csr_array(upper + sparse.triu(upper, 1).T)


def _posteriors(work: _Work, tables: Tables, nodes: Nodes) -> Iterator[tuple[slice, Array, Array]]:
    """Of the rows, in their order, whatever their weights."""
    whole = _Pass(_Work(work.counts, work.sums), tables, nodes)
    size = max(1, _POSTERIORS // len(nodes.points))
    for first in range(0, work.n_rows, size):
        n = min(size, work.n_rows - first)
        shown = first, np.empty((n, len(nodes.points))), np.empty(n)
        students = [(first + begin, first + end) for begin, end in spans(n)]
        in_threads(partial(whole.over, shown=shown), students)
        yield slice(first, first + n), *shown[1:]


def _add_part(work: tuple[Any, ...], part: tuple[int, int, Array]) -> None:
    add_covariances(*work, *part)


def _coupled(counts: sparse.csr_array, scores: CellScores) -> sparse.csr_array:
    """(parameters, parameters): nonzero above the diagonal where a student's ratings depend on both."""
    ones = np.ones(len(scores.parameter), dtype=np.float32)
    shape = (counts.shape[1], scores.n_parameters)
    rows = sparse.csr_array((ones, scores.parameter, scores.first), shape=shape)
    touched = counts.astype(np.float32) @ rows
    upper = sparse.csr_array(sparse.triu(touched.T @ touched, format="csr"))
    upper.sort_indices()
    return upper


@dataclass(frozen=True, slots=True)
class _Rows:
    """Tables as the compiled code wants them: nodes fill whole vectors, of which the last ones weigh nothing."""

    points: Array
    weights: Array
    log_weights: Array
    logs: Array
    """(cells, nodes): the tables themselves."""
    factors: Array
    """(cells, nodes): exp(log - level - slope t)."""
    level: Array
    slope: Array
    reach: Array
    """(cells,): largest magnitude of a factor's logarithm; infinite where a cell has none."""


def _rows(tables: Tables, nodes: Nodes) -> _Rows:
    points, size = nodes.points, len(nodes.points)
    width = padded(size)
    logs = np.zeros((len(tables.cells), width))
    logs[:, :size] = tables.cells
    first, last = tables.cells[:, 0], tables.cells[:, -1]
    with np.errstate(invalid="ignore", over="ignore"):
        slope = (last - first) / (points[-1] - points[0])
        level = first - slope * points[0]
        factors = tables.cells - level[:, None]
        factors -= np.multiply.outer(slope, points)
        reach = np.maximum(np.abs(factors.min(axis=1)), np.abs(factors.max(axis=1)))
    usable = reach < RANGE
    factors[~usable] = 0.0
    np.exp(factors, out=factors)
    ready = np.ones_like(logs)
    ready[:, :size] = factors
    more = width - size
    return _Rows(
        np.append(points, np.zeros(more)),
        np.append(np.exp(nodes.log_weights), np.zeros(more)),
        np.append(nodes.log_weights, np.full(more, -np.inf)),
        logs,
        ready,
        np.where(usable, level, 0.0),
        np.where(usable, slope, 0.0),
        np.where(usable, reach, np.inf),
    )


class _Pass:
    """Tables on a grid, and the students to be gone over."""

    def __init__(self, work: _Work, tables: Tables, nodes: Nodes) -> None:
        counts, sums = work.counts, work.sums
        self.rows = rows = _rows(tables, nodes)
        self.linear = np.zeros(1) if tables.linear is None else np.ascontiguousarray(tables.linear)
        self._work = (
            (counts.indptr, counts.indices, counts.data),
            (sums.indptr, sums.indices, sums.data, self.linear),
            (rows.factors, rows.logs, rows.level, rows.slope, rows.reach),
            (rows.points, rows.weights, rows.log_weights, nodes.step),
            np.empty(0) if work.weight is None else work.weight,
        )

    def over(
        self,
        span: tuple[int, int],
        found: tuple[Array, Array, Array, Array] | None = None,
        shown: tuple[int, Array, Array] | None = None,
    ) -> float:
        """Go over a span of students and return their log-likelihood.

        Filled: what is to be `found` of them, their part of the expected counts and of the weighted sums, and their
        means and standard deviations; or what is to be `shown`, the posteriors and log-likelihoods from a student on.
        """
        if found is None:
            found = np.empty((len(self.rows.factors), 0)), np.empty(0), np.empty(0), np.empty(0)
        if shown is None:
            shown = 0, np.empty((0, 0)), np.empty(0)
        late = np.zeros(span[1] - span[0] + 1, dtype=np.int64)
        loglik = by_products(*span, *self._work, found, shown, late)
        if late[0]:
            loglik += by_logarithms(late[1 : late[0] + 1], *self._work, found, shown)
        return float(loglik)
