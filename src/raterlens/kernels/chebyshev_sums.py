"""Smooth functions of a slope and a severity, read off tables of Chebyshev coefficients (`c/chebyshev_sums.c`).

The same numbers as in `capability/chebyshev_table.py`, where its readable twin is.
"""

import numpy as np

from raterlens.kernels.exponential import LANE
from raterlens.kernels.library import Doubles, Integer, kernel, refuse_unless
from raterlens.parallel.threads import in_threads, spans
from raterlens.types import Array

_chebyshev_sums = kernel("chebyshev_sums", *[Integer] * 4, *[Doubles] * 5, *[Integer] * 3, Doubles, Doubles)
# Rows that are worth a thread of their own.
_LEAST = 20


def chebyshev_sums(coefficients: Array, slope: Array, severity: Array, centre: Array, half: Array) -> Array:
    """(values, rows, places): sum_ij c_ij T_i T_j at slopes and severities (rows, places).

    Parameters
    ----------
    coefficients
        (values, rows, i, j)
    centre, half
        (2, rows): what stands for 0, and for the distance from there to 1, of slopes and of severities.
    """
    places = slope, severity, centre, half, coefficients
    slope, severity, centre, half, coefficients = (Doubles.of(part) for part in places)
    values, rows, n, m = coefficients.shape
    fitting = slope.shape == severity.shape and len(slope) == rows and centre.shape == half.shape == (2, rows)
    refuse_unless(fitting, "rows of the tables")
    out = np.empty((values, *slope.shape))

    def part(span: tuple[int, int]) -> None:
        scratch, sizes = np.empty((n + m) * LANE), (rows, slope.shape[1])
        _chebyshev_sums(
            *span, *sizes, slope, severity, centre, half, coefficients, values, n, m, scratch, out
        )

    in_threads(part, spans(rows, _LEAST))
    return out
