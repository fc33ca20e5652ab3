"""Data beyond memory: an engine over parts of the students, each compressed once and kept on disk.

An evaluation goes over the parts one by one, in their order, and needs memory for one of them. Parts are memory-mapped:
where there is room, the system keeps them in memory, and an evaluation reads nothing from disk.
"""

import operator
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from raterlens.base.arrays import Array, Indices
from raterlens.base.threads import available_cores
from raterlens.likelihood.cells import Grouping, Kinds, grouped_by
from raterlens.likelihood.engines.by_piece import PieceEngine
from raterlens.likelihood.engines.compiled import (
    DENSE,
    Arrangement,
    CompiledEngine,
    full_covariance,
    full_totals,
    taken_sums,
)
from raterlens.likelihood.engines.contract import CellScores, Expected, Matrix, Summed, Tables, Weighting
from raterlens.likelihood.nodes import Moments, Nodes
from raterlens.models.term import Contexts
from raterlens.ratings.coded import Codes, Ratings
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
    """(students,): the row of each, where rows are not pieces."""
    own: Indices | None
    """Which of all cells those of the part are; None where it has all."""
    n_cells: int
    """Number of cells of all parts together."""
    student: Codes | None = None
    """(rows,): whose each is, where rows are pieces of work that differ."""

    @staticmethod
    def of(counts: sparse.csr_array, sums: sparse.csr_array | None, student: Codes | None = None) -> "Part":
        """A part with all cells."""
        if student is not None:
            place = np.arange(int(student[-1]) + 1, dtype=np.int32)
            return Part(counts, sums, None, place, None, counts.shape[1], student)
        found = Arrangement.of(counts, sums)
        own = None if sums is None else sums[found.rows]
        return Part(counts[found.rows], own, found.weight, found.place, None, counts.shape[1])

    @property
    def n_students(self) -> int:
        return len(self.place)

    def evaluate(self, tables: Tables, nodes: Nodes) -> Expected:
        """Part of the whole that comes from these students."""
        found = self._engine(self.counts).evaluate(self._tables(tables), nodes)
        if self.own is None:
            return found
        counts = np.zeros_like(tables.cells)
        counts[self.own] = found.counts
        return replace(found, counts=counts)

    def moments(self, tables: Tables, nodes: Nodes, *, pieces: bool = False) -> Moments:
        found = self._engine(self.counts).moments(self._tables(tables), nodes, pieces=pieces)
        return found if self.student is not None else found.of(self.place)

    def posteriors(self, tables: Tables, nodes: Nodes) -> Iterator[tuple[slice, Array, Array]]:
        """As of an engine, in the students' own order."""
        counts, sums = self.counts, self.sums
        if self.student is None:
            counts, sums = counts[self.place], None if sums is None else sums[self.place]
        return replace(self, sums=sums, weight=None)._engine(counts).posteriors(self._tables(tables), nodes)

    def scores(self, tables: Tables, nodes: Nodes, scores: CellScores, weights: Weighting) -> Summed:
        found = self._engine(self._among_all()).scores(tables, nodes, scores, weights)
        return found if self.student is not None else taken_sums(found, self.place)

    def covariance(self, tables: Tables, nodes: Nodes, scores: CellScores) -> Matrix:
        return self._engine(self._among_all()).covariance(tables, nodes, scores)

    def add_covariances(self, tables: Tables, nodes: Nodes, scores: CellScores, totals: list[Array]) -> None:
        self._engine(self._among_all()).add_covariances(tables, nodes, scores, totals)

    def _engine(self, counts: sparse.csr_array) -> CompiledEngine | PieceEngine:
        if self.student is not None:
            return PieceEngine(counts, self.sums, self.student)
        return CompiledEngine(counts, self.sums, weight=self.weight)

    def _tables(self, tables: Tables) -> Tables:
        return tables if self.own is None else replace(tables, cells=tables.cells[self.own])

    def _among_all(self) -> sparse.csr_array:
        """Counts of cells by their places among all, as scores have them."""
        if self.own is None:
            return self.counts
        counts, shape = self.counts, (self.counts.shape[0], self.n_cells)
        return sparse.csr_array((counts.data, self.own[counts.indices], counts.indptr), shape=shape)

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
    d_piece = None if one.d_piece is None or other.d_piece is None else one.d_piece + other.d_piece
    return Expected(one.loglik + other.loglik, one.counts + other.counts, linear, d_piece)


