"""Infit, outfit, correlations, unexpected ratings, curves, separation and reliability."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special

from raterlens.base.arrays import Array
from raterlens.diagnostics.rater_effects import rater_moment
from raterlens.diagnostics.residuals import Residuals
from raterlens.estimation.scoring import places_of
from raterlens.inference.expected_scores import rater_scores
from raterlens.models.calibration import Calibration

# ------------------------------------------------------------------------------------------------ fit statistics


# Infit and outfit mean squares, correlations and unexpected ratings: how well the model describes whom.
#
#     infit = sum E[(y - mu)^2] / sum E[v],      outfit = mean of E[(y - mu)^2 / v]
#
# with E over each student's posterior, as PyPI's mirt 1.2.0 defines them for marginal estimation. Both are 1 on average
# under the model. Above 1: noisier than the model expects; below 1: more predictable.

UNEXPECTED = 0.05
"""A score that had at most this probability is unexpected."""
MOST_LISTED = 1_000
_MEAN_SQUARES = ("infit", "infit_z", "outfit", "outfit_z")


def sums_of_contexts(found: Residuals) -> dict[str, Array]:
    """Sums for raters' and items' statistics over the ratings of each context: one pass for both.

    x: ability according to the other raters; y: score; m: score that they foresee.
    """
    x, m = found.rest[found.pairs.of_rating], found.foreseen
    y = found.ratings.score.astype(np.float64)
    infit, outfit = found.squared - found.variance, found.standardised - 1
    parts = {"squared": found.squared, "variance": found.variance, "standardised": found.standardised}
    parts |= {"infit": infit, "outfit": outfit, "infit_squared": infit**2, "outfit_squared": outfit**2}
    parts |= {"x": x, "y": y, "m": m, "xx": x * x, "yy": y * y, "mm": m * m, "xy": x * y, "xm": x * m}
    parts |= {"noise": found.foreseen_variance, "n": np.ones(len(y))}
    size = len(found.model.contexts)
    return {name: np.bincount(found.context, part, size).astype(np.float64) for name, part in parts.items()}


def rater_fit(found: Residuals, sums: dict[str, Array] | None = None) -> pl.DataFrame:
    """A row per rater: mean squares with standardised values, and correlation with the other raters' view."""
    ratings, pairs = found.ratings, found.pairs
    of = _folded(sums or sums_of_contexts(found), found.model.contexts.rater, ratings.n_raters)
    infit = rater_moment(found, pairs.sums(found.squared - found.variance))
    outfit = rater_moment(found, pairs.sums(found.standardised - 1))
    table = pl.DataFrame({"rater": ratings.raters, **_statistics(of, infit.z, outfit.z)})
    # Two error rates per rater fit mean squares of 1 exactly, whatever the rater does: they say nothing.
    return table.with_columns(
        pl.lit(float("nan")).alias(name) for name in _MEAN_SQUARES * found.model.categories
    )


