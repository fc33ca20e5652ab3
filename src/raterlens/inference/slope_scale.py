"""A scale of slopes on which what few ratings say of one is about normal: h(a), h' = (1 + a⁴)^(-1/4).

A slope could more easily be twice as large than 0, as scores hardly differ between large slopes; near 0 both sides are
alike.
"""

import numpy as np

from raterlens.base.arrays import Array

# Nothing tells a rater steeper than the last from a perfect one.
_PLACES = np.linspace(-8.0, 8.0, 8_001)
_SLOPES = np.sinh(_PLACES[::2])
_RISE = np.cosh(_PLACES) * (1 + np.sinh(_PLACES) ** 4) ** -0.25
# Simpson's rule between slopes.
_EVEN = np.append(0.0, np.cumsum(_RISE[:-2:2] + 4 * _RISE[1::2] + _RISE[2::2])) * (16 / 8_000 / 3)
_EVEN -= _EVEN[len(_EVEN) // 2]
_POINT = 1.959964


def even(slope: Array | float) -> Array:
    """From slopes to the scale."""
    return np.asarray(np.interp(slope, _SLOPES, _EVEN))


def uneven(place: Array | float) -> Array:
    """And back."""
    return np.asarray(np.interp(place, _EVEN, _SLOPES))


def skewed(centre: Array, draws: Array) -> Array:
    """Normal draws of slopes as what few ratings say of them: normal on the even scale."""
    return uneven(even(centre) + (draws - centre) / (1 + centre**4) ** 0.25)


def between(centre: Array, low: Array, high: Array, z: Array) -> Array:
    """Slopes at standard normal z, where their 2.5 and 97.5 % points are known."""
    middle = even(centre)
    reach = np.where(z < 0, middle - even(low), even(high) - middle)
    return uneven(middle + reach * z / _POINT)
