"""Mixtures of normal distributions seen through a normal population, for many raters at once (`c/mixture_density.c`).

The same sums as in `capability/integrals.py` and `capability/integrals.py`, their readable twins.
"""

from collections.abc import Callable

import numpy as np

from raterlens.base.arrays import Array
from raterlens.base.threads import in_threads, spans
from raterlens.kernels.library import Doubles, Integer, kernel, refuse_unless, same

_mean_density, _mean_tail = (
    kernel(name, Integer, Integer, *[Doubles] * 4, Integer, *[Doubles] * 3)
    for name in ("mean_density", "mean_tail")
)


_mean_tail_and_density = kernel(
    "mean_tail_and_density", Integer, Integer, *[Doubles] * 4, Integer, *[Doubles] * 3
)
# Raters that are worth a thread of their own.
_LEAST = 200


def mean_density(slope: Array, severity: Array, variances: Array, weights: Array) -> Array:
    """sum_k w_k exp(-severity^2 / (2 (v_k + slope^2))) / sqrt(v_k + slope^2), for every rater."""
    return _over_raters(_mean_density, slope, severity, variances, weights)


def mean_tail(slope: Array, distance: Array, variances: Array, weights: Array) -> Array:
    """sum_k w_k Phi(-distance / sqrt(v_k + slope^2)), for every rater; distances are at least 0."""
    return _over_raters(_mean_tail, slope, distance, variances, weights)


def mean_tail_and_density(
    slope: Array, distance: Array, variances: Array, weights: Array
) -> tuple[Array, Array]:
    """`mean_tail` and `mean_density`, in little more time than the first of them."""
    known = [Doubles.of(values) for values in (slope, distance, variances, weights)]
    tail, density = np.empty((2, len(slope)))

    def part(span: tuple[int, int]) -> None:
        _mean_tail_and_density(*span, *known, len(variances), np.empty((3, len(variances))), tail, density)

    in_threads(part, spans(len(slope), _LEAST))
    return tail, density


def _over_raters(
    sums: Callable[..., None], slope: Array, place: Array, variances: Array, weights: Array
) -> Array:
    known = [Doubles.of(values) for values in (slope, place, variances, weights)]
    fitting = same(len(slope), len(place)) and same(len(variances), len(weights))
    refuse_unless(fitting, "raters or components")
    out = np.empty(len(slope))

    def part(span: tuple[int, int]) -> None:
        sums(*span, *known, len(variances), *np.empty((2, len(variances))), out)

    in_threads(part, spans(len(slope), _LEAST))
    return out
