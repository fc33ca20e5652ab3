"""Sparse matrices as kernels take them."""

from scipy import sparse

from raterlens.kernels.library import Doubles, Ints, Longs
from raterlens.records import dataclass
from raterlens.types import Array, Indices


@dataclass(frozen=True, slots=True, eq=False)
class SparseRows:
    """Nonzero numbers row by row: where each row begins, their columns, the numbers."""

    indptr: Indices
    indices: Indices
    data: Array

    @staticmethod
    def of(matrix: sparse.csr_array) -> "SparseRows":
        return SparseRows(Longs.of(matrix.indptr), Ints.of(matrix.indices), Doubles.of(matrix.data))

    def addresses(self) -> tuple[int | None, int | None, int | None]:
        """For the fields of a record; this has to outlive it."""
        return Longs.address(self.indptr), Ints.address(self.indices), Doubles.address(self.data)
