"""Infit and outfit mean squares, correlations and unexpected ratings: how well the model describes whom.

    infit = sum E[(y - mu)^2] / sum E[v],      outfit = mean of E[(y - mu)^2 / v]

with E over each student's posterior, as PyPI's mirt 1.2.0 defines them for marginal estimation. Both are 1 on average
under the model. Above 1: noisier than the model expects; below 1: more predictable.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.base.arrays import Array
from raterlens.diagnostics.grouping import large
from raterlens.diagnostics.residuals import Residuals
from raterlens.diagnostics.score_tests import rater_moment

UNEXPECTED = 0.05
"""A score that had at most this probability is unexpected."""
MOST_LISTED = 1_000
_MEAN_SQUARES = ("infit", "infit_z", "outfit", "outfit_z")


def sums_of_contexts(found: Residuals) -> dict[str, Array]:
    """Sums for raters' and items' statistics over the ratings of each context: one pass for both.

    x: ability according to the other raters; y: score; m: score that they foresee.
    """
    if large(found.ratings.n_ratings):
        return _compiled_sums(found)
    x, m = found.rest[found.pairs.of_rating], found.foreseen
    y = found.ratings.score.astype(np.float64)
    infit, outfit = found.squared - found.variance, found.standardised - 1
    parts = {"squared": found.squared, "variance": found.variance, "standardised": found.standardised}
    parts |= {"infit": infit, "outfit": outfit, "infit_squared": infit**2, "outfit_squared": outfit**2}
    parts |= {"x": x, "y": y, "m": m, "xx": x * x, "yy": y * y, "mm": m * m, "xy": x * y, "xm": x * m}
    parts |= {"noise": found.foreseen_variance, "n": np.ones(len(y))}
    size = len(found.contexts)
    return {name: np.bincount(found.context, part, size).astype(np.float64) for name, part in parts.items()}


def _compiled_sums(found: Residuals) -> dict[str, Array]:
    from raterlens.kernels.diagnostic_sums import add_context_sums  # may be missing

    names = ["squared", "variance", "standardised", "infit", "outfit", "infit_squared", "outfit_squared"]
    names += ["x", "y", "m", "xx", "yy", "mm", "xy", "xm", "noise", "n"]
    sums = np.zeros((len(found.contexts), len(names)))
    add_context_sums(
        (found.context, found.pairs.of_rating, found.ratings.score, found.rest),
        (found.squared, found.variance, found.standardised, found.foreseen, found.foreseen_variance),
        sums,
    )
    return dict(zip(names, sums.T, strict=True))


def rater_fit(found: Residuals, sums: dict[str, Array] | None = None) -> pl.DataFrame:
    """A row per rater: mean squares with standardised values, and correlation with the other raters' view."""
    ratings, pairs = found.ratings, found.pairs
    of = _folded(sums or sums_of_contexts(found), found.contexts.rater, ratings.n_raters)
    infit = rater_moment(found, pairs.sums(found.squared - found.variance))
    outfit = rater_moment(found, pairs.sums(found.standardised - 1))
    table = pl.DataFrame({"rater": ratings.raters, **_statistics(of, infit.z, outfit.z)})
    # Two error rates per rater fit mean squares of 1 exactly, whatever the rater does: they say nothing.
    return table.with_columns(pl.lit(float("nan")).alias(name) for name in _MEAN_SQUARES * found.categories)


def item_fit(found: Residuals, sums: dict[str, Array]) -> pl.DataFrame:
    """A row per item, with the columns of `rater_fit`."""
    of = _folded(sums, found.contexts.item, found.ratings.n_items)
    infit_z, outfit_z = (
        of[name] / np.sqrt(np.maximum(of[f"{name}_squared"], 1e-300)) for name in ("infit", "outfit")
    )
    return pl.DataFrame({"item": found.ratings.items, **_statistics(of, infit_z, outfit_z)})


def student_fit(found: Residuals) -> pl.DataFrame:
    """A row per student. A student's ratings are too few for a standard deviation of their own, so standardised values
    follow from the model's fourth moments by the cube root of Wilson and Hilferty, as in FACETS and Winsteps."""
    ratings, n = found.ratings, found.ratings.n_students
    count = np.bincount(ratings.student, minlength=n)
    variance = np.bincount(ratings.student, found.variance, n)
    infit = np.bincount(ratings.student, found.variance**2 * found.fourth, n) / variance**2
    outfit = np.bincount(ratings.student, found.fourth, n) / count**2
    squared, standardised = (
        np.bincount(ratings.student, part, n) for part in (found.squared, found.standardised)
    )
    columns = {
        "infit": squared / variance,
        "infit_z": _cube_root(squared / variance, infit),
        "outfit": standardised / count,
        "outfit_z": _cube_root(standardised / count, outfit),
    }
    return pl.DataFrame({"student": ratings.students, "n": count, **columns})


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
    ratings, pairs, n = found.ratings, found.pairs, found.ratings.n_raters
    # Rounded, so that students with the same ratings stay in the same group.
    known = np.round(found.rest, 9)
    edges = np.quantile(known, np.linspace(0, 1, groups + 1)[1:-1])
    cell = pairs.rater * groups + np.searchsorted(edges, known)
    parts = [pairs.sums(values) for values in (ratings.score, found.foreseen, found.foreseen_variance)]
    observed, expected, spread, count, ability = (
        np.bincount(cell, part, n * groups).astype(np.float64)
        for part in (*parts, pairs.size, pairs.size * known)
    )
    kept = np.flatnonzero(count)
    count, spread = count[kept], spread[kept]
    observed, expected = observed[kept] / count, expected[kept] / count
    return pl.DataFrame(
        {
            "rater": ratings.raters.gather(kept // groups),
            "group": kept % groups + 1,
            "n": count.astype(np.int64),
            "ability": ability[kept] / count,
            "observed": observed,
            "expected": expected,
            "difference": observed - expected,
            "se": np.sqrt(spread) / count,
        }
    )


def _folded(sums: dict[str, Array], level: NDArray[np.int64], n: int) -> dict[str, Array]:
    """Sums over contexts to sums over the levels that they have."""
    return {name: np.bincount(level, values, n).astype(np.float64) for name, values in sums.items()}


def _statistics(of: dict[str, Array], infit_z: Array, outfit_z: Array) -> dict[str, Array]:
    """Mean squares, and correlations of scores with abilities according to the other raters: as seen, and as the
    model expects it."""
    n = of["n"]
    xx, yy, mm, xy, xm = (of[a + b] - of[a] * of[b] / n for a, b in ("xx", "yy", "mm", "xy", "xm"))
    with np.errstate(invalid="ignore", divide="ignore"):
        # Students with one rater only have nobody to agree with: no spread in x.
        xx = np.where(xx > 1e-9 * n, xx, np.nan)
        yy = np.where(yy > 1e-9 * n, yy, np.nan)
        return {
            "n": n.astype(np.int64),
            "infit": of["squared"] / of["variance"],
            "infit_z": infit_z,
            "outfit": of["standardised"] / n,
            "outfit_z": outfit_z,
            "correlation": xy / np.sqrt(xx * yy),
            "correlation_expected": xm / np.sqrt(xx * (np.maximum(mm, 0.0) + of["noise"])),
        }


def _cube_root(mean_square: Array, variance: Array) -> Array:
    # Beyond that the cube root is no longer near normal, and would call single surprises certain.
    q = np.sqrt(np.clip(variance, 1e-12, 2.0))
    return np.asarray((np.cbrt(mean_square) - 1) * 3 / q + q / 3)
