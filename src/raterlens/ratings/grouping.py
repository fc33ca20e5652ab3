"""Rows put together by what they share, in linear time.

Large data go through compiled code (`kernels/coded_columns.py`); a test holds it to the readable code here.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from raterlens.base.arrays import Indices
from raterlens.kernels.break_even import compiled_code_pays

_PER_RATING = 300


def large(n_ratings: int) -> bool:
    """Whether diagnostics of this many ratings are worth compiled code."""
    return compiled_code_pays(n_ratings * _PER_RATING)


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Rows that share two codes, groups sorted by the first, then the second."""

    order: Indices
    """(rows,) the rows, group after group, within a group as they came"""
    first: Indices
    """(groups + 1,) where each group begins in `order`, and the end"""
    of_row: Indices
    """(rows,) the group of each row"""

    def __len__(self) -> int:
        return len(self.first) - 1

    @property
    def example(self) -> Indices:
        """(groups,) the first row of each"""
        return self.order[self.first[:-1]]

    @property
    def size(self) -> Indices:
        return np.diff(self.first)


def order_of(codes: NDArray[np.integer], n: int) -> Indices:
    """Rows in the order of their codes (0 .. n - 1), equal ones as they came: `argsort`, by counting.

    Examples
    --------
    >>> order_of(np.array([1, 0, 1, 0]), 2)
    array([1, 3, 0, 2])
    """
    if large(len(codes)):
        from raterlens.kernels.coded_columns import sorted_rows  # may be missing

        return sorted_rows(codes, n)
    rows = np.arange(len(codes))
    # Turning coordinates into compressed rows is a counting sort.
    return np.asarray(sparse.csr_array((rows, (codes, rows)), shape=(n, len(codes))).data)


def order_of_two(one: NDArray[np.integer], n_one: int, two: NDArray[np.integer], n_two: int) -> Indices:
    """Rows in the order of the first code, then of the second, equal ones as they came.

    Examples
    --------
    >>> order_of_two(np.array([1, 0, 1, 1]), 2, np.array([0, 0, 1, 0]), 2)
    array([1, 0, 3, 2])
    """
    if large(len(one)):
        from raterlens.kernels.coded_columns import sorted_by_two  # may be missing

        return sorted_by_two(one, n_one, two, n_two)
    if np.all((one[1:] > one[:-1]) | ((one[1:] == one[:-1]) & (two[1:] >= two[:-1]))):
        return np.arange(len(one))
    order = order_of(two, n_two)
    return order[order_of(one[order], n_one)]


def grouped(one: NDArray[np.integer], n_one: int, two: NDArray[np.integer], n_two: int) -> Groups:
    """Put rows with the same two codes together.

    Examples
    --------
    >>> found = grouped(np.array([1, 0, 1, 1]), 2, np.array([0, 0, 1, 0]), 2)
    >>> found.of_row, found.size, found.example
    (array([1, 0, 2, 1]), array([1, 2, 1]), array([1, 0, 2]))
    """
    order = order_of_two(one, n_one, two, n_two)
    if large(len(one)):
        from raterlens.kernels.coded_columns import runs  # may be missing

        return Groups(order, *runs(order, one, two))
    first, second = one[order], two[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    of_row = np.empty(len(order), np.int64)
    of_row[order] = np.cumsum(new) - 1
    return Groups(order, np.append(np.flatnonzero(new), len(order)), of_row)
