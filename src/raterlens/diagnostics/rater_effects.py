"""Score tests for each rater: responsiveness, alternation, centrality, halo, and bias by level."""

from collections.abc import Callable
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


_UNITS = {"logit": "logits", "probit": "probits", "identity": "marks"}


def unit_of(link: str) -> str:
    """The unit of severities.

    Examples
    --------
    >>> unit_of("logit"), unit_of("cloglog")
    ('logits', 'units of the cloglog link')
    """
    return _UNITS.get(link, f"units of the {link} link")


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
    """A row per rater: each effect with its standard error (alternation with its z), not-a-number where it cannot be
    measured."""
    own, nothing = _own_scores(found), np.full(found.ratings.n_raters, np.nan)
    responsiveness = _responsiveness(found, own) or (nothing, nothing)
    alternation = _alternation(found, own)
    halo = centrality = (nothing, nothing)
    # Ratings that repeat a question share the rater's reading of it, which is no halo.
    if found.ratings.draw is None:
        reach = np.bincount(found.pairs.rater, found.alone, len(nothing))
        moment = rater_moment(found, found.together)
        reach, sd = np.where(reach > 1e-9, reach, np.nan), np.where(moment.sd > 0, moment.sd, np.nan)
        halo = moment.sum / reach, sd / reach
    # Score test of gamma in log P(y) + gamma y (K - 1 - y), times its largest value; not where the model has each
    # rater's own use of the scale.
    if found.centrality is not None and not found.own_thresholds:
        moment, k = rater_moment(found, found.pairs.sums(found.centrality)), found.model.response.n_categories
        # The sampling variance of the score is also its information.
        top = (k - 1) // 2 * (k // 2) / np.where(moment.sd > 0, moment.sd**2, np.nan)
        centrality = top * moment.sum, top * moment.sd
    names = [
        f"{name}{end}"
        for name in ("responsiveness", "alternation", "centrality", "halo")
        for end in ("", "_se")
    ]
    columns = dict(zip(names, (*responsiveness, *alternation, *centrality, *halo), strict=True))
    return pl.DataFrame({"rater": found.ratings.raters, **columns}).rename(
        {"alternation_se": "alternation_z"}
    )


class _Own(NamedTuple):
    """A rater's own scores, and what the other raters of their students say."""

    on_item: Array
    """(raters x items,) mean score of the rater on the item"""
    mean: Array
    """(raters,) mean score"""
    within: Array
    """(raters,) variance of the scores, each less the rater's mean on its item"""
    variance: Array
    """(raters,) of the scores"""
    n: Array
    """(raters,) ratings"""
    centre: Array
    """(raters,) mean ability of the students that they rated, a rating at a time"""


def _own_scores(found: Residuals) -> _Own:
    contexts, pairs, n_raters = found.model.contexts, found.pairs, found.ratings.n_raters
    score = np.arange(contexts.given.shape[1], dtype=np.float64)
    cell, size = contexts.rater * contexts.n_items + contexts.item, n_raters * contexts.n_items
    n, total, squares = (
        np.bincount(cell, contexts.given @ power, size).reshape(n_raters, -1)
        for power in (score**0, score, score**2)
    )
    on_item, of_rater = total / np.maximum(n, 1), n.sum(axis=1)
    mean = total.sum(axis=1) / of_rater
    within = (squares - total * on_item).sum(axis=1) / of_rater
    variance = squares.sum(axis=1) / of_rater - mean**2
    centre = np.bincount(pairs.rater, pairs.size * found.rest, n_raters) / of_rater
    return _Own(on_item.ravel(), mean, within, variance, of_rater, centre)


def _responsiveness(found: Residuals, own: _Own) -> tuple[Array, Array] | None:
    """Slope of scores, each less the rater's mean on its item, on the ability that the other raters see, over the
    variance of these scores (a very severe rater has little of both), relative to the panel's median. That ability is
    a posterior mean, so its error does not flatten the slope (Berkson)."""
    pairs, n = found.pairs, found.ratings.n_raters
    given, rated = pairs.sums(found.ratings.score - own.on_item[_cell(found.ratings)]), pairs.size
    away = found.rest - own.centre[pairs.rater]
    reach = np.bincount(pairs.rater, rated * away**2, n)
    students = np.bincount(pairs.rater, minlength=n)
    reach = np.where((reach > 1e-6 * own.n) & (students >= FEWEST), reach, np.nan)
    slope = np.bincount(pairs.rater, given * away, n) / reach
    left = given - slope[pairs.rater] * rated * away
    # HC3-like: few students with far abilities carry a slope, and their residuals are too small.
    leverage = np.minimum(rated * away**2 / reach[pairs.rater], 0.9)
    variance = np.bincount(pairs.rater, (left * away / (1 - leverage)) ** 2, n)
    varied = np.isfinite(slope) & (variance > 0)
    unit = np.where(varied, own.within, np.nan)
    typical = np.nanmedian(slope / unit) if varied.any() else 0.0
    return None if typical <= 0 else (slope / unit / typical, np.sqrt(variance) / reach / unit / typical)


