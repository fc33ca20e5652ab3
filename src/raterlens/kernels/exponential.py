"""Exponentials of whole arrays in compiled code, in vectors of the processor."""

import numpy as np

from raterlens.kernels.compiling import compiled

# Arrays are padded to whole vectors of the processor, unrolled.
LANE = 16

_LOG2_E = 1 / np.log(2)
# ln 2 in two parts, the first with trailing zeros, so that x - k ln 2 loses nothing.
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# Adding this leaves the nearest integer in the last bits of a double.
_ROUND = 1.5 * 2.0**52
# Below this exp(x) is nothing beside the largest, which is 1.
_NOTHING = -708.0


def padded(size: int) -> int:
    """The next whole number of vectors."""
    return -(-size // LANE) * LANE


@compiled("contract", "nnan", "nsz")
def exponentials(x, top, rounded, rounded_bits, scale, scale_bits):  # type: ignore[no-untyped-def]
    """x <- exp(x - top), in place; the other arrays are scratch.

    exp(y) = 2^k exp(r) with |r| <= ln 2 / 2, where a Taylor polynomial of degree 13 is exact to rounding. Apart
    from its caller, since terms must not be rearranged: adding and subtracting _ROUND is what rounds.
    """
    for q in range(len(x)):
        y = max(x[q] - top, _NOTHING)
        rounded[q] = y * _LOG2_E + _ROUND
        k = rounded[q] - _ROUND
        r = y - k * _LN2_HIGH - k * _LN2_LOW
        p = 1.0 / 6227020800.0
        p = p * r + 1.0 / 479001600.0
        p = p * r + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        x[q] = p * r * r + r + 1.0
    for q in range(len(x)):
        scale_bits[q] = (rounded_bits[q] + 1023) << 52
    for q in range(len(x)):
        x[q] *= scale[q]
