"""Sums that capability is made of, for many raters at once: functions read off tables of Chebyshev coefficients
(`c/chebyshev_sums.c`), mixtures of normal distributions seen through a normal population (`c/mixture_density.c`), and
averages over normal predictors (`c/normal_averages.c`).

The readable twins are in `capability/chebyshev_table.py` and `capability/integrals.py`.
"""

from collections.abc import Callable

import numpy as np

from raterlens.base.arrays import Array, Indices
from raterlens.base.threads import in_threads, spans
from raterlens.kernels.library import (
    LANE,
    Doubles,
    Integer,
    Longs,
    Real,
    inside,
    kernel,
    padded,
    refuse_unless,
    same,
)

_chebyshev_sums = kernel(
    "chebyshev_sums", *[Integer] * 2, Longs, *[Integer] * 3, *[Doubles] * 5, *[Integer] * 3, *[Doubles] * 2
)
# Rows that are worth a thread of their own.
_LEAST_ROWS = 20


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

    in_threads(part, spans(rows, _LEAST_ROWS))


_mean_density, _mean_tail_and_density = (
    kernel(name, Integer, Integer, *[Doubles] * 4, Integer, *[Doubles] * 3)
    for name in ("mean_density", "mean_tail_and_density")
)
# Raters or places that are worth a thread of their own.
_LEAST = 200


def mean_density(slope: Array, severity: Array, variances: Array, weights: Array) -> Array:
    """sum_k w_k exp(-severity^2 / (2 (v_k + slope^2))) / sqrt(v_k + slope^2), for every rater."""
    (density,) = _over_raters(_mean_density, (1, 1), 1, slope, severity, variances, weights)
    return density


def mean_tail_and_density(
    slope: Array, distance: Array, variances: Array, weights: Array
) -> tuple[Array, Array]:
    """sum_k w_k Phi(-distance / sqrt(v_k + slope^2)), of distances of at least 0, and `mean_density`, per rater."""
    tail, density = _over_raters(_mean_tail_and_density, (3,), 2, slope, distance, variances, weights)
    return tail, density


def _over_raters(
    sums: Callable[..., None], scratch: tuple[int, ...], n_sums: int, slope: Array, place: Array, *of: Array
) -> list[Array]:
    """(sums, raters), over components of these variances and weights; `scratch`: numbers per component."""
    known, n = [Doubles.of(values) for values in (slope, place, *of)], len(of[0])
    refuse_unless(same(len(slope), len(place)) and same(n, len(of[1])), "raters or components")
    out = np.empty((n_sums, len(slope)))

    def part(span: tuple[int, int]) -> None:
        sums(*span, *known, n, *(np.empty(rows * n) for rows in scratch), *out)

    in_threads(part, spans(len(slope), _LEAST))
    return list(out)


_normal_averages = kernel(
    "normal_averages", *[Integer] * 4, *[Doubles] * 2, Real, Real, Integer, Doubles, Integer, Doubles, Doubles
)
# Every node in reach is visited, beyond the tables too: there are about 2 slope^2 / step of them.
_STEEPEST = 1e4


def normal_averages(tables: Array, nodes: Array, slope: Array, severity: Array) -> Array:
    """(values, rows, places): E[g(slope t - severity)] over standard normal t.

    Parameters
    ----------
    tables
        (rows or 1, values, nodes): functions g of the predictor, which keep their values beyond the first and the last
        node.
    nodes
        Equally spaced predictors, at most as far apart as the smallest slope.
    slope, severity
        (rows, places)
    """
    tables, slope, severity = (Doubles.of(part) for part in (tables, slope, severity))
    step, (sets, values, n) = float(nodes[1] - nodes[0]), tables.shape
    fitting = slope.shape == severity.shape and sets in (1, len(slope)) and n == len(nodes)
    refuse_unless(fitting, "places or nodes")
    known = bool(np.all((slope >= step) & (slope <= _STEEPEST)) and not np.isnan(severity).any())
    refuse_unless(known, "slopes or severities")
    out, each = np.empty((values, *slope.shape)), max(slope.size // sets, 1)

    def part(span: tuple[int, int]) -> None:
        scratch = np.empty(padded(n))
        on = float(nodes[0]), step, n, tables, values
        _normal_averages(*span, slope.size, each, slope, severity, *on, scratch, out)

    in_threads(part, spans(slope.size, _LEAST))
    return out
