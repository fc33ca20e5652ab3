"""Exponentials and logarithms of whole arrays, in vectors of the processor (`c/exponential.c`), and sparse matrices as
kernels take them."""

from dataclasses import dataclass

from scipy import sparse

from raterlens.base.arrays import Array, Indices
from raterlens.kernels.library import (
    Doubles,
    Integer,
    Ints,
    Longs,
    Real,
    begin_within,
    inside,
    kernel,
    refuse_unless,
    same,
)

# Arrays are padded to whole vectors of the processor, unrolled.
LANE = 16

_exponentials = kernel("exponentials", Doubles, Integer, Real)
_logarithms = kernel("logarithms", Doubles, Integer)


def padded(size: int) -> int:
    """The next whole number of vectors."""
    return -(-size // LANE) * LANE


def exponentials(x: Array, top: float) -> None:
    """x <- exp(x - top), in place, where x is at most `top`; as if it were -708 where it is less."""
    _exponentials(x, x.size, top)


def logarithms(x: Array) -> None:
    """x <- log(x), in place, of positive normal numbers."""
    _logarithms(x, x.size)


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
