"""Sparse matrices as kernels take them."""

from dataclasses import dataclass

from scipy import sparse

from raterlens.base.arrays import Array, Indices
from raterlens.kernels.library import Doubles, Ints, Longs, begin_within, inside, refuse_unless, same


@dataclass(frozen=True, slots=True, eq=False)
class SparseRows:
    """Nonzero numbers row by row: where each row begins, their columns, the numbers."""

    indptr: Indices
    indices: Indices
    data: Array
    shape: tuple[int, int]

    @staticmethod
    def of(matrix: sparse.csr_array) -> "SparseRows":
        (n_rows, n_columns), stored = matrix.shape, len(matrix.indices)
        whole = same(len(matrix.indptr), n_rows + 1) and same(stored, len(matrix.data))
        whole = whole and begin_within(matrix.indptr, stored) and inside(matrix.indices, n_columns)
        refuse_unless(whole, "a sparse matrix")
        return SparseRows(
            Longs.of(matrix.indptr), Ints.of(matrix.indices), Doubles.of(matrix.data), (n_rows, n_columns)
        )

    @property
    def arrays(self) -> tuple[Indices, Indices, Array]:
        """As arguments."""
        return self.indptr, self.indices, self.data

    def addresses(self) -> tuple[int | None, int | None, int | None]:
        """For the fields of a record; this has to outlive it."""
        return Longs.address(self.indptr), Ints.address(self.indices), Doubles.address(self.data)
