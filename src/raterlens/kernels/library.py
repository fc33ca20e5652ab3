"""The compiled kernels: a shared library of plain C functions, made when Raterlens is installed (`hatch_build.py`).

Functions take arrays that NumPy owns. Calling one lets go of the interpreter's lock. They trust what they are given, so
their wrappers refuse lengths that do not agree and codes out of range.

`compiled_code_pays` is the one rule by which readable code gives way to its compiled twin.
"""

import ctypes
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from raterlens.base.arrays import Array, Indices
from raterlens.base.errors import OptionError
from raterlens.base.threads import spans

if TYPE_CHECKING:
    from scipy import sparse

Integer, Real = ctypes.c_int64, ctypes.c_double
_address, _begin = ctypes.addressof, ctypes.c_char.from_buffer

# Arrays are padded to whole vectors of the processor, unrolled.
LANE = 16
# Numbers to go over, below which arranging the data and calling a kernel takes as long as the work itself.
NUMBERS = 30_000
LARGE = 100_000
"""Ratings from which on a fit without compiled code is said to be slow."""

_NAME = {"win32": "kernels.dll", "darwin": "kernels.dylib"}.get(sys.platform, "kernels.so")


class Values:
    """A type of arguments: an array without gaps of one type of numbers, or None."""

    def __init__(self, kind: type) -> None:
        self._kind = np.dtype(kind)

    def from_param(self, values: Any) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.address(values))

    def address(self, values: Any) -> int | None:
        """Address of the first number; the array has to outlive its use."""
        if values is None:
            return None
        if values.dtype != self._kind or not values.flags.c_contiguous:
            raise TypeError(f"{self._kind} values without gaps expected, not {values.dtype} {values.strides}")
        if values.size and values.flags.writeable:
            return _address(_begin(values))  # in a fifth of the time of what all arrays have
        return int(values.__array_interface__["data"][0])

    def of(self, values: Any) -> Any:
        """The values as the kernels take them: a copy only where they are of another type, or have gaps."""
        return np.ascontiguousarray(values, self._kind)


@dataclass(frozen=True, slots=True)
class Struct:
    """A C struct of numbers and arrays, by the types of its fields."""

    made: type[ctypes.Structure]
    kinds: tuple[Any, ...]

    @staticmethod
    def of(*fields: tuple[str, Any]) -> "Struct":
        """Names and types, in the order of the C code: types of arrays, `Integer` or `Real`."""
        each = [(name, kind) for names, kind in fields for name in names.split()]
        named = [(name, ctypes.c_void_p if isinstance(kind, Values) else kind) for name, kind in each]
        made = type("Struct", (ctypes.Structure,), {"_fields_": named})
        return Struct(made, tuple(kind for _, kind in each))

    @property
    def pointer(self) -> Any:
        """Type of an argument."""
        return ctypes.POINTER(self.made)

    def filled(self, *values: Any) -> ctypes.Structure:
        """The fields in their order; arrays have to outlive it."""
        pairs = zip(self.kinds, values, strict=True)
        return self.made(
            *(kind.address(value) if isinstance(kind, Values) else value for kind, value in pairs)
        )


Doubles, Longs, Ints, Shorts, Bytes = (
    Values(kind) for kind in (np.float64, np.int64, np.int32, np.int16, np.int8)
)


def refuse_unless(fits: bool, what: str) -> None:
    """Refuse arguments that would lead a kernel out of an array."""
    if not fits:
        raise ValueError(f"a kernel would leave its arrays: {what}")


def same(first: int, *others: int) -> bool:
    """Whether all lengths are the same."""
    return all(other == first for other in others)


def inside(codes: Any, n: int) -> bool:
    """Whether all codes are from 0 to n - 1: in one pass, since negative ones are the largest without a sign."""
    return codes.size == 0 or int(codes.view(f"u{codes.dtype.itemsize}").max()) < n


def begin_within(first: Any, n: int) -> bool:
    """Whether runs, of which these are the first places and the end, follow each other among n places."""
    return len(first) > 0 and first[0] >= 0 and first[-1] <= n and bool(np.all(first[1:] >= first[:-1]))


@cache
def available() -> bool:
    """Whether the kernels were compiled where Raterlens was installed."""
    return (Path(__file__).parent / _NAME).exists()


@cache
def _library() -> tuple[ctypes.CDLL, str]:
    """The library, and the level of the processor's instructions that its functions are taken for."""
    if not available():
        raise OptionError(
            "this needs compiled code, and Raterlens was installed without",
            "install it again where a C compiler or the package ziglang can be had",
        )
    library = ctypes.CDLL(str(Path(__file__).parent / _NAME))
    return library, "v3" if library.raterlens_level() == 3 else "v1"


@cache
def kernel(name: str, *arguments: Any, returns: Any = None) -> Callable[..., Any]:
    """A compiled function with the types of what it takes and gives."""
    library, level = _library()
    function = getattr(library, f"{name}_{level}")
    function.argtypes, function.restype = arguments, returns
    return function  # type: ignore[no-any-return]  # what a library has is known only when it is loaded


def student_spans(student: NDArray[np.int32]) -> list[tuple[int, int]]:
    """Consecutive stretches of rows, one per thread, none of which ends within a student.

    Students need not be in order, but kernels have to look whether they are: a search by halves ends between a smaller
    student and one that is not, so stretches that are in order each are in order together.
    """
    ends = [int(np.searchsorted(student, student[stop])) for _, stop in spans(len(student))[:-1]]
    return list(pairwise(sorted({0, *ends, len(student)})))


def compiled_code_pays(numbers: float) -> bool:
    """Whether going over this many numbers (rows x nodes x passes, roughly) is worth compiled code; not where there is
    none."""
    return numbers >= NUMBERS and available()


def missed(n_ratings: int) -> tuple[str, ...]:
    """A warning where compiled code would have helped and is not there."""
    if n_ratings < LARGE or available():
        return ()
    return (
        f"Raterlens was installed without its compiled code, so {n_ratings:,} ratings took several times as long as "
        "they need: install it again where a C compiler or the package ziglang can be had",
    )


def padded(size: int) -> int:
    """The next whole number of vectors."""
    return -(-size // LANE) * LANE


@dataclass(frozen=True, slots=True, eq=False)
class SparseRows:
    """Nonzero numbers row by row: where each row begins, their columns, the numbers."""

    indptr: Indices
    indices: Indices
    data: Array
    shape: tuple[int, int]

    @staticmethod
    def of(matrix: "sparse.csr_array") -> "SparseRows":
        (n_rows, n_columns), stored = matrix.shape, len(matrix.indices)
        whole = same(len(matrix.indptr), n_rows + 1) and same(stored, len(matrix.data))
        whole = whole and begin_within(matrix.indptr, stored) and inside(matrix.indices, n_columns)
        refuse_unless(whole, "a sparse matrix")
        return SparseRows(
            Longs.of(matrix.indptr), Ints.of(matrix.indices), Doubles.of(matrix.data), (n_rows, n_columns)
        )

    @property
    def arrays(self) -> tuple[Indices, Indices, Array]:
        """As arguments, or fields of a struct."""
        return self.indptr, self.indices, self.data
