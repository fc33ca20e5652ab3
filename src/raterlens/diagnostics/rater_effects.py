"""Score tests for each rater: responsiveness, alternation, centrality, halo, and bias by level."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special

from raterlens.base.arrays import Array, Indices
from raterlens.diagnostics.residuals import Residuals
from raterlens.ratings.coded import Ratings
from raterlens.ratings.groupings import grouped, order_of

# --------------------------------------------------------------------------------------------------- score tests


# Tests of one rater's peculiarities at the fitted model: score tests, without fitting anything again.
#
# A peculiarity is a moment with expectation 0 under the model. Its sum over a rater's students is compared with its
# standard deviation, after taking out what the rater's own severity and slope, being estimated, have already absorbed:
# the moment is projected on the derivatives of the log-likelihood in the two (Newey 1985; the information equality
# makes the projection the same for every moment). Students are independent; a rater's ratings of one student are not,
# so they are summed first.

LEVEL = 0.05
"""Share of false flags among all flags of a kind (Benjamini-Hochberg)."""

_ABSORBED = 3
"""Degrees of freedom that a rater's severity, slope and the moment's own mean take."""


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """A sum with expectation 0 for every rater, and its standard deviation."""

    sum: Array
    sd: Array
    n: NDArray[np.int64]
    """Students that it comes from"""

    @property
    def z(self) -> Array:
        """Standardised, allowing for few students: a t statistic as the normal one of the same probability."""
        with np.errstate(invalid="ignore", divide="ignore"):
            t = self.sum / self.sd
        degrees = np.maximum(self.n - _ABSORBED, 1)
        # In the tail where probabilities keep their digits.
        z = special.ndtri(np.maximum(special.stdtr(degrees, -np.abs(t)), 1e-300))
        return np.asarray(np.where(np.isfinite(t), -np.sign(t) * z, 0.0))


def rater_moment(found: Residuals, of_pair: Array) -> Moment:
    """Sum a moment of pairs for every rater, severity and slope projected out."""
    pairs, n = found.pairs, found.ratings.n_raters
    nuisance = [found.score_of_pair, found.tilt_of_pair] if found.model.own_slopes else [found.score_of_pair]
    cross = np.stack([_by_rater(found, of_pair * part) for part in nuisance], axis=1)
    inner = np.stack([[_by_rater(found, one * two) for two in nuisance] for one in nuisance]).transpose(
        2, 0, 1
    )
    weights = _solve(inner, cross)
    own = np.stack([_by_rater(found, part) for part in nuisance], axis=1)
    total = _by_rater(found, of_pair) - np.einsum("ri,ri->r", weights, own)
    variance = _by_rater(found, of_pair**2) - np.einsum("ri,ri->r", weights, cross)
    return Moment(total, np.sqrt(np.maximum(variance, 0.0)), np.bincount(pairs.rater, minlength=n))


def _by_rater(found: Residuals, of_pair: Array) -> Array:
    return np.bincount(found.pairs.rater, of_pair, found.ratings.n_raters).astype(np.float64)


def _solve(matrix: Array, right: Array) -> Array:
    """By the pseudo-inverse where a rater's ratings leave it singular."""
    return np.asarray(np.einsum("rij,rj->ri", np.linalg.pinv(matrix, rcond=1e-10, hermitian=True), right))


def two_sided(z: Array) -> Array:
    """Probability of a standard normal number as far from 0."""
    return np.asarray(2 * special.ndtr(-np.abs(z)))


def adjusted(p: Array) -> Array:
    """Benjamini-Hochberg: the level at which each hypothesis would just be rejected. NaN stays out.

    Examples
    --------
    >>> adjusted(np.array([0.01, 0.04, 0.03, np.nan]))
    array([0.03, 0.04, 0.04,  nan])
    """
    out = np.full(len(p), np.nan)
    known = np.flatnonzero(np.isfinite(p))
    if len(known) == 0:
        return out
    order = known[np.argsort(p[known], kind="stable")]
    raised = p[order] * len(order) / np.arange(1, len(order) + 1)
    out[order] = np.minimum(np.minimum.accumulate(raised[::-1])[::-1], 1.0)
    return out


# ------------------------------------------------------------------------------------------------- rater effects


