"""A mixture of normal densities seen through a normal population, for many raters at once.

The same sum as in `capability/density_moments.py`, its readable twin.
"""

import numpy as np

from raterlens.kernels.compiling import compiled
from raterlens.kernels.exponential import exponentials, padded
from raterlens.parallel.threads import in_threads, spans
from raterlens.types import Array


def mean_density(slope: Array, severity: Array, variances: Array, weights: Array) -> Array:
    """sum_k w_k exp(-severity^2 / (2 (v_k + slope^2))) / sqrt(v_k + slope^2), for every rater."""
    out = np.empty_like(slope)
    size = padded(len(variances))
    # What is added weighs nothing.
    variances = np.append(variances, np.ones(size - len(variances)))
    weights = np.append(weights, np.zeros(size - len(weights)))
    in_threads(lambda span: _sums(*span, slope, severity, variances, weights, out), spans(len(slope)))
    return out


@compiled("contract", "reassoc", "nsz", "nnan", "arcp")
def _sums(first, last, slope, severity, variances, weights, out):  # type: ignore[no-untyped-def]
    size = len(variances)
    power, root, rounded, scale = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    rounded_bits, scale_bits = rounded.view(np.int64), scale.view(np.int64)
    for r in range(first, last):
        square, half = slope[r] * slope[r], -0.5 * severity[r] * severity[r]
        for k in range(size):
            precision = 1 / (variances[k] + square)
            root[k] = weights[k] * np.sqrt(precision)
            power[k] = half * precision
        if half != 0:
            exponentials(power, 0.0, rounded, rounded_bits, scale, scale_bits)
            total = 0.0
            for k in range(size):
                total += root[k] * power[k]
        else:
            total = 0.0
            for k in range(size):
                total += root[k]
        out[r] = total
