"""Data beyond memory: an engine over parts of the students, each compressed once and kept on disk.

An evaluation goes over the parts one by one, in their order, and needs memory for one of them. Parts are memory-mapped:
where there is room, the system keeps them in memory, and an evaluation reads nothing from disk.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from raterlens.base.arrays import Array, Indices
from raterlens.base.threads import available_cores
from raterlens.likelihood.cells import CellsOf, Kinds, KindsOf
from raterlens.likelihood.engines.compiled import (
    DENSE,
    Arrangement,
    CompiledEngine,
    full_covariance,
    full_totals,
    taken,
)
from raterlens.likelihood.engines.contract import CellScores, Expected, Matrix, Moments, Tables, Weighting
from raterlens.likelihood.nodes import Nodes
from raterlens.models.contexts import Contexts
from raterlens.ratings.coded import Ratings
from raterlens.ratings.packed import Scratch, StoredRatings, forget


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the students."""

    counts: sparse.csr_array
    """(rows, cells of the part)"""
    sums: sparse.csr_array | None
    weight: Array | None
    """How many students each row stands for, where not for one."""
    place: NDArray[np.int32]
    """(students,): the row of each."""
    own: Indices | None
    """Which of all cells those of the part are; None where it has all."""
    n_cells: int
    """Number of cells of all parts together."""

    @staticmethod
    def of(counts: sparse.csr_array, sums: sparse.csr_array | None) -> "Part":
        """A part with all cells."""
        found = Arrangement.of(counts, sums)
        own = None if sums is None else taken(sums, found.rows)
        return Part(taken(counts, found.rows), own, found.weight, found.place, None, counts.shape[1])

    @property
    def n_students(self) -> int:
        return len(self.place)

    def engine(self) -> CompiledEngine:
        return CompiledEngine(self.counts, self.sums, weight=self.weight)

    def tables(self, tables: Tables) -> Tables:
        return tables if self.own is None else Tables(tables.cells[self.own], tables.linear)

    def evaluate(self, tables: Tables, nodes: Nodes) -> Expected:
        """Part of the whole that comes from these students."""
        found = self.engine().evaluate(self.tables(tables), nodes)
        if self.own is None:
            return found
        counts = np.zeros_like(tables.cells)
        counts[self.own] = found.counts
        return Expected(found.loglik, counts, found.linear)

    def moments(self, tables: Tables, nodes: Nodes) -> Moments:
        return self.engine().moments(self.tables(tables), nodes).of(self.place)

    def posteriors(self, tables: Tables, nodes: Nodes) -> Iterator[tuple[slice, Array, Array]]:
        """As of an engine, in the students' own order."""
        sums = None if self.sums is None else self.sums[self.place]
        return CompiledEngine(self.counts[self.place], sums).posteriors(self.tables(tables), nodes)

    def score_covariance(self, tables: Tables, nodes: Nodes, scores: CellScores) -> Matrix:
        return self._among_all().score_covariance(tables, nodes, scores)

    def add_covariances(self, tables: Tables, nodes: Nodes, scores: CellScores, totals: list[Array]) -> None:
        self._among_all().add_covariances(tables, nodes, scores, totals)

    def scores(
        self, tables: Tables, nodes: Nodes, scores: CellScores, weights: Weighting
    ) -> sparse.csr_array:
        return taken(self._among_all().scores(tables, nodes, scores, weights), self.place)

    def mean_variances(self, tables: Tables, nodes: Nodes, scores: CellScores, spread: Array) -> Array:
        return self._among_all().mean_variances(tables, nodes, scores, spread)[self.place]

    def _among_all(self) -> CompiledEngine:
        """Cells by their places among all, as scores have them."""
        counts = self.counts
        if self.own is not None:
            shape = (counts.shape[0], self.n_cells)
            counts = sparse.csr_array((counts.data, self.own[counts.indices], counts.indptr), shape=shape)
        return CompiledEngine(counts, self.sums, weight=self.weight)

    def on_disk(self, scratch: Scratch) -> "Part":
        sums = None if self.sums is None else _kept(self.sums, scratch)
        weight = None if self.weight is None else scratch.keep(self.weight)
        counts, place = _kept(self.counts, scratch), scratch.keep(self.place)
        return replace(self, counts=counts, sums=sums, weight=weight, place=place)

    def forget(self) -> None:
        for matrix in (self.counts, self.sums):
            if matrix is not None:
                for array in (matrix.data, matrix.indices, matrix.indptr):
                    forget(array)


def add(one: Expected, other: Expected) -> Expected:
    """Sum over two groups of students."""
    linear = None if one.linear is None or other.linear is None else one.linear + other.linear
    return Expected(one.loglik + other.loglik, one.counts + other.counts, linear)


