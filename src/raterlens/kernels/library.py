"""The compiled kernels: a shared library of plain C functions, made when Raterlens is installed (`hatch_build.py`).

Functions take arrays that NumPy owns. Calling one lets go of the interpreter's lock. They trust what they are given, so
their wrappers refuse lengths that do not agree and codes out of range.
"""

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from raterlens.base.errors import OptionError
from raterlens.base.threads import spans

Integer, Real = ctypes.c_int64, ctypes.c_double
_address, _begin = ctypes.addressof, ctypes.c_char.from_buffer

_NAME = {"win32": "kernels.dll", "darwin": "kernels.dylib"}.get(sys.platform, "kernels.so")


class Values:
    """A type of arguments: an array without gaps of one type of numbers, or None."""

    def __init__(self, kind: type) -> None:
        self._kind = np.dtype(kind)

    def from_param(self, values: Any) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.address(values))

    def address(self, values: Any) -> int | None:
        """Address of the first number, for a field of a record; the array has to outlive its use."""
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
