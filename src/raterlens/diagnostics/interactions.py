"""Bias: is a rater more severe than usual on one item, with one group of students, in one period?

The effect gamma of a level is added to the predictor of the rater's ratings there. At the fit, with U and I the score
and the information of gamma after severity and slope are taken out, gamma = U / I in one step, U / sqrt(I) tests it.
The information is the observed one of the marginal likelihood: what complete data would have, less what not knowing
abilities costs, with residuals taken as linear in ability across a student's posterior. Where ratings vary more than
the model says (a halo, say), the sampling variance of U seen over students replaces the model's.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.base.arrays import Array, Indices
from raterlens.diagnostics.grouping import grouped, large
from raterlens.diagnostics.residuals import Residuals
from raterlens.diagnostics.score_tests import adjusted, two_sided

# Five or so ratings of middling work. With less, one rating alone would decide.
_LEAST_INFORMATION = 1.0


def interaction(found: Residuals, level: NDArray[np.integer], labels: pl.Series, name: str) -> pl.DataFrame:
    """A row for every rater and level of something that ratings differ in.

    `severity` is how much more severe than with other levels the rater is, beyond what holds for all raters;
    not-a-number where the ratings are too few to say.
    """
    n_raters, n_levels = found.ratings.n_raters, len(labels)
    of = _sums(found, level, n_levels)
    rater, of_level = np.divmod(np.arange(n_raters * n_levels), n_levels)
    a, b, c, whole = (values[rater] for values in (of.severity, of.both, of.slope, of.whole))
    information = of.own - _explained(of.with_severity, of.with_slope, a, b, c, found.own_slopes)
    # What holds for all raters, such as a group of abler students, is no rater's bias.
    score = of.score - of.own * common(of.score, of.own, of_level, n_levels)[of_level]
    sampled = of.seen - of.shared**2 / np.maximum(whole, 1e-12)

    kept = np.flatnonzero(of.n)
    count = of.n[kept]
    information = np.where(information >= _LEAST_INFORMATION, information, np.nan)[kept]
    deviation = np.sqrt(np.maximum(information, sampled[kept]))
    z = -score[kept] / deviation
    p = two_sided(z)
    return pl.DataFrame(
        {
            "rater": found.ratings.raters.gather(rater[kept]),
            name: labels.gather(of_level[kept]),
            "n": count.astype(np.int64),
            "mean_score": of.given[kept] / count,
            "expected": of.expected[kept] / count,
            "severity": -score[kept] / information,
            "severity_se": deviation / information,
            "z": z,
            "p": p,
            "p_adjusted": adjusted(p),
        }
    )


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Over the ratings of each rater on each level ("cell"), then of each rater."""

    n: Array
    """(cells,) ratings"""
    given: Array
    """(cells,) their scores"""
    expected: Array
    score: Array
    """(cells,) U of the level"""
    own: Array
    """(cells,) information of the level's effect, what abilities cost taken off; so are the next five"""
    with_severity: Array
    """(cells,) that it shares with severity"""
    with_slope: Array
    seen: Array
    """(cells,) squares of what a student contributes to U"""
    shared: Array
    """(cells,) products of it with what the student contributes to the score of severity"""
    severity: Array
    """(raters,) information"""
    both: Array
    slope: Array
    whole: Array
    """(raters,) squares of what a student contributes to the score of severity"""


def _sums(found: Residuals, level: NDArray[np.integer], n_levels: int) -> Sums:
    if large(found.ratings.n_ratings):
        return _compiled_sums(found, level, n_levels)
    ratings, pairs = found.ratings, found.pairs
    n_raters, n_cells = ratings.n_raters, ratings.n_raters * n_levels
    cell_of_rating = ratings.rater.astype(np.int64) * n_levels + level
    info, theta, ability = (
        found.information,
        found.ability.mean[found.judged],
        found.ability.mean[pairs.judged],
    )
    of_width = 1 / np.maximum(found.ability.sd[pairs.judged] ** 2, 1e-12)
    # The ratings of a pair on one level, and their Cov(residual, ability) over the posterior; that of a whole pair.
    part = grouped(pairs.of_rating, len(pairs), level, n_levels)
    pair, cell = pairs.of_rating[part.example], cell_of_rating[part.example]
    lean_part, score_part = (
        np.bincount(part.of_row, values, len(part))
        for values in (found.tilt - theta * found.score, found.score)
    )
    lean = found.tilt_of_pair - ability * found.score_of_pair
    missing, lost = lean_part * lean[pair] * of_width[pair], lean**2 * of_width

    def ratings_of(values: NDArray[np.generic] | None) -> Array:
        return np.bincount(cell_of_rating, values, n_cells).astype(np.float64)

    def parts_of(values: NDArray[np.generic]) -> Array:
        return np.bincount(cell, values, n_cells).astype(np.float64)

    def by_rater(of_rating: Array, of_pair: Array) -> Array:
        sums = np.bincount(ratings.rater, of_rating, n_raters), np.bincount(pairs.rater, of_pair, n_raters)
        return np.asarray(sums[0] - sums[1], np.float64)

    return Sums(
        n=ratings_of(None),
        given=ratings_of(ratings.score),
        expected=ratings_of(found.expected),
        score=ratings_of(found.score),
        own=ratings_of(info) - parts_of(lean_part**2 * of_width[pair]),
        with_severity=ratings_of(info) - parts_of(missing),
        with_slope=ratings_of(info * theta) - parts_of(missing * ability[pair]),
        seen=parts_of(score_part**2),
        shared=parts_of(score_part * found.score_of_pair[pair]),
        severity=by_rater(info, lost),
        both=by_rater(info * theta, lost * ability),
        slope=by_rater(info * theta**2, lost * ability**2),
        whole=np.bincount(pairs.rater, found.score_of_pair**2, n_raters).astype(np.float64),
    )


def _compiled_sums(found: Residuals, level: NDArray[np.integer], n_levels: int) -> Sums:
    from raterlens.kernels.diagnostic_sums import add_level_sums  # may be missing

    pairs, n_raters = found.pairs, found.ratings.n_raters
    of_cell, of_rater = np.zeros((n_raters * n_levels, 9)), np.zeros((n_raters, 4))
    add_level_sums(
        (pairs.rater, pairs.judged, found.score_of_pair, found.tilt_of_pair),
        (pairs.ratings.first, pairs.ratings.order, level, n_levels),
        (found.ratings.score, found.expected, found.score, found.tilt, found.information),
        (found.ability.mean, found.ability.sd),
        (of_cell, of_rater),
    )
    return Sums(*of_cell.T, *of_rater.T)


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
