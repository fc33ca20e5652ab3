"""Symmetric matrices: of which one half was computed, or which rounding has left a little asymmetric."""

import numpy as np

from raterlens.types import Array

_BLOCK = 128


def mirrored(half: Array) -> Array:
    """Made symmetric in its place: of the matrix one half is given, and nothing on the other side of the diagonal."""
    diagonal = half.diagonal().copy()
    # In blocks, which stay in the cache: going over whole columns would read a cache line for every number.
    for rows in _blocks(len(half)):
        for columns in _blocks(rows.stop):
            both = half[rows, columns] + half[columns, rows].T
            half[rows, columns], half[columns, rows] = both, both.T
    np.fill_diagonal(half, diagonal)
    return half


def averaged(matrix: Array) -> Array:
    """With its transpose, in its place: rounding can leave a matrix a little asymmetric."""
    for rows in _blocks(len(matrix)):
        for columns in _blocks(rows.stop):
            both = (matrix[rows, columns] + matrix[columns, rows].T) / 2
            matrix[rows, columns], matrix[columns, rows] = both, both.T
    return matrix


def _blocks(size: int) -> list[slice]:
    return [slice(first, min(first + _BLOCK, size)) for first in range(0, size, _BLOCK)]