# Rater effects that the model does not have, each measured by one number with its standard error.
#
# responsiveness   how strongly scores follow the ability that the *other* raters see: 1 the typical rater, 0 none
# alternation      correlation of successive scores: -1 for pass, fail, pass, fail, ..., whatever the work
# centrality       what middle scores gain over the ends of the scale, in logits (ordered scores): 0 as others
# halo             correlation of a student's items beyond what ability explains: scores given as a whole

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
        contexts, pairs, n_raters = found.model.contexts, found.pairs, found.ratings.n_raters
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
    pair = found.pairs.of_rating
    less = _less(ratings, level)
    side = np.sign(found.rest[pair] - centre[ratings.rater])
    first = np.append(0, np.cumsum(np.bincount(ratings.rater, minlength=ratings.n_raters)))[:-1]
    cell = _cell(ratings)
    orders = [
        (order, np.diff(group[order], append=-1) == 0)
        for order, group in (
            (order_of(ratings.rater, ratings.n_raters), ratings.rater),
            (order_of(cell, len(level)), cell),
        )
    ]
    looks = [
        _lag(values[order], followed, first) for values in (less, less * side) for order, followed in orders
    ]
    correlation, n = (np.stack(part) for part in zip(*looks, strict=True))
    return correlation, n


def _of_four(z: Array) -> Array:
    """The z whose lower tail is four times as large (Bonferroni); 0 where that is no tail any more."""
    return np.asarray(special.ndtri(np.minimum(4 * special.ndtr(z), 0.5)))


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
    """Score test of something that the ratings of a student by this rater share besides ability; NaN where some repeat
    a question, since these share the rater's reading of it."""
    pairs, n = found.pairs, found.ratings.n_raters
    if found.ratings.draw is not None:
        return np.full(n, np.nan), np.full(n, np.nan)
    reach = np.bincount(pairs.rater, found.alone, n)
    reach = np.where(reach > 1e-9, reach, np.nan)
    moment = rater_moment(found, found.together)
    return moment.sum / reach, np.where(moment.sd > 0, moment.sd, np.nan) / reach


def _centrality(found: Residuals) -> tuple[Array, Array]:
    """Score test of gamma in log P(y) + gamma y (K - 1 - y), times its largest value; not where the model has each
    rater's own use of the scale."""
    n = found.ratings.n_raters
    if found.centrality is None or found.spread is None or found.own_thresholds:
        return np.full(n, np.nan), np.full(n, np.nan)
    moment = rater_moment(found, found.pairs.sums(found.centrality))
    # The sampling variance of the score is also its information.
    information = np.where(moment.sd > 0, moment.sd**2, np.nan)
    top = (found.model.response.n_categories - 1) // 2 * (found.model.response.n_categories // 2)
    return top * moment.sum / information, top * moment.sd / information


def _less(ratings: Ratings, level: Array) -> Array:
    """(ratings,) scores less their level, one per rater and item"""
    return np.asarray(ratings.score - level[_cell(ratings)])


def _cell(ratings: Ratings) -> Indices:
    return np.asarray(ratings.rater.astype(np.int64) * ratings.n_items + ratings.item)


# -------------------------------------------------------------------------------------------------- interactions


# Bias: is a rater more severe than usual on one item, with one group of students, in one period?
#
# The effect gamma of a level is added to the predictor of the rater's ratings there. At the fit, with U and I the score
# and the information of gamma after severity and slope are taken out, gamma = U / I in one step, U / sqrt(I) tests it.
# The information is the observed one of the marginal likelihood: what complete data would have, less what not knowing
# abilities costs, with residuals taken as linear in ability across a student's posterior. Where ratings vary more than
# the model says (a halo, say), the sampling variance of U seen over students replaces the model's.

# Five or so ratings of middling work. With less, one rating alone would decide.
_LEAST_INFORMATION = 1.0


def interaction(found: Residuals, level: NDArray[np.integer], labels: pl.Series, name: str) -> pl.DataFrame:
    """A row for every rater and level of something that ratings differ in.

    `severity` is how much more severe than with other levels the rater is, beyond what holds for all raters;
    not-a-number where the ratings are too few to say.
    """
    n_levels = len(labels)
    of = _on_levels(found, level, n_levels)
    rater, of_level = np.divmod(np.arange(len(of.n)), n_levels)
    # What holds for all raters, such as a group of abler students, is no rater's bias.
    score = of.score - of.own * common(of.score, of.own, of_level, n_levels)[of_level]

    kept = np.flatnonzero(of.n)
    count, score = of.n[kept], score[kept]
    information = np.where(of.information >= _LEAST_INFORMATION, of.information, np.nan)[kept]
    deviation = np.sqrt(np.maximum(information, of.sampled[kept]))
    z = -score / deviation
    p = two_sided(z)
    return pl.DataFrame(
        {
            "rater": found.ratings.raters.gather(rater[kept]),
            name: labels.gather(of_level[kept]),
            "n": count.astype(np.int64),
            "mean_score": of.given[kept] / count,
            "expected": of.expected[kept] / count,
            "severity": -score / information,
            "severity_se": deviation / information,
            "z": z,
            "p": p,
            "p_adjusted": adjusted(p),
        }
    )


