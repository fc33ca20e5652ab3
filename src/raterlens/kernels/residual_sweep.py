"""Predictions averaged over posteriors, for large data (`c/residual_sweep.c`).

Each goes over the ratings once and keeps nothing of the length of the ratings: most of what readable code takes is
making room for numbers that are summed at once. The readable twins are in `diagnostics/residuals.py`.
"""

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
    Struct,
    begin_within,
    inside,
    kernel,
    refuse_unless,
    same,
)

Codes = NDArray[np.integer]

_averaged = kernel("averaged", Doubles, Longs, Doubles, Ints, Integer, Integer, Doubles)
_agreeing = kernel("agreeing", Doubles, Longs, Doubles, Integer, Ints, Ints, Integer, Integer, Doubles)


def averaged(weights: Array, weight: Codes, table: Array, row: Codes) -> Array:
    """`sum_q weights[weight_i, q] table[row_i, q]` for every i."""
    fitting = same(len(weight), len(row)) and same(weights.shape[1], table.shape[1])
    refuse_unless(fitting and inside(weight, len(weights)) and inside(row, len(table)), "rows of a table")
    out = np.empty(len(row))
    known = Doubles.of(weights), Longs.of(weight), Doubles.of(table), Ints.of(row)
    _averaged(*known, len(row), weights.shape[1], out)
    return out


def agreeing(weights: Array, weight: Codes, prob: Array, one: Codes, two: Codes) -> Array:
    """`sum_q weights[weight_i, q] sum_k prob[one_i, k, q] prob[two_i, k, q]` for every i."""
    fitting = same(len(weight), len(one), len(two)) and same(weights.shape[1], prob.shape[2])
    fitting = fitting and inside(weight, len(weights)) and inside(one, len(prob)) and inside(two, len(prob))
    refuse_unless(fitting, "pairs of ratings")
    out = np.empty(len(one))
    known = Doubles.of(weights), Longs.of(weight), Doubles.of(prob), prob.shape[1], Ints.of(one), Ints.of(two)
    _agreeing(*known, len(one), weights.shape[1], out)
    return out


class Grouped(NamedTuple):
    """Ratings by pairs of a student and a rater, pairs by students."""

    first_pair: Indices
    first_rating: Indices
    order: Indices
    context: Codes
    given: Codes


class Tables(NamedTuple):
    """On the nodes of ability."""

    log_prob: Array
    """(contexts x scores, nodes)"""
    prob: Array
    """(contexts, scores, nodes)"""
    standardised: Array
    """(contexts x scores, nodes)"""
    mean: Array
    variance: Array
    kurtosis: Array


class Found(NamedTuple):
    of_rating: Array
    """(10, ratings)"""
    of_pair: Array
    """(4, pairs)"""
    of_judged: Array
    """(2, students)"""


# `Sweep` of `c/residual_sweep.c`.
_Sweep = Struct.of(
    *(("first_pair first_rating order", Longs), ("context", Ints), ("given", Shorts)),
    *(("n_ratings n_pairs n_judged", Integer), (" ".join(Tables._fields), Doubles)),
    *(("n_scores size", Integer), ("points prior", Doubles), ("n_priors", Integer), ("prior_apart", Doubles)),
    (" ".join(Found._fields), Doubles),
)
_sweep = kernel(
    "sweep", _Sweep.pointer, *[Integer] * 2, Longs, Integer, Doubles, Doubles, Longs, Doubles, Doubles
)


class Sweep:
    """Ratings and tables, ready to be gone over; what is found is filled in."""

    def __init__(
        self, ratings: Grouped, tables: Tables, points: Array, priors: tuple[Array, Array], found: Found
    ) -> None:
        """`priors`: of the students, and for each pair apart, which has no rows where it is the same for all raters."""
        context, given = Ints.of(ratings.context), Shorts.of(ratings.given)
        known = Grouped._make((*map(Longs.of, ratings[:3]), context, given))
        tables, (prior, apart) = Tables(*map(Doubles.of, tables)), map(Doubles.of, priors)
        self._size, self._ratings = len(points), known
        _check_ratings(known, tables, found)
        _check_nodes(tables, self._size, (prior, apart), found)
        self._kept = tables, points, prior, apart, found
        self._record = _Sweep.filled(
            *(*known, *(rows.shape[1] for rows in found)),
            *(*tables, tables.prob.shape[1], self._size, points),
            *(prior, len(prior), apart if len(apart) else None, *found),
        )

    def over(self, span: tuple[int, int], by_rater: Indices) -> Array:
        """Fill in what is found of a span of students, and return their posteriors.

        `by_rater`: their pairs in the order of their raters, since the tables of all raters are larger than the cache.
        """
        size, n_pairs, n_judged = self._size, len(by_rater), span[1] - span[0]
        first_pair = self._ratings.first_pair
        fitting = 0 <= span[0] <= span[1] < len(first_pair) and inside(by_rater, n_pairs)
        refuse_unless(fitting and n_pairs == first_pair[span[1]] - first_pair[span[0]], "pairs of a span")
        posterior, joint, said = (np.zeros((rows, size)) for rows in (n_judged, n_judged, n_pairs))
        scratch = said, joint, np.empty(n_pairs, np.int64), np.empty((3, size))
        _sweep(self._record, *span, Longs.of(by_rater), n_pairs, *scratch, posterior)
        return posterior


def _check_ratings(ratings: Grouped, tables: Tables, found: Found) -> None:
    n_ratings, n_pairs, n_judged = (rows.shape[1] for rows in found)
    n_contexts, n_scores, _ = tables.prob.shape
    fitting = (
        same(len(ratings.first_pair), n_judged + 1)
        and same(len(ratings.first_rating), n_pairs + 1)
        and same(n_ratings, len(ratings.order), len(ratings.context), len(ratings.given))
        and begin_within(ratings.first_pair, n_pairs)
        and begin_within(ratings.first_rating, n_ratings)
        and inside(ratings.order, n_ratings)
        and inside(ratings.context, n_contexts)
        and inside(ratings.given, n_scores)
    )
    refuse_unless(fitting, "ratings by pairs")


def _check_nodes(tables: Tables, size: int, priors: tuple[Array, Array], found: Found) -> None:
    (n_contexts, n_scores, _), (prior, apart) = tables.prob.shape, priors
    n_pairs, n_judged = found.of_pair.shape[1], found.of_judged.shape[1]
    fitting = (
        all(table.size == n_contexts * n_scores * size for table in tables[:3])
        and all(table.shape == (n_contexts, size) for table in tables[3:])
        and all(each.shape[1] == size for each in (prior, apart) if len(each))
        and len(prior) in ((n_judged,) if len(apart) else (1, n_judged))
        and len(apart) in (0, n_pairs)
        and same(len(found.of_rating), 10)
        and same(len(found.of_pair), 4)
        and same(len(found.of_judged), 2)
    )
    refuse_unless(fitting, "tables on nodes")