def _alternation(found: Residuals, own: _Own) -> tuple[Array, Array]:
    """The most negative of the correlations of successive ratings, in the order of the rows: of the scores
    themselves, and of whether they agree with the other raters ("one right, one wrong, in turn"); each among all
    ratings and among those of the same item. With it, its z, already allowing for four looks (Bonferroni; 0 where that
    is no tail any more)."""
    ratings = found.ratings
    cell, n_items = _cell(ratings), ratings.n_items
    # Pass, fail, pass, fail along an even number of items is always the same score on each, and shows between the items
    # only: where a rater's scores on an item hardly vary, as those of few others, all count from the rater's mean.
    share = np.where(own.variance > 0, own.within / np.maximum(own.variance, 1e-12), 1.0)
    frozen = (share < _HARDLY) & (np.median(share) > 5 * _HARDLY)
    level = np.where(np.repeat(frozen, n_items), np.repeat(own.mean, n_items), own.on_item)
    less = ratings.score - level[cell]
    side = np.sign(found.rest[found.pairs.of_rating] - own.centre[ratings.rater])
    first = np.append(0, np.cumsum(np.bincount(ratings.rater, minlength=ratings.n_raters)))[:-1]
    looks = []
    for group, size in ((ratings.rater, ratings.n_raters), (cell, len(level))):
        order = order_of(group, size)
        followed = np.diff(group[order], append=-1) == 0
        looks += [_successive(values[order], followed, first) for values in (less, less * side)]
    correlation, n = (np.stack(part) for part in zip(*looks, strict=True))
    z = correlation * np.sqrt(n)
    lowest, raters = np.argmin(z, axis=0), np.arange(ratings.n_raters)
    of_four = special.ndtri(np.minimum(4 * special.ndtr(z[lowest, raters]), 0.5))
    return correlation[lowest, raters], np.asarray(of_four)


def _successive(x: NDArray[np.number], followed: NDArray[np.bool_], first: Indices) -> tuple[Array, Array]:
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


def _cell(ratings: Ratings) -> Indices:
    """(ratings,) rater and item in one"""
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
    ratings, n_levels = found.ratings, len(labels)
    cell, size = ratings.rater.astype(np.int64) * n_levels + level, ratings.n_raters * n_levels

    def on_cells(values: NDArray[np.generic] | None = None) -> Array:
        """(raters x levels,)"""
        return np.bincount(cell, values, size).astype(np.float64)

    own, rest, sampled = _information_on_levels(found, level, n_levels, on_cells)
    every, score = np.arange(size) % n_levels, on_cells(found.score)
    # What holds for all raters, such as a group of abler students, is no rater's bias.
    score -= own * common(score, own, every, n_levels)[every]
    n = on_cells()
    kept = np.flatnonzero(n)
    information = np.where(rest >= _LEAST_INFORMATION, rest, np.nan)[kept]
    deviation = np.sqrt(np.maximum(information, sampled[kept]))
    z = -score[kept] / deviation
    p = two_sided(z)
    return pl.DataFrame(
        {
            "rater": ratings.raters.gather(kept // n_levels),
            name: labels.gather(kept % n_levels),
            "n": n[kept].astype(np.int64),
            "mean_score": on_cells(ratings.score)[kept] / n[kept],
            "expected": on_cells(found.expected)[kept] / n[kept],
            "severity": -score[kept] / information,
            "severity_se": deviation / information,
            "z": z,
            "p": p,
            "p_adjusted": adjusted(p),
        }
    )


def _information_on_levels(
    found: Residuals, level: NDArray[np.integer], n_levels: int, on_cells: Callable[[Array], Array]
) -> tuple[Array, Array, Array]:
    """(raters x levels,) each: information of the level's effect, less what not knowing abilities costs; the same with
    severity and slope taken out; and the variance of its score as seen over students, severity taken out."""
    ratings, pairs, size = found.ratings, found.pairs, found.ratings.n_raters * n_levels
    info, theta, ability = found.information, found.theta, found.ability_of_pair
    # The ratings of a pair on one level, and their Cov(residual, ability) over the posterior; that of a whole pair.
    part = grouped(pairs.of_rating, len(pairs), level, n_levels)
    pair = pairs.of_rating[part.example]
    cell_of_part = pairs.rater[pair] * n_levels + level[part.example]
    lean_part, score_part = (
        np.bincount(part.of_row, values, len(part))
        for values in (found.tilt - theta * found.score, found.score)
    )
    lean, width = found.lean_of_pair, found.width_of_pair
    lost = lean**2 / width

    def of_parts(values: NDArray[np.number]) -> Array:
        return np.bincount(cell_of_part, values, size).astype(np.float64)

    def of_rater(of_rating: Array, of_pair: Array) -> Array:
        sums = np.bincount(ratings.rater, of_rating, ratings.n_raters)
        return np.repeat(sums - np.bincount(pairs.rater, of_pair, ratings.n_raters), n_levels)

    own = on_cells(info) - of_parts(lean_part**2 / width[pair])
    missing = lean_part * lean[pair] / width[pair]
    u, w = on_cells(info) - of_parts(missing), on_cells(info * theta) - of_parts(missing * ability[pair])
    # [u w] [[a b] [b c]]^-1 [u w]': what severity, and the slope where it is the rater's own, have absorbed.
    a, b, c = (of_rater(info * theta**k, lost * ability**k) for k in range(3))
    explained = u**2 / np.maximum(a, 1e-12)
    if found.model.own_slopes:
        determinant = a * c - b**2
        both = (u**2 * c - 2 * u * w * b + w**2 * a) / np.maximum(determinant, 1e-12)
        explained = np.where(determinant > 1e-9 * a * c, both, explained)
    whole = found.score_of_pair
    every = np.repeat(np.bincount(pairs.rater, whole**2, ratings.n_raters), n_levels)
    shared = of_parts(score_part * whole[pair])
    return own, own - explained, of_parts(score_part**2) - shared**2 / np.maximum(every, 1e-12)


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
