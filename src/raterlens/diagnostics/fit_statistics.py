"""Infit and outfit mean squares, correlations and unexpected ratings: how well the model describes whom.

    infit = sum E[(y - mu)^2] / sum E[v],      outfit = mean of E[(y - mu)^2 / v]

with E over each student's posterior, as PyPI's mirt 1.2.0 defines them for marginal estimation. Both are 1 on average
under the model. Above 1: noisier than the model expects; below 1: more predictable.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.diagnostics.residuals import Residuals
from raterlens.diagnostics.testing import rater_moment

Array = NDArray[np.float64]

UNEXPECTED = 0.05
"""A score that had at most this probability is unexpected."""
MOST_LISTED = 1_000


def rater_fit(found: Residuals) -> pl.DataFrame:
    """A row a rater: mean squares with standardised values, and correlation with the other raters' view."""
    ratings, pairs = found.ratings, found.pairs
    infit = rater_moment(found, pairs.sums(found.squared - found.variance))
    outfit = rater_moment(found, pairs.sums(found.standardised - 1))
    seen, foreseen = _correlations(found, ratings.rater, ratings.n_raters)
    return pl.DataFrame(
        {
            "rater": ratings.raters,
            "n": np.bincount(ratings.rater, minlength=ratings.n_raters),
            **_mean_squares(found, ratings.rater, ratings.n_raters, infit.z, outfit.z),
            "correlation": seen,
            "correlation_expected": foreseen,
        }
    )


def item_fit(found: Residuals) -> pl.DataFrame:
    """A row an item, with the columns of `rater_fit`."""
    ratings, n = found.ratings, found.ratings.n_items
    z = []
    for moment in (found.squared - found.variance, found.standardised - 1):
        total, spread = (np.bincount(ratings.item, part, n) for part in (moment, moment**2))
        z.append(total / np.sqrt(np.maximum(spread, 1e-300)))
    seen, foreseen = _correlations(found, ratings.item, n)
    return pl.DataFrame(
        {
            "item": ratings.items,
            "n": np.bincount(ratings.item, minlength=n),
            **_mean_squares(found, ratings.item, n, *z),
            "correlation": seen,
            "correlation_expected": foreseen,
        }
    )


def student_fit(found: Residuals) -> pl.DataFrame:
    """A row a student. A student's ratings are too few for a standard deviation of their own, so standardised values
    follow from the model's fourth moments by the cube root of Wilson and Hilferty, as in FACETS and Winsteps."""
    ratings, n = found.ratings, found.ratings.n_students
    count = np.bincount(ratings.student, minlength=n)
    variance = np.bincount(ratings.student, found.variance, n)
    infit = np.bincount(ratings.student, found.variance**2 * found.fourth, n) / variance**2
    outfit = np.bincount(ratings.student, found.fourth, n) / count**2
    squares = _mean_squares(found, ratings.student, n, np.zeros(n), np.zeros(n))
    squares["infit_z"] = _cube_root(squares["infit"], infit)
    squares["outfit_z"] = _cube_root(squares["outfit"], outfit)
    return pl.DataFrame({"student": ratings.students, "n": count, **squares})


def unexpected(found: Residuals, labels: dict[str, pl.Series]) -> pl.DataFrame:
    """Ratings whose score had a probability of at most 5 % according to the student's other raters, the least probable
    first: at most 1,000. In a panel without fault a few of every hundred ratings are among them."""
    ratings = found.ratings
    p = found.probability
    candidates = np.flatnonzero(p <= UNEXPECTED)
    if len(candidates) > MOST_LISTED:
        candidates = candidates[np.argpartition(p[candidates], MOST_LISTED)[:MOST_LISTED]]
    rows = candidates[np.argsort(p[candidates], kind="stable")]
    return pl.DataFrame(
        {
            "row": rows,
            "student": labels["student"].gather(ratings.student[rows]),
            "rater": labels["rater"].gather(ratings.rater[rows]),
            "item": labels["item"].gather(ratings.item[rows]),
            "score": ratings.score[rows],
            "expected": found.foreseen[rows],
            "probability": p[rows],
        }
    )


def curves(found: Residuals, groups: int = 6) -> pl.DataFrame:
    """Observed and expected mean scores of every rater along ability: students in groups of equal size by what the
    *other* raters say of them. Where the observed curve leaves the expected one by more than two standard errors, the
    rater sees ability differently there."""
    ratings, n = found.ratings, found.ratings.n_raters
    rest = found.rest[found.pairs.of_rating]
    edges = np.quantile(found.rest, np.linspace(0, 1, groups + 1)[1:-1])
    cell = ratings.rater.astype(np.int64) * groups + np.searchsorted(edges, rest)
    count = np.bincount(cell, minlength=n * groups)
    kept = np.flatnonzero(count)
    mean = {
        name: np.bincount(cell, values, n * groups)[kept] / count[kept]
        for name, values in (
            ("ability", rest),
            ("observed", ratings.score.astype(np.float64)),
            ("expected", found.foreseen),
        )
    }
    spread = np.bincount(cell, found.foreseen_variance, n * groups)[kept]
    return pl.DataFrame(
        {
            "rater": ratings.raters.gather(kept // groups),
            "group": kept % groups + 1,
            "n": count[kept],
            **mean,
            "difference": mean["observed"] - mean["expected"],
            "se": np.sqrt(spread) / count[kept],
        }
    )


def _mean_squares(
    found: Residuals, level: NDArray[np.int32], n: int, infit_z: Array, outfit_z: Array
) -> dict[str, Array]:
    squared, variance, standardised = (
        np.bincount(level, part, n) for part in (found.squared, found.variance, found.standardised)
    )
    return {
        "infit": squared / variance,
        "infit_z": infit_z,
        "outfit": standardised / np.bincount(level, minlength=n),
        "outfit_z": outfit_z,
    }


def _cube_root(mean_square: Array, variance: Array) -> Array:
    q = np.sqrt(np.maximum(variance, 1e-12))
    return np.asarray((np.cbrt(mean_square) - 1) * 3 / q + q / 3)


def _correlations(found: Residuals, level: NDArray[np.int32], n: int) -> tuple[Array, Array]:
    """Of scores with abilities according to the other raters: as seen, and as the model expects it."""
    rest, y = found.rest[found.pairs.of_rating], found.ratings.score.astype(np.float64)
    count = np.bincount(level, minlength=n)

    def centred(values: Array) -> Array:
        return np.asarray(values - (np.bincount(level, values, n) / count)[level])

    x, u, m = centred(rest), centred(y), centred(found.foreseen)
    xx, uu, xu, xm, mm = (np.bincount(level, part, n) for part in (x * x, u * u, x * u, x * m, m * m))
    noise = np.bincount(level, found.foreseen_variance, n)
    with np.errstate(invalid="ignore", divide="ignore"):
        # Students with one rater only have nobody to agree with: no spread in x.
        xx = np.where(xx > 1e-9 * count, xx, np.nan)
        return xu / np.sqrt(xx * uu), xm / np.sqrt(xx * (mm + noise))
