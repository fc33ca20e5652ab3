"""Columns of one number per rating, for large data: codes by a table, rows that repeat another (`c/coded_columns.c`),
rows sorted by their codes and runs of equal codes (`c/counting_sort.c`), ends of sorted rows (`c/row_ends.c`), and
pages of parquet files (`c/parquet_pages.c`).

The readable twins are in `reading/labels.py`, `reading/duplicates.py`, `ratings/coded.py`, `ratings/groupings.py`,
`diagnostics/agreement.py` and `reading/formats/parquet.py`.
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
    Real,
    Shorts,
    begin_within,
    inside,
    kernel,
    refuse_unless,
    same,
    student_spans,
)

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


_sort_rows = kernel("sort_rows", Ints, Integer, Integer, Longs, Longs, Longs)
_is_sorted = kernel("is_sorted", Ints, Ints, Integer, returns=ctypes.c_int32)
_fill_pairs = kernel("fill_pairs", Longs, Longs, Integer, Longs, Longs)
_find_runs = kernel("find_runs", Longs, Integer, Ints, Ints, Longs, Longs, returns=Integer)


def sorted_rows(codes: NDArray[np.integer], n: int) -> Indices:
    """Rows in the order of their codes (0 .. n - 1), equal ones as they came."""
    return _sorted(codes, n, None)


def sorted_by_two(one: NDArray[np.integer], n_one: int, two: NDArray[np.integer], n_two: int) -> Indices:
    """Rows in the order of the first code, then of the second."""
    one, two = Ints.of(one), Ints.of(two)
    refuse_unless(same(len(one), len(two)), "codes of different lengths")
    if _is_sorted(one, two, len(one)):
        return np.arange(len(one))
    return _sorted(one, n_one, sorted_rows(two, n_two))


def runs(order: Indices, one: NDArray[np.integer], two: NDArray[np.integer]) -> tuple[Indices, Indices]:
    """Where a new pair of codes begins in the order, with the end, and the number of its pair for every row."""
    refuse_unless(same(len(order), len(one), len(two)) and inside(order, len(order)), "rows to be gone over")
    first, of_row = np.empty(len(order) + 1, np.int64), np.empty(len(order), np.int64)
    n = _find_runs(Longs.of(order), len(order), Ints.of(one), Ints.of(two), first, of_row)
    return first[: n + 1].copy(), of_row


def pairs(order: Indices, first: Indices) -> tuple[Indices, Indices]:
    """Every two rows of the same run: those next to each other first, run after run."""
    refuse_unless(begin_within(first, len(order)), "runs of rows")
    size = np.diff(first)
    one, two = np.empty((2, int(np.sum(size * (size - 1) // 2))), np.int64)
    _fill_pairs(Longs.of(order), Longs.of(first), len(size), one, two)
    return one, two


def _sorted(codes: NDArray[np.integer], n: int, rows: Indices | None) -> Indices:
    refuse_unless(inside(codes, n), "codes to be sorted")
    order = np.empty(len(codes), np.int64)
    _sort_rows(Ints.of(codes), len(codes), n, np.zeros(n + 1, np.int64), rows, order)
    return order


_row_ends = kernel("row_ends", *[Integer] * 4, Real, Doubles, Doubles)


def smallest(values: Array, few: int) -> Array:
    """(rows, few): of each row, in increasing order."""
    return _ends(values, few, 1.0)


def largest(values: Array, few: int) -> Array:
    """(rows, few): of each row, in decreasing order."""
    return _ends(values, few, -1.0)


def _ends(values: Array, few: int, sign: float) -> Array:
    values = Doubles.of(values)
    refuse_unless(values.ndim == 2 and 0 < few <= values.shape[1], "numbers of a row")
    out = np.empty((len(values), few))
    _row_ends(0, *values.shape, few, sign, values, out)
    return out


_page_values = kernel("page_values", Bytes, *[Integer] * 3, returns=Integer)


def page_values(content: NDArray[np.int8], start: int, end: int, most: int) -> int | None:
    """How many values the pages from byte `start` to `end` hold, none of which may have more than `most` bytes; None
    where they have to be looked at more closely."""
    refuse_unless(0 <= start <= end <= len(content), "pages of a file")
    found = int(_page_values(content, start, end, most))
    return found if found >= 0 else None