def item_fit(found: Residuals, sums: dict[str, Array]) -> pl.DataFrame:
    """A row per item, with the columns of `rater_fit`."""
    of = _folded(sums, found.model.contexts.item, found.ratings.n_items)
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
    first: at most 1,000; of marks on a fine scale, a mark as far out on either side had it. In a panel without fault a
    few of every hundred ratings are among them."""
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
            "z": (ratings.score[rows] - found.foreseen[rows])
            / np.sqrt(np.maximum(found.foreseen_variance[rows], 1e-12)),
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


# --------------------------------------------------------------------------------------------------- reliability


_STEP = 1e-3
"""In severity, for its effect on scores"""
_COLUMNS = ("true_sd", "mean_error", "separation", "strata", "reliability", "chi_square", "p")


def reliability(
    students: pl.DataFrame, raters: pl.DataFrame, items: pl.DataFrame, *, drawn: bool = False
) -> pl.DataFrame:
    """A row each for students, raters and items: separation G = true spread / error, strata (4 G + 1) / 3,
    reliability G² / (1 + G²), and the chi-square of the hypothesis that all are the same.

    A high reliability of *raters* means that they differ reliably in severity: a board wants it low. Students'
    abilities, and severities that are `drawn` to each other by a prior, are posterior means, which vary less than what
    they estimate, so their reliability is the variance of the means over its sum with the mean posterior variance; they
    have no chi-square.
    """
    rows: list[tuple[object, ...]] = []
    parts = (("students", students, "theta"), ("raters", raters, "eta"), ("items", items, "delta"))
    for name, table, measure in parts:
        value, error = (table[c].cast(pl.Float64).to_numpy() for c in (measure, f"{measure}_se"))
        fixed = name == "items" or (name == "raters" and not drawn)
        rows.append((name, *(_fixed if fixed else _drawn)(value, error)))
    schema = {"of": pl.String, "n": pl.Int64, **dict.fromkeys(_COLUMNS, pl.Float64)}
    return pl.DataFrame(rows, schema=schema, orient="row")


class Fair(NamedTuple):
    """Mean scores if all were rated alike, with standard errors: NaN where there are none."""

    average: Array
    error: Array

    def beside(self, table: pl.DataFrame) -> pl.DataFrame:
        """The table with `fair_average` and `fair_average_se`."""
        return table.with_columns(
            pl.Series("fair_average", self.average), pl.Series("fair_average_se", self.error)
        )


def fair_raters(calibration: Calibration, raters: pl.DataFrame, labels: pl.Series) -> Fair:
    """The mean score that each rater would give an average student over all items, as the file counts: what severity
    amounts to in scores. `raters` is the fit's table."""
    own = places_of(labels, raters["rater"], "raters")
    harsher = {**calibration.effects, "severity": calibration.effects["severity"] + _STEP}
    average, less = (rater_scores(each)[own] for each in (calibration, replace(calibration, effects=harsher)))
    fall = (average - less) / (_STEP * calibration.unit)
    return Fair(average, np.abs(fall) * raters["eta_se"].cast(pl.Float64).to_numpy()[own])


def fair_items(calibration: Calibration, items: pl.DataFrame, labels: pl.Series) -> Fair:
    """The mean score that the average rater would give an average student on each item, as the file counts. `items` is
    the fit's table."""
    mean = np.array([calibration.population[0]])
    place = places_of(labels, items["item"], "items")
    rows = calibration.average().rows(np.zeros(len(place), np.int64), place.astype(np.int64))

    def scores(harder: float) -> Array:
        return np.asarray(rows.chances(mean, harder)[:, :, 0] @ calibration.values)

    found = scores(0.0)
    fall = (found - scores(_STEP)) / (_STEP * calibration.unit)
    return Fair(found, np.abs(fall) * items["delta_se"].cast(pl.Float64).to_numpy()[place])


def fair_shares(found: Residuals, raters: pl.DataFrame) -> tuple[Fair, Fair]:
    """Latent classes: the share of passes that each rater would give if they rated all work, and the share of each
    student's work that deserves to pass."""
    ratings, deserved = found.ratings, found.ability.mean
    place = places_of(ratings.raters, raters["rater"], "raters")
    sensitivity, specificity = (raters[name].to_numpy()[place] for name in ("sensitivity", "specificity"))
    overall = float(deserved.mean())
    student = np.empty(len(deserved), np.int64)
    student[found.model.judged] = ratings.student
    count = np.bincount(student, minlength=ratings.n_students)
    share = np.bincount(student, deserved, ratings.n_students) / count
    doubt = np.bincount(student, found.ability.sd**2, ratings.n_students)
    passes = overall * sensitivity + (1 - overall) * (1 - specificity)
    return Fair(passes, np.full_like(passes, np.nan)), Fair(share, np.sqrt(doubt) / count)


def _row(true: float, noise: float) -> tuple[float, float, float, float, float]:
    g = np.sqrt(true / noise) if noise > 0 else np.nan
    return (
        float(np.sqrt(true)),
        float(np.sqrt(noise)),
        float(g),
        float((4 * g + 1) / 3),
        true / (true + noise),
    )


def _drawn(measure: Array, error: Array) -> tuple[float, ...]:
    return (len(measure), *_row(float(np.var(measure)), float(np.mean(error**2))), np.nan, np.nan)


def _fixed(measure: Array, error: Array) -> tuple[float, ...]:
    known = np.isfinite(measure) & np.isfinite(error) & (error > 0)
    x, e = measure[known], error[known]
    if len(x) < 2:
        return (len(x), *([np.nan] * len(_COLUMNS)))
    noise = float(np.mean(e**2))
    weight = 1 / e**2
    chi = float(weight @ (x - weight @ x / weight.sum()) ** 2)
    true = max(float(np.var(x, ddof=1)) - noise, 0.0)
    return (len(x), *_row(true, noise), chi, float(special.chdtrc(len(x) - 1, chi)))