class _Levels(NamedTuple):
    """The ratings of each rater on each level, (raters x levels,) each."""

    n: Array
    given: Array
    """Sum of their scores"""
    expected: Array
    score: Array
    """U of the level"""
    own: Array
    """Information of the level's effect, what abilities cost taken off"""
    information: Array
    """The same with severity and slope taken out"""
    sampled: Array
    """Variance of U as seen over students, severity taken out"""


def _on_levels(found: Residuals, level: NDArray[np.integer], n_levels: int) -> _Levels:
    ratings, pairs, whole = found.ratings, found.pairs, found.score_of_pair
    n_raters, n_cells = ratings.n_raters, ratings.n_raters * n_levels
    cell_of_rating = ratings.rater.astype(np.int64) * n_levels + level
    info, theta, ability = found.information, found.theta, found.ability_of_pair
    # The ratings of a pair on one level, and their Cov(residual, ability) over the posterior; that of a whole pair.
    part = grouped(pairs.of_rating, len(pairs), level, n_levels)
    pair, cell = pairs.of_rating[part.example], cell_of_rating[part.example]
    lean_part, score_part = (
        np.bincount(part.of_row, values, len(part))
        for values in (found.tilt - theta * found.score, found.score)
    )
    lean, width = found.lean_of_pair, found.width_of_pair
    missing, lost = lean_part * lean[pair] / width[pair], lean**2 / width

    def on_cells(of_rating: NDArray[np.generic] | None, of_part: Array | None = None) -> Array:
        less = 0.0 if of_part is None else np.bincount(cell, of_part, n_cells)
        return np.asarray(np.bincount(cell_of_rating, of_rating, n_cells) - less, np.float64)

    def of_rater(of_rating: Array, of_pair: Array) -> Array:
        sums = np.bincount(ratings.rater, of_rating, n_raters) - np.bincount(pairs.rater, of_pair, n_raters)
        return np.repeat(sums, n_levels)

    own, score = on_cells(info, lean_part**2 / width[pair]), on_cells(found.score)
    a, b, c = (of_rater(info * theta**k, lost * ability**k) for k in range(3))
    with_severity, with_slope = on_cells(info, missing), on_cells(info * theta, missing * ability[pair])
    explained = _explained(with_severity, with_slope, a, b, c, found.model.own_slopes)
    every = np.repeat(np.bincount(pairs.rater, whole**2, n_raters), n_levels)
    shared = np.bincount(cell, score_part * whole[pair], n_cells)
    sampled = np.bincount(cell, score_part**2, n_cells) - shared**2 / np.maximum(every, 1e-12)
    given, expected = on_cells(ratings.score), on_cells(found.expected)
    return _Levels(on_cells(None), given, expected, score, own, own - explained, sampled)


def common(score: Array, weight: Array, level: Indices, n_levels: int) -> Array:
    """(levels,) the effect that raters have in common: their mean, each counting for at most two standard errors from
    the median, so that one rater far off does not make the others look biased the other way."""
    known = np.flatnonzero(weight > 1e-9)
    value, w, at = score[known] / weight[known], weight[known], level[known]
    order = np.lexsort((value, at))
    value, w, at = value[order], w[order], at[order]
    all_of = np.bincount(at, w, n_levels)
    before = np.append(0.0, np.cumsum(all_of))[at]
    middle = np.zeros(n_levels)
    # The last assignment to a level stays: of its values in falling order, the first that half the weight is below.
    past = np.flatnonzero(np.cumsum(w) - before >= all_of[at] / 2)[::-1]
    middle[at[past]] = value[past]
    away = np.clip(value - middle[at], -2 / np.sqrt(w), 2 / np.sqrt(w))
    return np.asarray(middle + np.bincount(at, w * away, n_levels) / np.maximum(all_of, 1e-12))


def _explained(u: Array, w: Array, a: Array, b: Array, c: Array, slopes: bool) -> Array:
    """[u w] [[a b] [b c]]^-1 [u w]': what severity, and the slope where it is the rater's own, have absorbed."""
    if not slopes:
        return np.asarray(u**2 / np.maximum(a, 1e-12))
    determinant = a * c - b**2
    both = (u**2 * c - 2 * u * w * b + w**2 * a) / np.maximum(determinant, 1e-12)
    return np.asarray(np.where(determinant > 1e-9 * a * c, both, u**2 / np.maximum(a, 1e-12)))
