"""The highest point of curves, found by closer and closer looks."""

from collections.abc import Callable

import numpy as np

from raterlens.base.arrays import Array

_CLOSER = 21
"""Points of each closer look, which narrows the range to a tenth."""
MOST_LOOKS = 8


def peaks(
    height: Callable[[Array], Array], low: Array, high: Array, candidates: int, looks: int = MOST_LOOKS
) -> tuple[Array, Array]:
    """Where each of several curves is highest between `low` and `high`, and how high it is.

    `height` takes places, a row for each point that is tried and a column for each curve, and returns heights. A curve
    may have several peaks, provided that `candidates` points tell the highest. The place is good to about 1e-8 of the
    range, as far as rounding lets a flat top be told. Fewer `looks` will do where only the height of one is wanted.

    Examples
    --------
    >>> place, top = peaks(lambda x: 2 - (x - [0.3, 5.0]) ** 2, np.zeros(2), np.ones(2), 11)
    >>> place.round(6).tolist(), top.round(6).tolist()
    ([0.3, 1.0], [2.0, -14.0])
    """
    every = np.arange(len(low))
    for points in (candidates, *[_CLOSER] * looks):
        tried = np.linspace(low, high, points)
        heights = height(tried)
        top = heights.argmax(axis=0)
        low, high = tried[np.maximum(top - 1, 0), every], tried[np.minimum(top + 1, points - 1), every]
    return tried[top, every], heights[top, every]
