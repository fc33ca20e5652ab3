"""Smooth functions of a slope and a severity, read off tables of Chebyshev coefficients (`c/chebyshev_sums.c`).

The same numbers as in `capability/chebyshev_table.py`, where its readable twin is.
"""

import numpy as np

from raterlens.base.arrays import Array, Indices
from raterlens.base.threads import in_threads, spans
from raterlens.kernels.exponential import LANE
from raterlens.kernels.library import Doubles, Integer, Longs, inside, kernel, refuse_unless, same

_chebyshev_sums = kernel(
    "chebyshev_sums", *[Integer] * 2, Longs, *[Integer] * 3, *[Doubles] * 5, *[Integer] * 3, *[Doubles] * 2
)
# Rows that are worth a thread of their own.
_LEAST = 20


def chebyshev_sums(
    coefficients: Array,
    places: tuple[Array, Array],
    centre: Array,
    half: Array,
    row: Indices,
    out: Array,
) -> None:
    """out (values, all rows, places) <- sum_ij c_ij T_i T_j, of some rows.

    Parameters
    ----------
    coefficients
        (values, rows, i, j)
    places
        (all rows, places) twice: slopes and severities.
    centre, half
        (2, rows): what stands for 0, and for the distance from there to 1, of slopes and of severities.
    row
        (rows,): which of all rows these are.
    """
    slope, severity, centre, half, coefficients = map(Doubles.of, (*places, centre, half, coefficients))
    row, (values, rows, n, m) = Longs.of(row), coefficients.shape
    fitting = (
        slope.shape == severity.shape
        and out.shape == (values, *slope.shape)
        and same(rows, len(row))
        and inside(row, len(slope))
        and centre.shape == half.shape == (2, rows)
    )
    refuse_unless(fitting, "rows of the tables")

    def part(span: tuple[int, int]) -> None:
        scratch = np.empty((n + m) * LANE)
        _chebyshev_sums(
            *span,
            row,
            rows,
            *slope.shape,
            slope,
            severity,
            centre,
            half,
            coefficients,
            values,
            n,
            m,
            scratch,
            out,
        )

    in_threads(part, spans(rows, _LEAST))
