"""Ratings of students in order, in groups, and rows of sparse matrices, for large data (`c/student_groups.c`).

The readable twins are in `likelihood/cells.py` and `likelihood/engines/compiled.py`.
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from raterlens.base.arrays import Array, Indices
from raterlens.base.threads import in_threads, spans
from raterlens.kernels.library import (
    Bytes,
    Doubles,
    Integer,
    Ints,
    Longs,
    Shorts,
    Struct,
    Values,
    begin_within,
    inside,
    kernel,
    refuse_unless,
    same,
    student_spans,
)

Codes = NDArray[np.int32]
Keys = NDArray[np.uint64]

_Keys = Values(np.uint64)


@dataclass(frozen=True, slots=True, eq=False)
class Rated:
    """Ratings, one entry each."""

    student: Codes
    rater: Codes
    item: Codes
    score: NDArray[np.int16]
    n_students: int
    n_items: int


@dataclass(frozen=True, slots=True, eq=False)
class StudentGroups:
    """Groups of each student, in order, row by row as in a sparse matrix."""

    indptr: Indices
    groups: Codes
    keys: Keys
    """Sum of the keys of a group's ratings."""
    totals: Array
    """Sum of their scores."""


# `Grouping` of `c/student_groups.c`.
_Grouping = Struct.of(
    *(("student rater item", Ints), ("score", Shorts), ("n_items", Integer), ("group_of", Ints)),
    *(
        ("key_of", _Keys),
        ("indptr per_student", Longs),
        ("groups", Ints),
        ("keys", _Keys),
        ("totals", Doubles),
    ),
)
_LOOK = _Grouping.pointer, Integer, Integer, Ints
_count_groups = kernel("count_groups", *_LOOK, returns=ctypes.c_int32)
_fill_groups = kernel("fill_groups", *_LOOK, returns=ctypes.c_int32)
_pair_raters = kernel(
    "pair_raters", Integer, Integer, Ints, Ints, Integer, Ints, Bytes, returns=ctypes.c_int32
)
_add_row_keys = kernel(
    "add_row_keys", Longs, Ints, Doubles, _Keys, Integer, Integer, _Keys, returns=ctypes.c_int32
)


def student_groups(rated: Rated, n_groups: int, group_of: Codes | None, key_of: Keys) -> StudentGroups | None:
    """The groups of each student's ratings, by rater or by what `group_of` says of `rater x items + item`; None where
    students do not stand in order."""
    arrays = Ints.of(rated.student), Ints.of(rated.rater), Ints.of(rated.item), Shorts.of(rated.score)
    student, rater, item, score = arrays
    of_rating = same(len(student), len(rater), len(item), len(score)) and inside(student, rated.n_students)
    of_context = inside(item, rated.n_items) and inside(rater, len(key_of) // rated.n_items)
    of_group = inside(rater, n_groups) if group_of is None else inside(group_of, n_groups)
    fitting = of_rating and of_context and of_group and (group_of is None or len(group_of) == len(key_of))
    refuse_unless(fitting, "ratings and their groups")
    shared = student_spans(student)
    per_student = np.zeros(rated.n_students, dtype=np.int64)
    known = *arrays, rated.n_items, group_of, key_of
    counting = _Grouping.filled(*known, None, per_student, None, None, None)

    def over(work: Callable[..., Any], grouping: ctypes.Structure) -> bool:
        def part(span: tuple[int, int]) -> bool:
            return bool(work(grouping, *span, np.full(n_groups, -1, dtype=np.int32)))

        return all(in_threads(part, shared))

    if not over(_count_groups, counting):
        return None
    indptr = np.zeros(rated.n_students + 1, dtype=np.int64)
    np.cumsum(per_student, out=indptr[1:])
    size = int(indptr[-1])
    found = StudentGroups(indptr, np.empty(size, np.int32), np.empty(size, np.uint64), np.empty(size))
    filling = _Grouping.filled(*known, found.indptr, None, found.groups, found.keys, found.totals)
    over(_fill_groups, filling)
    return found


def paired_raters(
    student: Codes, rater: Codes, n_students: int, n_raters: int
) -> tuple[Codes, NDArray[np.bool_]] | None:
    """(students,) one of the raters of each student, and (raters x raters,) whether one and another were raters of a
    student; None where students do not stand in order."""
    student, rater = Ints.of(student), Ints.of(rater)
    of_rating = same(len(student), len(rater)) and inside(student, n_students) and inside(rater, n_raters)
    refuse_unless(of_rating, "students and their raters")
    one, seen = np.zeros(n_students, dtype=np.int32), np.zeros(n_raters**2, dtype=np.int8)

    def part(span: tuple[int, int]) -> bool:
        return bool(_pair_raters(*span, student, rater, n_raters, one, seen))

    return (one, seen.view(np.bool_)) if all(in_threads(part, student_spans(student))) else None


def add_row_keys(matrix: sparse.csr_array, of_column: Keys, keys: Keys) -> bool:
    """To each row's key, the sum of its columns' keys, each as often as it counts. Returns whether all counts are whole
    numbers."""
    rows = indptr, indices, data = (
        Longs.of(matrix.indptr),
        Ints.of(matrix.indices),
        Doubles.of(matrix.data),
    )
    fitting = len(indptr) == len(keys) + 1 and begin_within(indptr, min(len(indices), len(data)))
    refuse_unless(fitting and inside(indices, len(of_column)), "rows and their keys")

    def part(span: tuple[int, int]) -> bool:
        return bool(_add_row_keys(*rows, of_column, *span, keys))

    return all(in_threads(part, spans(len(keys))))


def rows_matrix(
    indptr: Indices, indices: Codes, data: NDArray[Any], shape: tuple[int, int]
) -> sparse.csr_array:
    """A sparse matrix of these rows, with the same type of integers throughout: SciPy would copy them all to make it
    so."""
    begins = indptr.astype(np.int32) if indptr[-1] <= np.iinfo(np.int32).max else indptr
    return sparse.csr_array((data, indices, begins), shape=shape, copy=False)
