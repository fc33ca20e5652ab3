"""Students as compiled code goes over them: those with the same ratings once, and in an order that suits the cache."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from raterlens.base.types import Array, Indices
from raterlens.kernels.break_even import compiled_code_pays

# Students are merged where fewer than this share of them are different: looking a student up has its price, too.
_WORTH = 0.8
# Cells that are kept together at least.
_BLOCK = 32


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Rows to go over, each of them for one student or for several who cannot be told apart."""

    rows: Indices
    """(rows,): one of the students that a row stands for."""
    weight: Array | None
    """(rows,): how many they are; None where each row is one student."""
    place: NDArray[np.int32]
    """(students,): the row of each."""

    @staticmethod
    def of(counts: sparse.csr_array, sums: sparse.csr_array | None) -> "Arrangement":
        key = _keys(counts, sums)
        if key is None or pl.Series(key).n_unique() > _WORTH * len(key):
            order = neighbours(counts)
            return Arrangement(order, None, _inverse(order))
        _, first, member, times = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
        order = neighbours(counts[first])
        return Arrangement(first[order], times[order].astype(np.float64), _inverse(order)[member])


def taken(matrix: sparse.csr_array, rows: NDArray[np.integer]) -> sparse.csr_array:
    """`matrix[rows]`"""
    if not compiled_code_pays(matrix.nnz):
        return sparse.csr_array(matrix[rows])
    from raterlens.kernels.student_groups import taken_rows  # may be missing

    return taken_rows(matrix, rows)


def _keys(*matrices: sparse.csr_array | None) -> NDArray[np.uint64] | None:
    """(rows,) a number that rows share where they are the same, and others with probability 2^-64 or little more; None
    where not all entries are whole numbers."""
    present = [matrix for matrix in matrices if matrix is not None]
    random, keys = np.random.default_rng(0), np.zeros(present[0].shape[0], dtype=np.uint64)
    add = _add_keys
    if compiled_code_pays(sum(matrix.nnz for matrix in present)):
        from raterlens.kernels.student_groups import add_row_keys as add  # may be missing
    of_columns = (random.integers(2**64, size=matrix.shape[1], dtype=np.uint64) for matrix in present)
    whole = all(add(matrix, of_column, keys) for matrix, of_column in zip(present, of_columns, strict=True))
    return keys if whole else None


def _add_keys(matrix: sparse.csr_array, of_column: NDArray[np.uint64], keys: NDArray[np.uint64]) -> bool:
    """To each row's key the sum of its columns' keys, as often as they count; False where one counts in part."""
    whole = matrix.data.astype(np.uint64)
    if not np.array_equal(whole, matrix.data):
        return False
    total = np.zeros(matrix.nnz + 1, dtype=np.uint64)
    np.cumsum(of_column[matrix.indices] * whole, out=total[1:])
    keys += total[matrix.indptr[1:]] - total[matrix.indptr[:-1]]
    return True


def _inverse(order: Indices) -> NDArray[np.int32]:
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return place


def neighbours(counts: sparse.csr_array) -> Indices:
    """Rows in an order in which those with cells close to each other follow each other.

    Cells are taken in blocks, the larger the fewer rows there are for each pair of blocks.
    """
    rows, cells = counts.shape
    if not counts.nnz:
        return np.arange(rows)
    block = max(_BLOCK, cells**2 // rows)
    begin = np.minimum(counts.indptr[:-1], counts.nnz - 1)
    first, last = (counts.indices[at] // block for at in (begin, counts.indptr[1:] - 1))
    blocks = cells // block + 1
    # Numbers of 16 bits are sorted without comparing them.
    kind = np.uint16 if blocks**2 <= 2**16 else np.int64
    return np.argsort((first.astype(np.int64) * blocks + last).astype(kind), kind="stable")
