"""Every two raters with common work, for large data (`c/rater_meetings.c`): a twin of `diagnostics/agreement.py`."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from raterlens.base.arrays import Array, Indices
from raterlens.kernels.library import (
    Doubles,
    Integer,
    Ints,
    Longs,
    Shorts,
    inside,
    kernel,
    refuse_unless,
    same,
)

_count_meetings = kernel("count_meetings", Integer, Longs, Longs, Ints, Longs)
_sort_meetings = kernel(
    "sort_meetings", Integer, Longs, Longs, Ints, Shorts, Integer, Doubles, Longs, Ints, Ints, Doubles
)
_count_pairs = kernel("count_pairs_of_raters", Integer, Longs, Ints, Ints, returns=Integer)
_add_meetings = kernel(
    "add_meetings", Integer, Longs, Ints, Ints, Doubles, Integer, Longs, Longs, Ints, Ints, Longs, Doubles
)


class Meetings(NamedTuple):
    """Pairs of raters, sorted by the first, then the second."""

    one: NDArray[np.int32]
    two: NDArray[np.int32]
    tables: NDArray[np.int64]
    """(pairs, scores, scores): how often the first gave one score and the second another to the same work"""
    expected: Array | None
    """(pairs,) sums of what was expected of their ratings"""


def meetings(
    pairs: tuple[Indices, Indices],
    expected: Array | None,
    ratings: tuple[NDArray[np.integer], NDArray[np.integer]],
    sizes: tuple[int, int],
) -> Meetings:
    """`pairs`: every two ratings of the same work; `ratings`: their raters and scores; `sizes`: how many there are."""
    first, second = map(Longs.of, pairs)
    rater, score = Ints.of(ratings[0]), Shorts.of(ratings[1])
    foreseen = None if expected is None else Doubles.of(expected)
    (n_raters, k), n = sizes, len(first)
    of_ratings = same(len(rater), len(score)) and inside(rater, n_raters) and inside(score, k)
    of_pairs = same(n, len(second)) and inside(first, len(rater)) and inside(second, len(rater))
    fitting = of_ratings and of_pairs and (foreseen is None or len(foreseen) == n)
    refuse_unless(fitting, "ratings and their pairs")
    place = np.zeros(n_raters + 1, np.int64)
    _count_meetings(n, first, second, rater, place)
    begin = np.cumsum(place)
    n_met = int(begin[-1])
    other, cell = np.empty((2, n_met), np.int32)
    told = None if foreseen is None else np.empty(n_met)
    _sort_meetings(n, first, second, rater, score, k, foreseen, begin.copy(), other, cell, told)
    found = _count_pairs(n_raters, begin, other, np.full(n_raters, -1, np.int32))
    one, two = np.empty((2, found), np.int32)
    tables, sums = np.zeros((found, k, k), np.int64), None if told is None else np.zeros(found)
    bits, slot = np.zeros(n_raters // 64 + 1, np.int64), np.empty(n_raters, np.int64)
    _add_meetings(n_raters, begin, other, cell, told, k * k, bits, slot, one, two, tables, sums)
    return Meetings(one, two, tables, sums)
