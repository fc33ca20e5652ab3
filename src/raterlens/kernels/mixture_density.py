"""A mixture of normal densities seen through a normal population, for many raters at once (`c/mixture_density.c`).

The same sum as in `capability/density_moments.py`, its readable twin.
"""

import numpy as np

from raterlens.kernels.exponential import padded
from raterlens.kernels.library import Doubles, Integer, kernel
from raterlens.parallel.threads import in_threads, spans
from raterlens.types import Array

_mean_density = kernel("mean_density", Integer, Integer, *[Doubles] * 4, Integer, *[Doubles] * 3)


def mean_density(slope: Array, severity: Array, variances: Array, weights: Array) -> Array:
    """sum_k w_k exp(-severity^2 / (2 (v_k + slope^2))) / sqrt(v_k + slope^2), for every rater."""
    slope, severity = Doubles.of(slope), Doubles.of(severity)
    out, size = np.empty(len(slope)), padded(len(variances))
    # What is added weighs nothing.
    variances = np.append(variances, np.ones(size - len(variances)))
    weights = np.append(weights, np.zeros(size - len(weights)))

    def part(span: tuple[int, int]) -> None:
        power, root = np.empty((2, size))
        _mean_density(*span, slope, severity, variances, weights, size, power, root, out)

    in_threads(part, spans(len(slope)))
    return out