class DiskEngine:
    """Evaluates tables part by part."""

    def __init__(self, parts: list[Part]) -> None:
        self._parts = parts

    @property
    def n_students(self) -> int:
        return sum(part.n_students for part in self._parts)

    def evaluate(self, tables: Tables, nodes: Nodes) -> Expected:
        return reduce(add, (part.evaluate(tables, nodes) for part in self._each()))

    def moments(self, tables: Tables, nodes: Nodes, *, pieces: bool = False) -> Moments:
        return Moments.joined(part.moments(tables, nodes, pieces=pieces) for part in self._each())

    def posteriors(self, tables: Tables, nodes: Nodes) -> Iterator[tuple[slice, Array, Array]]:
        first = 0
        for part in self._each():
            for some, posterior, loglik in part.posteriors(tables, nodes):
                stop = min(some.stop, part.n_students)
                yield slice(first + some.start, first + stop), posterior, loglik
            first += part.n_students

    def scores(self, tables: Tables, nodes: Nodes, scores: CellScores, weights: Weighting) -> Summed:
        return Summed.joined(part.scores(tables, nodes, scores, weights) for part in self._each())

    def covariance(self, tables: Tables, nodes: Nodes, scores: CellScores) -> Matrix:
        if scores.n_parameters > DENSE:
            return reduce(operator.add, (part.covariance(tables, nodes, scores) for part in self._each()))
        # In the same matrices all along: to make and add them up takes longer than going over a part.
        totals = full_totals(scores.n_parameters, available_cores())
        for part in self._each():
            part.add_covariances(tables, nodes, scores, totals)
        return full_covariance(totals)

    def _each(self) -> Iterator[Part]:
        """Part after part, of which memory holds one."""
        for part in self._parts:
            yield part
            part.forget()


def by_parts(
    ratings: StoredRatings, contexts: Contexts, grouping: Grouping, *, pieces: bool = False
) -> tuple[DiskEngine, Kinds | None]:
    """An engine over the parts of a packed file, and what kinds its cells are."""
    scratch, parts, kinds = Scratch(), [], []
    for part in ratings.parts():
        found, own = bound_part(part, contexts, grouping, pieces)
        parts.append(found.on_disk(scratch))
        kinds.append(own)
    whole = Kinds.merged(kinds)
    return DiskEngine([among(whole, part, own) for part, own in zip(parts, kinds, strict=True)]), whole


def bound_part(
    ratings: Ratings, contexts: Contexts, grouping: Grouping, pieces: bool
) -> tuple[Part, Kinds | None]:
    """Students whose cells are those that occur among them."""
    found, student = grouped_by(ratings, contexts, grouping, pieces)
    return Part.of(found.counts, found.sums, student), found.kinds


def among(whole: Kinds | None, part: Part, own: Kinds | None) -> Part:
    """The part with its kinds known by their places among all."""
    if whole is None or own is None:
        return part
    everyone = part.counts.shape[1] - len(own.keys)  # a cell that is no kind, and stands last
    n_cells = len(whole.keys) + everyone
    if len(own.keys) == len(whole.keys):
        return replace(part, own=None, n_cells=n_cells)
    places = np.append(np.searchsorted(whole.keys, own.keys), np.arange(len(whole.keys), n_cells))
    return replace(part, own=places, n_cells=n_cells)


def _kept(matrix: sparse.csr_array, scratch: Scratch) -> sparse.csr_array:
    arrays = tuple(scratch.keep(array) for array in (matrix.data, matrix.indices, matrix.indptr))
    return sparse.csr_array(arrays, shape=matrix.shape, copy=False)
