"""Quantiles of draws near both ends, which need no sorting of what is in between."""

import math

import numpy as np

from raterlens.base.arrays import Array
from raterlens.kernels.break_even import compiled_code_pays

# Numbers that sorting goes over for each draw.
_PER_DRAW = 10


def outer_quantiles(draws: Array, tail: float) -> tuple[Array, Array]:
    """(rows,) twice: the quantiles at `tail` and 1 - `tail` of each row of draws, as NumPy interpolates them.

    Examples
    --------
    >>> low, high = outer_quantiles(np.arange(101.0)[None], 0.025)
    >>> low.tolist(), high.tolist()
    ([2.5], [97.5])
    """
    place = tail * (draws.shape[1] - 1)
    below, share = math.floor(place), place % 1
    if compiled_code_pays(draws.size * _PER_DRAW):
        from raterlens.kernels.row_ends import largest, smallest  # may be missing

        low, high = smallest(draws, below + 2), largest(draws, below + 2)
    else:
        ordered = np.sort(draws, axis=1)
        low, high = ordered, ordered[:, ::-1]
    return _between(low, below, share), _between(high, below, share)


def _between(ordered: Array, below: int, share: float) -> Array:
    return np.asarray(ordered[:, below] + share * (ordered[:, below + 1] - ordered[:, below]))