class DiskEngine:
    """Evaluates tables part by part."""

    def __init__(self, parts: list[Part]) -> None:
        self._parts = parts

    @property
    def n_students(self) -> int:
        return sum(part.n_students for part in self._parts)

    def evaluate(self, tables: Tables, nodes: Nodes) -> Expected:
        total: Expected | None = None
        for part in self._parts:
            found = part.evaluate(tables, nodes)
            total = found if total is None else add(total, found)
            part.forget()
        assert total is not None
        return total

    def moments(self, tables: Tables, nodes: Nodes) -> Moments:
        mean, sd = np.empty(self.n_students), np.empty(self.n_students)
        for rows, part in self._placed():
            found = part.moments(tables, nodes)
            mean[rows], sd[rows] = found.mean, found.sd
            part.forget()
        return Moments(mean, sd)

    def posteriors(self, tables: Tables, nodes: Nodes) -> Iterator[tuple[slice, Array, Array]]:
        for rows, part in self._placed():
            for some, posterior, loglik in part.posteriors(tables, nodes):
                stop = min(some.stop, part.n_students)
                yield slice(rows.start + some.start, rows.start + stop), posterior, loglik
            part.forget()

    def score_covariance(self, tables: Tables, nodes: Nodes, scores: CellScores) -> Matrix:
        if scores.n_parameters <= DENSE:
            # In the same matrices all along: to make and add them up takes longer than going over a part.
            totals = full_totals(scores.n_parameters, available_cores())
            for part in self._parts:
                part.add_covariances(tables, nodes, scores, totals)
                part.forget()
            return full_covariance(totals)
        total: Matrix | None = None
        for part in self._parts:
            found = part.score_covariance(tables, nodes, scores)
            total = found if total is None else total + found
            part.forget()
        return total

    def scores(
        self, tables: Tables, nodes: Nodes, scores: CellScores, weights: Weighting
    ) -> sparse.csr_array:
        found = []
        for part in self._parts:
            found.append(part.scores(tables, nodes, scores, weights))
            part.forget()
        return sparse.csr_array(sparse.vstack(found, format="csr"))

    def mean_variances(self, tables: Tables, nodes: Nodes, scores: CellScores, spread: Array) -> Array:
        found = []
        for part in self._parts:
            found.append(part.mean_variances(tables, nodes, scores, spread))
            part.forget()
        return np.concatenate(found)

    def _placed(self) -> Iterator[tuple[slice, Part]]:
        """Parts with the places of their students."""
        ends = accumulate(part.n_students for part in self._parts)
        for part, end in zip(self._parts, ends, strict=True):
            yield slice(end - part.n_students, end), part


def cells_by_parts(ratings: StoredRatings, contexts: Contexts, cells_of: CellsOf) -> DiskEngine:
    """An engine whose cells are contexts with scores."""
    scratch = Scratch()
    return DiskEngine([cell_part(part, contexts, cells_of).on_disk(scratch) for part in ratings.parts()])


def cell_part(ratings: Ratings, contexts: Contexts, cells_of: CellsOf) -> Part:
    """Students whose cells are contexts with scores."""
    return Part.of(cells_of(ratings, contexts), None)


def kinds_by_parts(ratings: StoredRatings, contexts: Contexts, kinds_of: KindsOf) -> tuple[DiskEngine, Kinds]:
    """An engine whose cells are kinds of essays or readings, and what these are."""
    scratch, parts, kinds = Scratch(), [], []
    for part in ratings.parts():
        found, own = kinds_part(part, contexts, kinds_of)
        parts.append(found.on_disk(scratch))
        kinds.append(own)
    whole = Kinds.merged(kinds)
    return DiskEngine([among(whole, part, own) for part, own in zip(parts, kinds, strict=True)]), whole


def kinds_part(ratings: Ratings, contexts: Contexts, kinds_of: KindsOf) -> tuple[Part, Kinds]:
    """Students whose cells are the kinds that occur among them."""
    found = kinds_of(ratings, contexts)
    return Part.of(found.counts, found.sums), found.kinds


def among(whole: Kinds, part: Part, own: Kinds) -> Part:
    """The part with its kinds known by their places among all."""
    everyone = part.counts.shape[1] - len(own.keys)  # a cell that is no kind, and stands last
    n_cells = len(whole.keys) + everyone
    if len(own.keys) == len(whole.keys):
        return replace(part, own=None, n_cells=n_cells)
    places = np.append(np.searchsorted(whole.keys, own.keys), np.arange(len(whole.keys), n_cells))
    return replace(part, own=places, n_cells=n_cells)


def _kept(matrix: sparse.csr_array, scratch: Scratch) -> sparse.csr_array:
    arrays = tuple(scratch.keep(array) for array in (matrix.data, matrix.indices, matrix.indptr))
    return sparse.csr_array(arrays, shape=matrix.shape, copy=False)
