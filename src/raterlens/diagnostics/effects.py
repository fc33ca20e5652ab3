"""What raters do that the model does not foresee, each measured by one number with its standard error.

responsiveness   how strongly scores follow the ability that the *other* raters see: 1 the typical rater, 0 none
alternation      correlation of successive scores: -1 for pass, fail, pass, fail, ..., whatever the work
centrality       what middle scores gain over the ends of the scale, in logits (ordered scores): 0 as others
halo             correlation of a student's items beyond what ability explains: scores given as a whole
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special

from raterlens.diagnostics.grouping import order_of
from raterlens.diagnostics.residuals import Residuals
from raterlens.diagnostics.testing import rater_moment
from raterlens.ratings import Ratings

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

FEWEST = 8
"""Students below which a rater's responsiveness is not judged: its standard error comes from their scatter."""
_HARDLY = 0.05
"""Share of a rater's variation that lies within items, below which it is all between them."""


def effects(found: Residuals) -> pl.DataFrame:
    """A row a rater: each effect with its standard error, not-a-number where it cannot be measured."""
    given = _less_mean(found)
    responsiveness, responsiveness_se = _responsiveness(found, given)
    alternation, alternation_z = _alternation(found, given)
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


def _responsiveness(found: Residuals, of_rating: Array) -> tuple[Array, Array]:
    """Slope of scores, each less the rater's mean on its item, on the ability that the other raters see, over the
    variance of these scores (a very severe rater has little of both), relative to the panel's median. That ability is
    a posterior mean, so its error does not flatten the slope (Berkson)."""
    pairs, n = found.pairs, found.ratings.n_raters
    given = pairs.sums(of_rating)
    rated = np.bincount(pairs.of_rating, minlength=len(pairs)).astype(np.float64)
    all_rated = np.bincount(pairs.rater, rated, n)
    centre = np.bincount(pairs.rater, rated * found.rest, n) / all_rated
    away = found.rest - centre[pairs.rater]
    reach = np.bincount(pairs.rater, rated * away**2, n)
    students = np.bincount(pairs.rater, minlength=n)
    known = (reach > 1e-6 * all_rated) & (students >= FEWEST)
    reach = np.where(known, reach, np.nan)
    slope = np.bincount(pairs.rater, given * away, n) / reach
    spread = np.bincount(found.ratings.rater, of_rating**2, n) / all_rated
    left = given - slope[pairs.rater] * rated * away
    # HC3-like: few students with far abilities carry a slope, and their residuals are too small.
    leverage = np.minimum(rated * away**2 / reach[pairs.rater], 0.9)
    variance = np.bincount(pairs.rater, (left * away / (1 - leverage)) ** 2, n)
    varied = np.isfinite(slope) & (variance > 0)
    if not varied.any():
        return np.full(n, np.nan), np.full(n, np.nan)
    unit = np.where(varied, spread, np.nan)
    typical = np.nanmedian(slope / unit)
    if typical <= 0:
        return np.full(n, np.nan), np.full(n, np.nan)
    return slope / unit / typical, np.sqrt(variance) / reach / unit / typical


def _alternation(found: Residuals, residual: Array) -> tuple[Array, Array]:
    """The most negative of the correlations of successive ratings, in the order of the rows: of the scores
    themselves, and of whether they agree with the other raters ("one right, one wrong, in turn"); each among all
    ratings and among those of the same item. With it, its z, already allowing for four looks."""
    ratings, pairs = found.ratings, found.pairs
    rest = found.rest[pairs.of_rating]
    count = np.maximum(np.bincount(ratings.rater, minlength=ratings.n_raters), 1)
    rest = rest - (np.bincount(ratings.rater, rest, ratings.n_raters) / count)[ratings.rater]
    own = ratings.score - (np.bincount(ratings.rater, ratings.score, ratings.n_raters) / count)[ratings.rater]
    residual = np.where(_frozen(ratings, residual, own)[ratings.rater], own, residual)
    by_rater = order_of(ratings.rater, ratings.n_raters)
    context = ratings.rater.astype(np.int64) * ratings.n_items + ratings.item
    by_item = order_of(context, ratings.n_raters * ratings.n_items)
    first = np.append(0, np.cumsum(np.bincount(ratings.rater, minlength=ratings.n_raters)))[:-1]
    looks = [
        _lag(values[order], np.diff(group[order], append=-1) == 0, first)
        for values in (residual, residual * np.sign(rest))
        for order, group in ((by_rater, ratings.rater), (by_item, context))
    ]
    correlation, n = (np.stack(part) for part in zip(*looks, strict=True))
    z = correlation * np.sqrt(n)
    lowest = np.argmin(z, axis=0)[None]
    pick = np.take_along_axis
    return pick(correlation, lowest, 0)[0], _of_four(pick(z, lowest, 0)[0])


def _frozen(ratings: Ratings, less_item: Array, less_mean: Array) -> NDArray[np.bool_]:
    """(raters,) whose scores on an item hardly vary, as those of few others: pass, fail, pass, fail along an even
    number of items is always the same score on each, and shows between the items only."""
    within, all_of = (np.bincount(ratings.rater, x**2, ratings.n_raters) for x in (less_item, less_mean))
    share = np.where(all_of > 0, within / np.maximum(all_of, 1e-12), 1.0)
    return np.asarray((share < _HARDLY) & (np.median(share) > 5 * _HARDLY))


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


def _less_mean(found: Residuals) -> Array:
    """Scores less the rater's mean on the item."""
    ratings = found.ratings
    context = ratings.rater.astype(np.int64) * ratings.n_items + ratings.item
    size = ratings.n_raters * ratings.n_items
    mean = np.bincount(context, ratings.score, size) / np.maximum(np.bincount(context, minlength=size), 1)
    return np.asarray(ratings.score - mean[context])
