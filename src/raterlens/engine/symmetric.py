"""Symmetric matrices: of which one half was computed, or which rounding has left a little asymmetric."""

import numpy as np

from raterlens.base.types import Array

_BLOCK = 128


def mirrored(upper: Array) -> Array:
    """Made symmetric in its place by what stands above the diagonal."""
    # In blocks, which stay in the cache: going over whole columns would read a cache line for every number.
    for rows in _blocks(len(upper)):
        for columns in _blocks(rows.start):
            upper[rows, columns] = upper[columns, rows].T
        own = upper[rows, rows]
        own[...] = np.triu(own) + np.triu(own, 1).T
    return upper


def averaged(matrix: Array) -> Array:
    """With its transpose, in its place: rounding can leave a matrix a little asymmetric."""
    for rows in _blocks(len(matrix)):
        for columns in _blocks(rows.stop):
            both = (matrix[rows, columns] + matrix[columns, rows].T) / 2
            matrix[rows, columns], matrix[columns, rows] = both, both.T
    return matrix


def _blocks(size: int) -> list[slice]:
    return [slice(first, min(first + _BLOCK, size)) for first in range(0, size, _BLOCK)]
