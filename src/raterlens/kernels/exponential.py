"""Exponentials and logarithms of whole arrays, in vectors of the processor (`c/exponential.c`)."""

from raterlens.base.arrays import Array
from raterlens.kernels.library import Doubles, Integer, Real, kernel

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
