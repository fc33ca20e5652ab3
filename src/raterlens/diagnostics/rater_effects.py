"""Rater effects that the model does not have, each measured by one number with its standard error.

responsiveness   how strongly scores follow the ability that the *other* raters see: 1 the typical rater, 0 none
alternation      correlation of successive scores: -1 for pass, fail, pass, fail, ..., whatever the work
centrality       what middle scores gain over the ends of the scale, in logits (ordered scores): 0 as others
halo             correlation of a student's items beyond what ability explains: scores given as a whole
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special

from raterlens.base.arrays import Array, Indices
from raterlens.diagnostics.grouping import large, order_of
from raterlens.diagnostics.residuals import Residuals
from raterlens.diagnostics.score_tests import rater_moment
from raterlens.ratings.coded import Ratings

FEWEST = 8
"""Students below which a rater's responsiveness is not judged: its standard error comes from their scatter."""
_HARDLY = 0.05
"""Share of a rater's variation that lies within items, below which it is all between them."""


def effects(found: Residuals) -> pl.DataFrame:
    """A row per rater: each effect with its standard error, not-a-number where it cannot be measured."""
    own = _Own.of(found)
    responsiveness, responsiveness_se = _responsiveness(found, own)
    alternation, alternation_z = _alternation(found, own)
    halo, halo_se = _halo(found)
    centrality, centrality_se = _centrality(found)
    return pl.DataFrame(
        {
            "rater": found.ratings.raters,
            "responsiveness": responsiveness,
            "responsiveness_se": responsiveness_se,
            "alternation": alternation,
            "alternation_z": alternation_z,
            "centrality": centrality,
            "centrality_se": centrality_se,
            "halo": halo,
            "halo_se": halo_se,
        }
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Own:
    """A rater's own scores, and what the other raters of their students say."""

    on_item: Array
    """(raters x items,) mean score of the rater on the item"""
    mean: Array
    """(raters,) mean score"""
    within: Array
    """(raters,) squares of the scores, each less the rater's mean on its item"""
    squares: Array
    """(raters,) of the scores less the rater's mean"""
    n: Array
    """(raters,) ratings"""
    centre: Array
    """(raters,) mean ability of the students that they rated, a rating at a time"""

    @staticmethod
    def of(found: Residuals) -> "_Own":
        contexts, pairs, n_raters = found.contexts, found.pairs, found.ratings.n_raters
        score = np.arange(contexts.given.shape[1], dtype=np.float64)
        cell, size = contexts.rater * contexts.n_items + contexts.item, n_raters * contexts.n_items
        n, total, squares = (
            np.bincount(cell, contexts.given @ power, size).reshape(n_raters, -1)
            for power in (score**0, score, score**2)
        )
        on_item = total / np.maximum(n, 1)
        of_rater = n.sum(axis=1)
        mean = total.sum(axis=1) / of_rater
        return _Own(
            on_item.ravel(),
            mean,
            (squares - total * on_item).sum(axis=1),
            squares.sum(axis=1) - total.sum(axis=1) * mean,
            of_rater,
            np.bincount(pairs.rater, pairs.size * found.rest, n_raters) / of_rater,
        )


def _responsiveness(found: Residuals, own: _Own) -> tuple[Array, Array]:
    """Slope of scores, each less the rater's mean on its item, on the ability that the other raters see, over the
    variance of these scores (a very severe rater has little of both), relative to the panel's median. That ability is
    a posterior mean, so its error does not flatten the slope (Berkson)."""
    pairs, n = found.pairs, found.ratings.n_raters
    given, rated = pairs.sums(_less(found.ratings, own.on_item)), pairs.size
    away = found.rest - own.centre[pairs.rater]
    reach = np.bincount(pairs.rater, rated * away**2, n)
    students = np.bincount(pairs.rater, minlength=n)
    known = (reach > 1e-6 * own.n) & (students >= FEWEST)
    reach = np.where(known, reach, np.nan)
    slope = np.bincount(pairs.rater, given * away, n) / reach
    left = given - slope[pairs.rater] * rated * away
    # HC3-like: few students with far abilities carry a slope, and their residuals are too small.
    leverage = np.minimum(rated * away**2 / reach[pairs.rater], 0.9)
    variance = np.bincount(pairs.rater, (left * away / (1 - leverage)) ** 2, n)
    varied = np.isfinite(slope) & (variance > 0)
    if not varied.any():
        return np.full(n, np.nan), np.full(n, np.nan)
    unit = np.where(varied, own.within / own.n, np.nan)
    typical = np.nanmedian(slope / unit)
    if typical <= 0:
        return np.full(n, np.nan), np.full(n, np.nan)
    return slope / unit / typical, np.sqrt(variance) / reach / unit / typical


def _alternation(found: Residuals, own: _Own) -> tuple[Array, Array]:
    """The most negative of the correlations of successive ratings, in the order of the rows: of the scores
    themselves, and of whether they agree with the other raters ("one right, one wrong, in turn"); each among all
    ratings and among those of the same item. With it, its z, already allowing for four looks."""
    ratings = found.ratings
    frozen = np.repeat(_frozen(own), ratings.n_items)
    level = np.where(frozen, np.repeat(own.mean, ratings.n_items), own.on_item)
    correlation, n = _successive(found, level, own.centre)
    z = correlation * np.sqrt(n)
    lowest = np.argmin(z, axis=0)[None]
    pick = np.take_along_axis
    return pick(correlation, lowest, 0)[0], _of_four(pick(z, lowest, 0)[0])


def _frozen(own: _Own) -> NDArray[np.bool_]:
    """(raters,) whose scores on an item hardly vary, as those of few others: pass, fail, pass, fail along an even
    number of items is always the same score on each, and shows between the items only."""
    share = np.where(own.squares > 0, own.within / np.maximum(own.squares, 1e-12), 1.0)
    return np.asarray((share < _HARDLY) & (np.median(share) > 5 * _HARDLY))


def _successive(found: Residuals, level: Array, centre: Array) -> tuple[Array, Array]:
    """(looks, raters) correlations of successive ratings and how many there are, the looks being scores less their
    level (rater x item) and the same with its sign turned for students below the rater's centre of abilities, each
    among all ratings and among those of the same item."""
    ratings = found.ratings
    if large(ratings.n_ratings):
        from raterlens.kernels.diagnostic_sums import add_successive  # may be missing

        sums = np.zeros((4, 3, ratings.n_raters))
        add_successive(
            (ratings.rater, ratings.item, ratings.score, found.pairs.of_rating),
            (level, ratings.n_items, centre, found.rest),
            sums,
        )
        product, size, count = sums.transpose(1, 0, 2)
        return np.where(size > 0, product / np.maximum(size, 1e-12), 0.0), count
    pair = found.pairs.of_rating
    less = _less(ratings, level)
    side = np.sign(found.rest[pair] - centre[ratings.rater])
    first = np.append(0, np.cumsum(np.bincount(ratings.rater, minlength=ratings.n_raters)))[:-1]
    by_rater = order_of(ratings.rater, ratings.n_raters)
    by_item = order_of(_cell(ratings), len(level))
    looks = [
        _lag(values[order], np.diff(group[order], append=-1) == 0, first)
        for values in (less, less * side)
        for order, group in ((by_rater, ratings.rater), (by_item, _cell(ratings)))
    ]
    correlation, n = (np.stack(part) for part in zip(*looks, strict=True))
    return correlation, n


def _of_four(z: Array) -> Array:
    """The z whose lower tail is four times as large (Bonferroni)."""
    return np.asarray(special.ndtri(np.minimum(4 * special.ndtr(z), 1 - 1e-16)))


def _lag(x: Array, followed: NDArray[np.bool_], first: Indices) -> tuple[Array, Array]:
    """Correlation of each value with the next, where one follows, for every rater, and the number of such neighbours.

    Raters one after the other, each beginning at `first`.
    """
    n = np.diff(np.append(first, len(x)))
    x = x - np.repeat(np.add.reduceat(x, first) / n, n)
    after = np.append(x[1:], 0.0)
    product = np.add.reduceat(x * after * followed, first)
    size = np.add.reduceat((x**2 + after**2) * followed, first) / 2
    count = np.add.reduceat(followed.astype(np.float64), first)
    return np.where(size > 0, product / np.maximum(size, 1e-12), 0.0), count


def _halo(found: Residuals) -> tuple[Array, Array]:
    """Score test of something that the ratings of a student by this rater share besides ability."""
    pairs, n = found.pairs, found.ratings.n_raters
    reach = np.bincount(pairs.rater, found.alone, n)
    reach = np.where(reach > 1e-9, reach, np.nan)
    moment = rater_moment(found, found.together)
    return moment.sum / reach, np.where(moment.sd > 0, moment.sd, np.nan) / reach


def _centrality(found: Residuals) -> tuple[Array, Array]:
    """Score test of gamma in log P(y) + gamma y (K - 1 - y), times its largest value."""
    n = found.ratings.n_raters
    if found.centrality is None or found.spread is None:
        return np.full(n, np.nan), np.full(n, np.nan)
    moment = rater_moment(found, found.pairs.sums(found.centrality))
    # The sampling variance of the score is also its information.
    information = np.where(moment.sd > 0, moment.sd**2, np.nan)
    top = (found.n_categories - 1) // 2 * (found.n_categories // 2)
    return top * moment.sum / information, top * moment.sd / information


def _less(ratings: Ratings, level: Array) -> Array:
    """(ratings,) scores less their level, one per rater and item"""
    return np.asarray(ratings.score - level[_cell(ratings)])


def _cell(ratings: Ratings) -> Indices:
    return np.asarray(ratings.rater.astype(np.int64) * ratings.n_items + ratings.item)
