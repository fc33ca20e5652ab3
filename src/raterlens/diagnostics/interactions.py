"""Bias: is a rater more severe than usual on one item, with one group of students, in one period?

The effect gamma of a level is added to the predictor of the rater's ratings there. At the fit, with U and I the score
and the information of gamma after severity and slope are taken out, gamma = U / I in one step, U / sqrt(I) tests it.
The information is the observed one of the marginal likelihood: what complete data would have, less what not knowing
abilities costs, with residuals taken as linear in ability across a student's posterior. Where ratings vary more than
the model says (a halo, say), the sampling variance of U seen over students replaces the model's.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.diagnostics.grouping import grouped
from raterlens.diagnostics.residuals import Residuals
from raterlens.diagnostics.testing import adjusted, two_sided

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# Five or so ratings of middling work. With less, one rating alone would decide.
_LEAST_INFORMATION = 1.0


def interaction(found: Residuals, level: NDArray[np.integer], labels: pl.Series, name: str) -> pl.DataFrame:
    """A row for every rater and level of something that ratings differ in.

    `severity` is how much more severe than with other levels the rater is, beyond what holds for all raters;
    not-a-number where the ratings are too few to say.
    """
    ratings, pairs, n_levels = found.ratings, found.pairs, len(labels)
    cell_of_rating = ratings.rater.astype(np.int64) * n_levels + level
    n_cells = ratings.n_raters * n_levels
    theta = found.ability.mean[found.judged]
    # Cov(residual, ability) over the posterior, and that of a whole pair.
    lean = found.tilt - theta * found.score
    ability = found.ability.mean[pairs.judged]
    of_pair = _Pair(found.tilt_of_pair - ability * found.score_of_pair, found.score_of_pair, ability)
    width = np.maximum(found.ability.sd[pairs.judged] ** 2, 1e-12)

    # The ratings of a pair on one level.
    part = grouped(pairs.of_rating, len(pairs), level, n_levels)
    pair, cell = pairs.of_rating[part.example], cell_of_rating[part.example]
    lean_part, score_part = (np.bincount(part.of_row, values, len(part)) for values in (lean, found.score))

    def by_cell(of_rating: Array, of_part: Array) -> Array:
        return np.asarray(
            np.bincount(cell_of_rating, of_rating, n_cells) - np.bincount(cell, of_part, n_cells), float
        )

    def by_rater(of_rating: Array, of_pair: Array) -> Array:
        n = ratings.n_raters
        return np.asarray(
            np.bincount(ratings.rater, of_rating, n) - np.bincount(pairs.rater, of_pair, n), float
        )

    info, of_width = found.information, 1 / width
    own = by_cell(info, lean_part**2 * of_width[pair])
    missing = lean_part * of_pair.lean[pair] * of_width[pair]
    with_severity = by_cell(info, missing)
    with_slope = by_cell(info * theta, missing * of_pair.theta[pair])
    lean_squared = of_pair.lean**2 * of_width
    a = by_rater(info, lean_squared)
    b = by_rater(info * theta, lean_squared * of_pair.theta)
    c = by_rater(info * theta**2, lean_squared * of_pair.theta**2)
    rater = np.repeat(np.arange(ratings.n_raters), n_levels)
    information = own - _explained(with_severity, with_slope, a[rater], b[rater], c[rater], found.own_slopes)

    score: Array = np.bincount(cell_of_rating, found.score, n_cells).astype(float)
    of_level = np.arange(n_cells) % n_levels
    # What holds for all raters, such as a group of abler students, is no rater's bias.
    score = score - own * common(score, own, of_level, n_levels)[of_level]
    seen = np.bincount(cell, score_part**2, n_cells)
    shared = np.bincount(cell, score_part * of_pair.score[pair], n_cells)
    whole = np.bincount(pairs.rater, of_pair.score**2, ratings.n_raters)[rater]
    sampled = seen - shared**2 / np.maximum(whole, 1e-12)

    count = np.bincount(cell_of_rating, minlength=n_cells)
    kept = np.flatnonzero(count)
    information = np.where(information >= _LEAST_INFORMATION, information, np.nan)[kept]
    deviation = np.sqrt(np.maximum(information, sampled[kept]))
    z = -score[kept] / deviation
    p = two_sided(z)
    means = {
        column: np.bincount(cell_of_rating, values, n_cells)[kept] / count[kept]
        for column, values in (("mean_score", ratings.score), ("expected", found.expected))
    }
    return pl.DataFrame(
        {
            "rater": ratings.raters.gather(rater[kept]),
            name: labels.gather(of_level[kept]),
            "n": count[kept],
            **means,
            "severity": -score[kept] / information,
            "severity_se": deviation / information,
            "z": z,
            "p": p,
            "p_adjusted": adjusted(p),
        }
    )


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


class _Pair:
    def __init__(self, lean: Array, score: Array, theta: Array) -> None:
        self.lean, self.score, self.theta = lean, score, theta


def _explained(u: Array, w: Array, a: Array, b: Array, c: Array, slopes: bool) -> Array:
    """[u w] [[a b] [b c]]^-1 [u w]': what severity, and the slope where it is the rater's own, have absorbed."""
    if not slopes:
        return np.asarray(u**2 / np.maximum(a, 1e-12))
    determinant = a * c - b**2
    both = (u**2 * c - 2 * u * w * b + w**2 * a) / np.maximum(determinant, 1e-12)
    return np.asarray(np.where(determinant > 1e-9 * a * c, both, u**2 / np.maximum(a, 1e-12)))
