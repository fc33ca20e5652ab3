"""Rows of tables: the pairs within runs of rows (`c/pairs.c`), and the ends of sorted rows (`c/row_ends.c`).

The readable twin of the pairs is in `diagnostics/agreement.py`; NumPy's sort is that of the ends.
"""

import numpy as np

from raterlens.base.arrays import Array, Indices
from raterlens.kernels.library import (
    Doubles,
    Integer,
    Longs,
    Real,
    begin_within,
    kernel,
    refuse_unless,
)

_fill_pairs = kernel("fill_pairs", Longs, Longs, Integer, Longs, Longs)


def pairs(order: Indices, first: Indices) -> tuple[Indices, Indices]:
    """Every two rows of the same run: those next to each other first, run after run."""
    refuse_unless(begin_within(first, len(order)), "runs of rows")
    size = np.diff(first)
    one, two = np.empty((2, int(np.sum(size * (size - 1) // 2))), np.int64)
    _fill_pairs(Longs.of(order), Longs.of(first), len(size), one, two)
    return one, two


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
