"""Sparse matrices put together from columns and values."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from raterlens.base.types import Array


def stacked(
    groups: list[tuple[list[tuple[NDArray[np.int64], Array]], Array]], width: int
) -> sparse.csr_array:
    """Rows of each group of (columns, values), every row as often as there are levers, times each of them."""
    indices, values, lengths = [], [], []
    for part, lever in groups:
        columns, value = (np.stack(each, axis=1) for each in zip(*part, strict=True))
        indices.append(np.repeat(columns, len(lever), axis=0).ravel())
        values.append((value[:, None, :] * lever[:, None]).ravel())
        lengths.append(np.full(len(columns) * len(lever), len(part)))
    begin = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    found = np.concatenate(values), np.concatenate(indices), begin
    return sparse.csr_array(found, shape=(len(begin) - 1, width))


def placed(matrix: sparse.csr_array, columns: slice, width: int) -> sparse.csr_array:
    """`matrix` in these columns of a wider one."""
    coo = matrix.tocoo()
    return sparse.csr_array((coo.data, (coo.row, coo.col + columns.start)), shape=(matrix.shape[0], width))


def symmetric(row: NDArray[np.int64], column: NDArray[np.int64], value: Array, size: int) -> sparse.csr_array:
    half = sparse.csr_array((value, (row, column)), shape=(size, size))
    return half + half.T
