"""Rows sorted by their codes, and runs of equal codes, for large data.

The readable twin is `diagnostics/grouping.py`.
"""

import numpy as np
from numpy.typing import NDArray

from raterlens.kernels.compiling import compiled
from raterlens.types import Indices


def sorted_rows(codes: NDArray[np.integer], n: int) -> Indices:
    """Rows in the order of their codes (0 .. n - 1), equal ones as they came."""
    order = np.empty(len(codes), np.int64)
    _sort(codes, np.zeros(n + 1, np.int64), np.empty(0, np.int64), order)
    return order


def sorted_by_two(one: NDArray[np.integer], n_one: int, two: NDArray[np.integer], n_two: int) -> Indices:
    """Rows in the order of the first code, then of the second."""
    if _is_sorted(one, two):
        return np.arange(len(one))
    order = np.empty(len(one), np.int64)
    _sort(one, np.zeros(n_one + 1, np.int64), sorted_rows(two, n_two), order)
    return order


def runs(order: Indices, one: NDArray[np.integer], two: NDArray[np.integer]) -> tuple[Indices, Indices]:
    """Where a new pair of codes begins in the order, with the end, and the number of its pair for every row."""
    first, of_row = np.empty(len(order) + 1, np.int64), np.empty(len(order), np.int64)
    n = _runs(order, one, two, first, of_row)
    return first[: n + 1].copy(), of_row


@compiled()
def _sort(codes, place, rows, order):  # type: ignore[no-untyped-def]
    """order <- `rows` (all as they came, where there are none) by their codes."""
    for code in codes:
        place[code + 1] += 1
    for code in range(1, len(place)):
        place[code] += place[code - 1]
    for i in range(len(codes)):
        row = rows[i] if len(rows) > 0 else i
        code = codes[row]
        order[place[code]] = row
        place[code] += 1


@compiled()
def _is_sorted(one, two):  # type: ignore[no-untyped-def]
    for i in range(1, len(one)):  # noqa: SIM110 - numba compiles no generators
        if one[i] < one[i - 1] or (one[i] == one[i - 1] and two[i] < two[i - 1]):
            return False
    return True


@compiled()
def _runs(order, one, two, first, of_row):  # type: ignore[no-untyped-def]
    n = 0
    for i in range(len(order)):
        row = order[i]
        if i == 0 or one[row] != one[order[i - 1]] or two[row] != two[order[i - 1]]:
            first[n] = i
            n += 1
        of_row[row] = n - 1
    first[n] = len(order)
    return n
