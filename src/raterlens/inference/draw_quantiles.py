"""Quantiles of draws near both ends, which need no sorting of what is in between.

A quantile of a smooth distribution is nearly quadratic in the normal score of its probability. The draws around it, by
weighted least squares, say where it is several times as exactly as the two next to it do.
"""

import math
from functools import cache

import numpy as np
from scipy import special

from raterlens.base.arrays import Array
from raterlens.kernels.break_even import compiled_code_pays

# Numbers that sorting goes over for each draw.
_PER_DRAW = 10
# Draws count whose probability is between these multiples of the tail's, and so many at least.
_FROM, _TO, _FEWEST = 0.4, 2.2, 8


def outer_quantiles(draws: Array, tail: float) -> tuple[Array, Array]:
    """(rows,) twice: the quantiles at `tail` and 1 - `tail` of each row of draws.

    Examples
    --------
    >>> normal = special.ndtri((np.arange(1000) + 0.5) / 1000)
    >>> low, high = outer_quantiles(normal[None], 0.025)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([-1.96], [1.96])
    """
    first, weights = _weights(draws.shape[1], tail)
    last = first + len(weights)
    if compiled_code_pays(draws.size * _PER_DRAW):
        from raterlens.kernels.row_ends import largest, smallest  # may be missing

        low, high = smallest(draws, last), largest(draws, last)
    else:
        ordered = np.sort(draws, axis=1)
        low, high = ordered, ordered[:, ::-1]
    place = math.floor(tail * draws.shape[1])
    return _quantile(low, first, weights, place), _quantile(high, first, weights, place)


def _quantile(ordered: Array, first: int, weights: Array, place: int) -> Array:
    """`place` is just beyond the quantile; where both draws next to it are the same, many are, and it is that."""
    near = ordered[:, first : first + len(weights)]
    smooth = np.clip(near @ weights, *np.sort(near[:, [0, -1]], axis=1).T)
    here, there = ordered[:, max(place - 1, 0)], ordered[:, place]
    return np.where(here == there, here, smooth)


@cache
def _weights(n: int, tail: float) -> tuple[int, Array]:
    """The first of the ordered draws that count, and how much each does."""
    score = special.ndtri((np.arange(n) + 0.5) / n)
    around = np.flatnonzero((score > special.ndtri(_FROM * tail)) & (score < special.ndtri(_TO * tail)))
    if len(around) < _FEWEST:
        around = np.arange(min(n, _FEWEST))
    away = score[around] - special.ndtri(tail)
    weight = np.maximum(1 - (away / np.abs(away).max()) ** 2, 0.05)
    powers = np.vander(away, 3, increasing=True)
    found = np.linalg.solve(powers.T @ (weight[:, None] * powers), powers.T * weight)[0]
    return int(around[0]), np.ascontiguousarray(found)
