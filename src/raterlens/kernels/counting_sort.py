"""Rows sorted by their codes, runs of equal codes and pairs within runs, for large data (`c/counting_sort.c`).

The readable twins are in `ratings/grouping.py` and `diagnostics/agreement.py`.
"""

import ctypes

import numpy as np
from numpy.typing import NDArray

from raterlens.base.arrays import Indices
from raterlens.kernels.library import Integer, Ints, Longs, begin_within, inside, kernel, refuse_unless, same

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
