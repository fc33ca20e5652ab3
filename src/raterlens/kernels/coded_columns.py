"""Columns of one number per rating, for large data: codes by a table, and rows that repeat another
(`c/coded_columns.c`).

The readable twins are in `reading/levels.py`, `reading/repeated_rows.py` and `ratings/coded.py`.
"""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from raterlens.kernels.library import (
    Doubles,
    Integer,
    Ints,
    Longs,
    Shorts,
    inside,
    kernel,
    refuse_unless,
    same,
)
from raterlens.kernels.student_spans import student_spans
from raterlens.parallel.threads import in_threads, spans
from raterlens.types import Array, Indices

# Rows of a student up to which each is compared with each.
_MOST = 256

_show_ints = kernel("show_ints", Ints, Integer, Integer, Integer, Longs)
_show_longs = kernel("show_longs", Longs, Integer, Integer, Integer, Longs)
_look_up_ints = kernel("look_up_ints", Ints, Integer, Integer, Ints, Ints)
_look_up_longs = kernel("look_up_longs", Longs, Integer, Integer, Ints, Ints)
_any_alike = kernel(
    *("any_alike", Integer, Integer, Ints, Integer, ctypes.c_void_p, Longs, Integer, Longs),
    returns=ctypes.c_int32,
)
_tally_students = kernel(
    "tally_students", Integer, Integer, Ints, Shorts, Longs, Doubles, returns=ctypes.c_int32
)
_count_cells = kernel("count_cells", Integer, Integer, Ints, Ints, Integer, Shorts, Integer, Longs)


def show_rows(values: NDArray[Any], lowest: int, offset: int, shown_in: Indices) -> None:
    """For each value that occurs and has no row so far, one that shows it, at `value - lowest`; rows are counted from
    `offset`."""
    refuse_unless(_in_table(values, lowest, len(shown_in)), "numbers of a column")
    show = _show_ints if values.dtype == np.int32 else _show_longs
    show(values, len(values), lowest, offset, shown_in)


def look_up(values: NDArray[Any], lowest: int, table: NDArray[np.int32], codes: NDArray[np.int32]) -> None:
    """What stands in the table at `value - lowest`."""
    fitting = same(len(values), len(codes)) and _in_table(values, lowest, len(table))
    refuse_unless(fitting, "numbers of a column")
    find = _look_up_ints if values.dtype == np.int32 else _look_up_longs
    find(values, len(values), lowest, table, codes)


def _in_table(values: NDArray[Any], lowest: int, size: int) -> bool:
    return not len(values) or lowest <= int(values.min()) <= int(values.max()) < lowest + size


def counted_cells(
    rater: NDArray[np.int32],
    item: NDArray[np.int32],
    n_items: int,
    score: NDArray[np.int16],
    k: int,
    size: int,
) -> Indices:
    """(size,) how often `(rater x items + item) x k + score` occurs."""
    rater, item, score = Ints.of(rater), Ints.of(item), Shorts.of(score)
    fitting = same(len(rater), len(item), len(score)) and inside(rater, size // (n_items * k))
    refuse_unless(fitting and inside(item, n_items) and inside(score, k), "ratings and their cells")

    def part(span: tuple[int, int]) -> Indices:
        times = np.zeros(size, dtype=np.int64)
        _count_cells(*span, rater, item, n_items, score, k, times)
        return times

    return np.asarray(np.sum(in_threads(part, spans(len(rater))), axis=0))


def tallied_students(
    student: NDArray[np.int32], score: NDArray[np.int16], n_students: int
) -> tuple[Indices, Array] | None:
    """(students,) how many ratings each has, and the sum of their scores; None where students do not stand in order."""
    student, score = Ints.of(student), Shorts.of(score)
    refuse_unless(same(len(student), len(score)) and inside(student, n_students), "students and their scores")
    given, total = np.zeros(n_students, dtype=np.int64), np.zeros(n_students)

    def part(span: tuple[int, int]) -> bool:
        return bool(_tally_students(*span, student, score, given, total))

    return (given, total) if all(in_threads(part, student_spans(student))) else None


def none_alike(student: NDArray[np.int32], others: Sequence[NDArray[Any]]) -> bool:
    """Whether it is certain that no two rows have the same student and the same other codes: where students stand in
    order, and have few rows each."""
    columns = [Ints.of(codes) for codes in others]
    refuse_unless(same(len(student), *map(len, columns)), "columns")
    addresses = (ctypes.c_void_p * len(columns))(*map(Ints.address, columns))
    sizes = np.array([int(codes.max(initial=0)) + 1 for codes in columns], dtype=np.int64)

    def alike(span: tuple[int, int]) -> int:
        keys = np.empty(_MOST, dtype=np.int64)
        return int(_any_alike(*span, student, len(columns), addresses, sizes, _MOST, keys))

    return all(found == 0 for found in in_threads(alike, student_spans(student)))
