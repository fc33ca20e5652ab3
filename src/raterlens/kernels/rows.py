"""The ends of sorted rows (`c/row_ends.c`): NumPy's sort is the readable twin."""

import numpy as np

from raterlens.base.arrays import Array
from raterlens.kernels.library import (
    Doubles,
    Integer,
    Real,
    kernel,
    refuse_unless,
)

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
