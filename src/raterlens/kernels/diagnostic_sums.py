"""Sums over all ratings that diagnostics are made of, for large data (`c/diagnostic_sums.c`).

Each goes over the ratings once and keeps nothing of the length of the ratings: most of what readable code takes is
making room for numbers that are summed at once. The readable twins stand with their callers.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from raterlens.base.arrays import Array, Indices
from raterlens.kernels.library import (
    Bytes,
    Doubles,
    Integer,
    Ints,
    Longs,
    Shorts,
    Values,
    begin_within,
    inside,
    kernel,
    refuse_unless,
    same,
)

_add_successive = kernel(
    "add_successive", Integer, Ints, Ints, Shorts, Longs, Doubles, Integer, Doubles, Integer, *[Doubles] * 6
)
_add_context_sums = kernel("add_context_sums", Integer, Ints, Longs, Shorts, *[Doubles] * 7)
_add_unit_sums = kernel(
    "add_unit_sums", Integer, Longs, Longs, Ints, Shorts, Integer, Doubles, Integer, Doubles
)
_fill_steps = kernel("fill_steps", Integer, Longs, Ints, Ints, Longs, Longs, Integer, Longs)
_add_level_sums = kernel(
    "add_level_sums", Integer, Longs, Longs, Doubles, Doubles, Longs, Longs, Ints, Integer, Shorts,
    *[Doubles] * 7, Bytes, Longs, Doubles, Doubles,
)  # fmt: skip
_add_step_sums = kernel("add_step_sums", Integer, Ints, Ints, Longs, Longs, *[Doubles] * 6, Integer, Doubles)


def _of(kinds: Sequence[Values], values: Sequence[Any]) -> list[Any]:
    return [kind.of(one) for kind, one in zip(kinds, values, strict=True)]


def _check(lengths: Sequence[Sequence[Any]], codes: Sequence[tuple[Any, int]], what: str) -> None:
    """Values of the same lengths, and codes below their numbers."""
    fitting = all(same(*map(len, values)) for values in lengths)
    refuse_unless(fitting and all(inside(each, n) for each, n in codes), what)


def add_successive(ratings: Sequence[Any], levels: tuple[Array, int, Array, Array], sums: Array) -> None:
    """(looks, 3, raters): see `rater_effects._successive`."""
    level, n_items, centre, rest = levels
    n = len(centre)
    rater, item, _, pair = ratings
    _check([ratings], [(rater, n), (item, n_items), (pair, len(rest))], "successive ratings")
    refuse_unless(level.size == n * n_items and sums.size == 12 * n, "sums of raters")
    known = Doubles.of(level), n_items, Doubles.of(centre), n, Doubles.of(rest)
    # The last values of each rater, and of each rater on each item.
    last, last_on = np.full((n, 2), np.nan), np.full((n * n_items, 2), np.nan)
    scratch = np.zeros((n, 2)), np.zeros(n), last, last_on
    _add_successive(len(ratings[0]), *_of((Ints, Ints, Shorts, Longs), ratings), *known, *scratch, sums)


def add_context_sums(ratings: Sequence[Any], of_rating: Sequence[Array], sums: Array) -> None:
    """(contexts, 17): see `fit_statistics.sums_of_contexts`."""
    known = _of((Ints, Longs, Shorts, Doubles), ratings)
    context, pair, _, rest = ratings
    _check([[*ratings[:3], *of_rating]], [(context, len(sums)), (pair, len(rest))], "ratings of contexts")
    refuse_unless(sums.shape[1] == 17, "sums of contexts")
    _add_context_sums(len(ratings[0]), *known, *_of([Doubles] * 5, of_rating), sums)


def add_unit_sums(units: Sequence[Indices], ratings: Sequence[Any], n_scores: int, sums: Array) -> None:
    """(students, sums): see `agreement._of_students`."""
    known = (*_of((Longs, Longs), units), *_of((Ints, Shorts), ratings))
    (first, order), (student, score) = units, ratings
    _check([ratings], [(order, len(student)), (student, len(sums)), (score, n_scores)], "ratings of units")
    wide = sums.shape[1] >= 9 + n_scores + n_scores * (n_scores + 1) // 2
    refuse_unless(wide and begin_within(first, len(order)), "units")
    _add_unit_sums(len(units[0]) - 1, *known, n_scores, np.empty(n_scores), sums.shape[1], sums)


def fill_steps(ratings: Sequence[Any], first: Indices, count: Indices, n_steps: int, cell: Indices) -> None:
    """cell <- rater x steps + step: see `change._timeline`. Of the ratings their order, raters and times."""
    known = _of((Longs, Ints, Ints), ratings)
    order, rater, _ = ratings
    _check([[cell, *ratings], [first, count]], [(order, len(cell)), (rater, len(first))], "ratings in time")
    rated = np.zeros(len(count), bool)
    rated[rater] = True
    refuse_unless(bool(np.all(count[rated] > 0)), "raters without ratings")
    _fill_steps(len(cell), *known, Longs.of(first), Longs.of(count), n_steps, cell)


def add_level_sums(
    pairs: Sequence[Any],
    groups: tuple[Indices, Indices, Any, int],
    of_rating: Sequence[Any],
    abilities: Sequence[Array],
    found: tuple[Array, Array],
) -> None:
    """(rater x levels, 9) and (raters, 4): see `interactions.Sums`."""
    *grouped, n_levels = groups
    (rater, judged, *_), (first, order, level), (of_cell, of_rater) = pairs, grouped, found
    codes = (rater, len(of_rater)), (judged, len(abilities[0])), (order, len(level)), (level, n_levels)
    _check([pairs, [level, *of_rating], abilities], codes, "ratings on levels")
    fitting = same(len(first), len(rater) + 1) and begin_within(first, len(order))
    refuse_unless(fitting and of_cell.shape == (len(of_rater) * n_levels, 9), "pairs on levels")
    refuse_unless(of_rater.shape[1] == 4, "sums of raters")
    # Of the pair's ratings on each level; which levels it has.
    scratch = np.zeros((2, n_levels)), np.zeros(n_levels, np.int8), np.empty(n_levels, np.int64)
    _add_level_sums(
        len(pairs[0]),
        *_of((Longs, Longs, Doubles, Doubles), pairs),
        *_of((Longs, Longs, Ints), grouped),
        n_levels,
        *_of((Shorts, *[Doubles] * 4), of_rating),
        *_of((Doubles, Doubles), abilities),
        *scratch,
        *found,
    )


def add_step_sums(
    codes: Sequence[Any], of_rating: Sequence[Array], known: Sequence[Array], sums: Array
) -> None:
    """(cells, 5): see `change._sums`."""
    of_ratings = (*_of((Ints, Ints, Longs, Longs), codes), *_of([Doubles] * 3, of_rating))
    (rater, judged, cell, stretch), (slopes, mean, common) = codes, known
    within = (rater, len(slopes)), (judged, len(mean)), (cell, len(sums)), (stretch, common.shape[1])
    _check([[*codes, *of_rating]], within, "ratings in steps")
    refuse_unless(sums.shape[1] == 5 and len(common) == 2, "sums of steps")
    _add_step_sums(len(codes[2]), *of_ratings, *_of([Doubles] * 3, known), known[2].shape[1], sums)
