"""The engine for large data: one compiled pass over the students (`kernels/posterior_pass.py`), on all cores.

The same numbers as `numpy.py`, the twin that a test holds it to.
"""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from raterlens.base.arrays import Array, Indices, mirrored
from raterlens.base.threads import available_cores, in_threads, spans
from raterlens.kernels.library import Doubles, SparseRows
from raterlens.kernels.posterior_pass import NOWHERE, Between, Found, OnNodes, Rows, Students, go_over
from raterlens.kernels.score_covariance import Covariances, Scores
from raterlens.likelihood.cells import row_keys
from raterlens.likelihood.engines.contract import CellScores, Expected, Matrix, Summed, Tables, Weighting
from raterlens.likelihood.nodes import Moments, Nodes, weights_between

# Numbers of posteriors at a time: 8 MB.
_POSTERIORS = 2**20
# Numbers of posteriors that stay in the cache from where they are found to where they are used.
_NEAR = 2**16
# Numbers of posteriors, cell by cell, that are worth a thread of their own: it takes a tenth of a millisecond to wake.
_LEAST = 2**17
# The same, whatever their number of cells, where covariances follow: they take longer.
_FEW = 2**14
# Where covariances follow, a wide posterior is gone over by nodes so far apart, in its standard deviations and in units
# of 1 / slope. A trapezoidal sum of squared logistic curves of slope a is off by about exp(-2 pi^2 / (a step)) times
# the square of that exponent: 1e-8.
_STEP = 0.8
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
    weight: Array | None
    """How many students each row stands for, where not for one."""
    rows: tuple[SparseRows, SparseRows]
    """Counts and sums as kernels take them."""

    @staticmethod
    def of(counts: sparse.csr_array, sums: sparse.csr_array, weight: Array | None = None) -> "_Work":
        weight = None if weight is None else Doubles.of(weight)
        return _Work(counts, sums, weight, (SparseRows.of(counts), SparseRows.of(sums)))

    @property
    def n_rows(self) -> int:
        return int(self.counts.shape[0])

    def taken(self, rows: NDArray[np.integer]) -> "_Work":
        """Some of the rows, each for one student."""
        return _Work.of(self.counts[rows], self.sums[rows])


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
        self._place = None
        if arrange:
            arranged = Arrangement.of(counts, sums)
            counts, sums = counts[arranged.rows], sums[arranged.rows]
            weight, self._place = arranged.weight, arranged.place
        self._work = _Work.of(counts, sums, weight)
        self._threads = threads

    def _parts(self, nodes: Nodes) -> list[tuple[int, int]]:
        """Rows of equal work, by nonzeros, for as many threads as may be used where this is asked and are worth it."""
        indptr = self._work.rows[0].indptr
        worth = max(1, int(indptr[-1]) * len(nodes.points) // _LEAST)
        threads = self._threads or min(available_cores(), worth)
        if threads == 1:
            return [(0, self._work.n_rows)]
        # Marks of the same type: NumPy would rather convert where all rows begin than those few.
        edges = np.searchsorted(indptr, np.ceil(np.linspace(0, indptr[-1], threads + 1)).astype(indptr.dtype))
        edges[0], edges[-1] = 0, self._work.n_rows
        return [(int(a), int(b)) for a, b in pairwise(edges) if a < b]

    @property
    def n_students(self) -> int:
        return self._work.n_rows if self._place is None else len(self._place)

    def evaluate(self, tables: Tables, nodes: Nodes) -> Expected:
        work = _Pass(self._work, tables, nodes)

        def part(span: tuple[int, int]) -> tuple[float, Array, Array]:
            expected, weighted = np.zeros(work.rows.factors.shape), np.zeros_like(work.linear)
            return work.over(span, Found(expected, weighted)), expected, weighted

        each, counted, weighted = zip(*in_threads(part, self._parts(nodes)), strict=True)
        expected = sum(more[:, : len(nodes.points)] for more in counted[1:])
        expected = np.add(counted[0][:, : len(nodes.points)], expected, order="C")
        return Expected(sum(each), expected, np.sum(weighted, axis=0) if self._linear else None)

    def moments(self, tables: Tables, nodes: Nodes, *, pieces: bool = False) -> Moments:
        work, rows = _Pass(self._work, tables, nodes), self._work.n_rows
        found = Moments(np.empty(rows), np.empty(rows))
        in_threads(partial(work.over, found=Found(mean=found.mean, sd=found.sd)), self._parts(nodes))
        return found if self._place is None else found.of(self._place)

    def posteriors(self, tables: Tables, nodes: Nodes) -> Iterator[tuple[slice, Array, Array]]:
        whole, width = _Pass(replace(self._work, weight=None), tables, nodes), len(nodes.points)
        size = max(1, _POSTERIORS // width)
        for first in range(0, self.n_students, size):
            n = min(size, self.n_students - first)
            posterior, loglik = np.empty((n, width)), np.empty(n)
            begin, some = first, whole
            if self._place is not None:
                begin, some = 0, whole.on(self._work, self._place[first : first + n])
            students = [(begin + a, begin + b) for a, b in spans(n, _LEAST // width)]
            in_threads(
                partial(some.over, found=Found(first=begin, posterior=posterior, loglik=loglik)), students
            )
            yield slice(first, first + n), posterior, loglik

    def covariance(self, tables: Tables, nodes: Nodes, scores: CellScores) -> Matrix:
        size = scores.n_parameters
        if size <= self._dense:
            worth = self._work.n_rows * len(nodes.points) // _FEW
            totals = full_totals(size, min(available_cores(), max(1, worth)))
            self.add_covariances(tables, nodes, scores, totals)
            return full_covariance(totals)
        pattern = _coupled(self._work.counts, scores)
        totals = [np.zeros(pattern.nnz) for _ in range(available_cores())]
        self.add_covariances(tables, nodes, scores, totals, SparseRows.of(pattern))
        upper = sparse.csr_array((_sum(totals), pattern.indices, pattern.indptr), shape=(size, size))
        return sparse.csr_array(upper + sparse.triu(upper, 1).T)

    def add_covariances(
        self,
        tables: Tables,
        nodes: Nodes,
        scores: CellScores,
        totals: list[Array],
        pattern: SparseRows | None = None,
    ) -> None:
        """To the totals of as many threads: upper triangles in full, or the entries of a pattern."""
        whole = _Pass(replace(self._work, weight=None), tables, nodes)
        _add_up(self._covariances(nodes, scores, pattern), totals, whole, self._work.n_rows)

    def scores(self, tables: Tables, nodes: Nodes, scores: CellScores, weights: Weighting) -> Summed:
        covariances, n_nodes = self._covariances(nodes, scores), len(nodes.points)
        whole, step = (
            _Pass(replace(self._work, weight=None), tables, nodes),
            max(1, _NEAR // n_nodes),
        )

        def part(span: tuple[int, int]) -> list[tuple[NDArray[Any], ...]]:
            found = list[tuple[NDArray[Any], ...]]()
            for first in range(*span, step):
                last = min(first + step, span[1])
                posterior, loglik = np.empty((last - first, n_nodes)), np.empty(last - first)
                whole.over((first, last), Found(first=first, posterior=posterior, loglik=loglik))
                weight = weights(posterior)
                found.append((*covariances.summed(weight, first, (first, last)), weight.sum(axis=1)))
            return found

        parts = [block for each in in_threads(part, spans(self._work.n_rows, step)) for block in each]
        lengths, parameter, value, weight = (np.concatenate(each) for each in zip(*parts, strict=True))
        begin, shape = np.append(0, np.cumsum(lengths)), (self._work.n_rows, scores.n_parameters)
        found = sparse.csr_array((value, parameter, begin), shape=shape)
        return (
            Summed(found, weight) if self._place is None else taken_sums(Summed(found, weight), self._place)
        )

    def _covariances(
        self, nodes: Nodes, scores: CellScores, pattern: SparseRows | None = None
    ) -> Covariances:
        work = self._work
        counts, sums = work.rows
        return Covariances(
            Scores(
                counts,
                sums,
                work.weight,
                scores.first,
                scores.parameter,
                scores.row,
                scores.factor,
                scores.steepest / _STEP,
                (scores.slopes.indptr, scores.slopes.indices, scores.slopes.data),
                scores.table,
                nodes.points,
                nodes.step,
                _STEP,
                pattern,
                scores.n_parameters,
            )
        )


def taken_sums(found: Summed, place: NDArray[np.integer]) -> Summed:
    """Those of students, from those of the rows that stand for them."""
    return Summed(found.scores[place], found.weight[place])


def full_totals(size: int, threads: int) -> list[Array]:
    """A matrix for each thread, to add up covariances in; for fewer threads where they would not fit into memory."""
    return [np.zeros((size, size)) for _ in range(min(threads, max(1, _FULL // size**2)))]


def full_covariance(totals: list[Array]) -> Array:
    return mirrored(_sum(totals))


def _sum(totals: list[Array]) -> Array:
    """In the place of the first."""
    half, *others = totals
    for other in others:
        half += other
    return half


def _add_up(covariances: Covariances, totals: list[Array], work: "_Pass", n_rows: int) -> None:
    """Add up all rows, whatever their weights, each thread in a total of its own, by stretches whose posteriors stay
    in the cache."""
    n_nodes = work.rows.logs.shape[1]
    step = max(1, _NEAR // n_nodes)

    def part(task: tuple[tuple[int, int], Array]) -> None:
        (first, last), total = task
        for begin in range(first, last, step):
            end = min(begin + step, last)
            posterior, loglik = np.empty((end - begin, n_nodes)), np.empty(end - begin)
            work.over((begin, end), Found(first=begin, posterior=posterior, loglik=loglik))
            covariances.add(posterior, begin, ((begin, end), total))

    edges = np.linspace(0, n_rows, len(totals) + 1).astype(int)
    in_threads(part, list(zip(pairwise(map(int, edges)), totals, strict=True)))


def _coupled(counts: sparse.csr_array, scores: CellScores) -> sparse.csr_array:
    """(parameters, parameters): nonzero above the diagonal where a student's ratings depend on both."""
    ones = np.ones(len(scores.parameter), dtype=np.float32)
    shape = (counts.shape[1], scores.n_parameters)
    rows = sparse.csr_array((ones, scores.parameter, scores.first), shape=shape)
    touched = counts.astype(np.float32) @ rows
    upper = sparse.csr_array(sparse.triu(touched.T @ touched, format="csr"))
    upper.sort_indices()
    return upper


class _Pass:
    """Tables on a grid, and the students to be gone over."""

    def __init__(self, work: _Work, tables: Tables, nodes: Nodes) -> None:
        self._between = NOWHERE
        if nodes.parts > 1:
            self._between = Between(nodes.parts, weights_between(nodes.parts), nodes.least_variance)
        on = OnNodes.of(nodes.points, nodes.log_weights, nodes.step)
        self.rows = Rows.of(tables.cells, on, bent=nodes.parts > 1)
        self.linear = np.zeros(1) if tables.linear is None else np.ascontiguousarray(tables.linear)
        self._students = Students(*work.rows, self.linear, work.weight)

    def on(self, work: _Work, rows: NDArray[np.integer]) -> "_Pass":
        """The same tables for some of the rows of `work`, each for one student."""
        other, some = copy(self), work.taken(rows)
        other._students = Students(*some.rows, self.linear, some.weight)
        return other

    def over(self, span: tuple[int, int], found: Found) -> float:
        """Go over a span of students, fill what is to be found of them, and return their log-likelihood."""
        return go_over(span, self._students, self.rows, found, self._between)


# Students are merged where fewer than this share of them are different: looking a student up has its price, too.
_WORTH = 0.8
# Cells that are kept together at least.
_BLOCK = 32


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Rows to go over, each of them for one student or for several who cannot be told apart."""

    rows: Indices
    """(rows,): one of the students that a row stands for."""
    weight: Array | None
    """(rows,): how many they are; None where each row is one student."""
    place: NDArray[np.int32]
    """(students,): the row of each."""

    @staticmethod
    def of(counts: sparse.csr_array, sums: sparse.csr_array | None) -> "Arrangement":
        key = row_keys(counts, sums)
        if key is None or pl.Series(key).n_unique() > _WORTH * len(key):
            order = neighbours(counts)
            return Arrangement(order, None, _inverse(order))
        _, first, member, times = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
        order = neighbours(counts[first])
        return Arrangement(first[order], times[order].astype(np.float64), _inverse(order)[member])


def _inverse(order: Indices) -> NDArray[np.int32]:
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return place


def neighbours(counts: sparse.csr_array) -> Indices:
    """Rows in an order in which those with cells close to each other follow each other.

    Cells are taken in blocks, the larger the fewer rows there are for each pair of blocks.
    """
    rows, cells = counts.shape
    if not counts.nnz:
        return np.arange(rows)
    block = max(_BLOCK, cells**2 // rows)
    begin = np.minimum(counts.indptr[:-1], counts.nnz - 1)
    first, last = (counts.indices[at] // block for at in (begin, counts.indptr[1:] - 1))
    blocks = cells // block + 1
    # Numbers of 16 bits are sorted without comparing them.
    kind = np.uint16 if blocks**2 <= 2**16 else np.int64
    return np.argsort((first.astype(np.int64) * blocks + last).astype(kind), kind="stable")
