"""Ratings grouped by student-item, for models in which the ratings of a student-item belong together.

A cell is a distinct pattern: an item and which raters gave which scores, in no order (a rater may be there
twice). Time and memory are linear in the ratings.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from raterlens.base.types import Array, Indices
from raterlens.engine.numpy_engine import NumpyEngine
from raterlens.engine.protocol import Engine
from raterlens.ratings.coded import Ratings

# Students of a part. Patterns are shared within a part only: with many raters nearly every student-item has its
# own, and a table over all of them would be gone through once for every block of students.
_PART = 2**13


@dataclass(frozen=True, slots=True)
class StudentItems:
    """The rated student-items in order of student and item, and the cells they fall into."""

    student: Indices
    item: Indices
    n: Indices
    """Ratings of each student-item."""
    passes: Indices
    cell: Indices
    item_of_cell: Indices
    members: sparse.csr_array
    """(cells, raters x scores): how often a rater gave a score in the pattern."""
    edges: Indices
    """First cell of every part of students, and the number of cells."""
    known: Indices
    """(cells,): the true category where it is known, else -1."""


def student_items(ratings: Ratings, *, pooled: bool) -> StudentItems:
    """Group pass/fail ratings. `pooled`: all students in one part, for models without ability."""
    code = ratings.student.astype(np.int64) * ratings.n_items + ratings.item
    order = np.argsort(code, kind="stable")
    first = np.flatnonzero(np.diff(code[order], prepend=-1))
    student, item = np.divmod(code[order[first]], ratings.n_items)
    part = np.zeros_like(student) if pooled else student // _PART
    answer = ratings.rater.astype(np.int64) * 2 + ratings.score
    # A multiset is known by the sum of its members' random 64-bit keys (two differ with probability 1 - 2^-64).
    keys = np.random.default_rng(0).integers(2**64, size=2 * ratings.n_raters, dtype=np.uint64)
    pattern = np.add.reduceat(keys[answer[order]], first)
    known = known_categories(ratings, student, item)
    by_pattern = np.lexsort((known, pattern, item, part))
    fresh = np.zeros(len(student), dtype=bool)
    fresh[0] = True
    for key in (known, pattern, item, part):
        fresh[1:] |= key[by_pattern][1:] != key[by_pattern][:-1]
    cell = np.empty_like(student)
    cell[by_pattern] = np.cumsum(fresh) - 1
    shown = by_pattern[fresh]
    length = np.diff(first, append=len(code))
    return StudentItems(
        student,
        item,
        length,
        np.add.reduceat(ratings.score[order].astype(np.int64), first),
        cell,
        item[shown],
        _members(answer[order], first[shown], length[shown], 2 * ratings.n_raters),
        np.searchsorted(part[shown], np.arange(part[-1] + 2)),
        known[shown],
    )


def known_categories(ratings: Ratings, student: NDArray[np.integer], item: NDArray[np.integer]) -> Indices:
    """(student-items,): the true category where it is known, else -1."""
    found, known = np.full(len(student), -1), ratings.known
    if known is not None:
        code = known.student.astype(np.int64) * ratings.n_items + known.item
        own = student.astype(np.int64) * ratings.n_items + item
        place = np.minimum(np.searchsorted(code, own), len(code) - 1)
        found = np.where(code[place] == own, known.answer[place], -1)
    return np.asarray(found, dtype=np.int64)


def as_known(log_given: Array, known: Indices) -> Array:
    """(cells, categories): log-probabilities of ratings, none where the category is known to be the other one."""
    for category in (0, 1):
        log_given[known == category, 1 - category] = -np.inf
    return log_given


def _members(answer: Indices, first: Indices, length: Indices, n_answers: int) -> sparse.csr_array:
    """Spell out each pattern from the one student-item that shows it."""
    indptr = np.concatenate([[0], np.cumsum(length)])
    place = np.repeat(first - indptr[:-1], length) + np.arange(indptr[-1])
    members = sparse.csr_array((np.ones(len(place)), answer[place], indptr), shape=(len(first), n_answers))
    members.sum_duplicates()
    return members


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the students, with cells of their own."""

    students: slice
    cells: slice
    item: Indices
    """Of each cell."""
    members: sparse.csr_array
    """(cells, raters x scores)"""
    of_item: sparse.csr_array
    """(items, cells): 1 where the cell is one of the item."""
    known: Indices
    """(cells,): the true category where it is known, else -1."""
    engine: Engine


def split(units: StudentItems, n_students: int, n_items: int) -> list[Part]:
    """Parts of the students, small enough for their tables to stay in cache."""
    found = []
    for number, (low, high) in enumerate(zip(units.edges[:-1], units.edges[1:], strict=True)):
        students = slice(number * _PART, min((number + 1) * _PART, n_students))
        rows = slice(*np.searchsorted(units.student, [students.start, students.stop]))
        place = (units.student[rows] - students.start, units.cell[rows] - low)
        shape = (students.stop - students.start, high - low)
        counts = sparse.coo_array((np.ones(len(place[0])), place), shape=shape).tocsr()
        found.append(_part(units, students, slice(int(low), int(high)), counts, n_items))
    return found


def pool(units: StudentItems, n_students: int, n_items: int) -> list[Part]:
    """One part, in which all student-items are those of a single student: for models without ability."""
    frequency = np.bincount(units.cell, minlength=len(units.item_of_cell)).astype(float)
    counts = sparse.csr_array(frequency[None])
    return [_part(units, slice(0, n_students), slice(0, len(frequency)), counts, n_items)]


def _part(units: StudentItems, students: slice, cells: slice, counts: sparse.csr_array, n_items: int) -> Part:
    item = units.item_of_cell[cells]
    n = len(item)
    of_item = sparse.csr_array((np.ones(n), (item, np.arange(n))), shape=(n_items, n))
    return Part(students, cells, item, units.members[cells], of_item, units.known[cells], NumpyEngine(counts))
