"""Columns of one number per rating, for large data: codes by a table, and rows that repeat another
(`c/coded_columns.c`).

The readable twins are in `reading/labels.py`, `reading/duplicates.py` and `ratings/coded.py`.
"""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from raterlens.base.arrays import Array, Indices
from raterlens.base.threads import in_threads, spans
from raterlens.kernels.library import (
    Bytes,
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

# Rows of a student up to which each is compared with each.
_MOST = 256

_show_numbers = kernel("show_numbers", Ints, Integer, Integer, Bytes)
_recode_numbers = kernel("recode_numbers", Ints, Integer, Integer, Ints)
_any_alike = kernel(
    *("any_alike", Integer, Integer, Ints, Integer, ctypes.c_void_p, Longs, Integer, Longs),
    returns=ctypes.c_int32,
)
_tally_students = kernel(
    "tally_students", Integer, Integer, Ints, Shorts, Longs, Doubles, returns=ctypes.c_int32
)
_count_cells = kernel("count_cells", Integer, Integer, Ints, Ints, Integer, Shorts, Integer, Longs)


def show_numbers(numbers: NDArray[np.int32], lowest: int, shown: NDArray[np.int8]) -> None:
    """1 for each number that occurs, at `number - lowest`."""
    refuse_unless(_in_table(numbers, lowest, len(shown)), "numbers of a column")
    _show_numbers(numbers, len(numbers), lowest, shown)


def recode_numbers(numbers: NDArray[np.int32], lowest: int, table: NDArray[np.int32]) -> None:
    """Replace each number by the table's entry at `number - lowest`."""
    refuse_unless(_in_table(numbers, lowest, len(table)), "numbers of a column")
    _recode_numbers(numbers, len(numbers), lowest, table)


def _in_table(numbers: NDArray[np.int32], lowest: int, size: int) -> bool:
    return not len(numbers) or lowest <= int(numbers.min()) <= int(numbers.max()) < lowest + size


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
