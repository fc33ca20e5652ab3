"""Agreement of raters on the same work: compact forms of the usual coefficients, with intervals.

What can be agreed on is a student's work on an item ("unit"). Only how many ratings of each score a unit has matters,
so units of the same pattern are counted once with a weight; resampling students changes the weights alone. Tests hold
each coefficient to the library known for it (scikit-learn, statsmodels, krippendorff, pingouin).
"""

from collections.abc import Callable

import numpy as np
import polars as pl
from numpy.random import default_rng
from numpy.typing import NDArray
from scipy import sparse

from raterlens.ratings import Ratings

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Coefficient = Callable[[Array, Array], float]

DRAWS = 400
"""Samples of students behind an interval."""
MOST_PAIRS = 20_000_000
"""Pairs of ratings of the same unit, beyond which raters are not compared two by two."""


def agreement(ratings: Ratings) -> pl.DataFrame:
    """coefficient, value and a 95 % interval from resampled students; not-a-number where no work has two ratings."""
    patterns, held = _patterns(ratings)
    rows: list[tuple[str, float, float, float]] = []
    if len(patterns):
        random, n = default_rng(20250212), held.shape[0]
        draws = [held.T @ np.bincount(random.integers(n, size=n), minlength=n) for _ in range(DRAWS)]
        weight = held.T @ np.ones(n)
    for name, coefficient in COEFFICIENTS.items():
        value = low = high = np.nan
        if len(patterns):
            value = coefficient(patterns, weight)
            values = np.array([coefficient(patterns, draw) for draw in draws])
            if np.isfinite(values).any():
                low, high = np.quantile(values[np.isfinite(values)], [0.025, 0.975])
        rows.append((name, value, float(low), float(high)))
    schema = {"coefficient": pl.String, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _patterns(ratings: Ratings) -> tuple[Array, sparse.csr_array]:
    """(patterns, categories) counts of scores; (students, patterns) how many units of each a student has."""
    cell = ratings.student.astype(np.int64) * ratings.n_items + ratings.item
    distinct, place = np.unique(cell, return_inverse=True)
    k = ratings.n_categories
    counts = np.bincount(place * k + ratings.score, minlength=len(distinct) * k).reshape(-1, k)
    shared = counts.sum(axis=1) > 1
    patterns, which = np.unique(counts[shared], axis=0, return_inverse=True)
    student = (distinct // ratings.n_items)[shared]
    ends = (student, which.ravel())
    shape = (ratings.n_students, len(patterns))
    return patterns.astype(float), sparse.csr_array((np.ones(len(student)), ends), shape=shape)


# ------------------------------------------------------- coefficients of patterns (rows) that occur `weight` times


def exact(c: Array, weight: Array) -> float:
    """Share of two ratings of the same unit that agree."""
    n = c.sum(axis=1)
    return _ratio(weight @ np.sum(c * (c - 1), axis=1), weight @ (n * (n - 1)))


def fleiss(c: Array, weight: Array) -> float:
    """Fleiss' kappa; units may have different numbers of ratings."""
    n = c.sum(axis=1)
    seen = _ratio(weight @ (np.sum(c * (c - 1), axis=1) / (n * (n - 1))), weight.sum())
    share = weight @ c / max(weight @ n, 1.0)
    chance = float(share @ share)
    return _ratio(seen - chance, 1 - chance)


def alpha_nominal(c: Array, weight: Array) -> float:
    """Krippendorff's alpha, scores as names."""
    return _alpha(c, weight, 1 - np.eye(c.shape[1]))


def alpha_interval(c: Array, weight: Array) -> float:
    """Krippendorff's alpha, scores as numbers."""
    k = np.arange(c.shape[1], dtype=float)
    return _alpha(c, weight, (k[:, None] - k) ** 2)


def _alpha(c: Array, weight: Array, distance: Array) -> float:
    n, total = c.sum(axis=1), weight @ c
    seen = weight @ (np.einsum("uk,kl,ul->u", c, distance, c) / (n - 1))
    return 1 - _ratio((total.sum() - 1) * seen, float(total @ distance @ total))


def icc(c: Array, weight: Array) -> float:
    """ICC(1): reliability of one rating, whoever gives it (one-way random effects)."""
    between, within, size = _mean_squares(c, weight)
    return _ratio(between - within, between + (size - 1) * within)


def icc_mean(c: Array, weight: Array) -> float:
    """ICC(1, k): reliability of the mean of as many ratings as units have."""
    between, within, _ = _mean_squares(c, weight)
    return _ratio(between - within, between)


def _mean_squares(c: Array, weight: Array) -> tuple[float, float, float]:
    k = np.arange(c.shape[1], dtype=float)
    n, m = c.sum(axis=1), float(weight.sum())
    mean = c @ k / n
    total = float(weight @ n)
    grand = _ratio(weight @ (n * mean), total)
    between = _ratio(weight @ (n * (mean - grand) ** 2), m - 1)
    within = _ratio(weight @ np.sum(c * (k - mean[:, None]) ** 2, axis=1), total - m)
    return between, within, _ratio(total - _ratio(weight @ n**2, total), m - 1)


def _ratio(above: float, below: float) -> float:
    return float(above / below) if below else float("nan")


COEFFICIENTS: dict[str, Coefficient] = {
    "exact agreement": exact,
    "Fleiss' kappa": fleiss,
    "Krippendorff's alpha (nominal)": alpha_nominal,
    "Krippendorff's alpha (interval)": alpha_interval,
    "ICC(1)": icc,
    "ICC(1,k)": icc_mean,
}


# ------------------------------------------------------------------------------------------------ two by two


def cohen(ratings: Ratings, expected: Array | None = None) -> pl.DataFrame:
    """Cohen's kappa for every two raters with common work: rater, other, n, agreement, kappa, kappa_se.

    With `expected` scores of pass/fail ratings from a fit, also the agreement that the model expects. An empty table
    where there are more than 20 million pairs of ratings.
    """
    k = ratings.n_categories
    first, second = _pairs(ratings)
    swap = ratings.rater[first] > ratings.rater[second]
    first, second = np.where(swap, second, first), np.where(swap, first, second)
    key = ratings.rater[first].astype(np.int64) * ratings.n_raters + ratings.rater[second]
    distinct, place = np.unique(key, return_inverse=True)
    cell = (place * k + ratings.score[first]) * k + ratings.score[second]
    table = np.bincount(cell, minlength=len(distinct) * k * k).reshape(len(distinct), k, k)
    n = table.sum(axis=(1, 2))
    kappa, se = _kappa(table / n[:, None, None], n)
    columns = {
        "rater": ratings.raters.gather(distinct // ratings.n_raters),
        "other": ratings.raters.gather(distinct % ratings.n_raters),
        "n": n,
        "agreement": np.trace(table, axis1=1, axis2=2) / n,
    }
    if expected is not None:
        one, two = expected[first], expected[second]
        same = one * two + (1 - one) * (1 - two) if k == 2 else np.full(len(one), np.nan)
        columns["agreement_expected"] = np.bincount(place, same, len(distinct)) / n
    return pl.DataFrame({**columns, "kappa": kappa, "kappa_se": se})


def _pairs(ratings: Ratings) -> tuple[Indices, Indices]:
    """Every two ratings of the same unit by different raters."""
    cell = ratings.student.astype(np.int64) * ratings.n_items + ratings.item
    order = np.argsort(cell, kind="stable")
    cell = cell[order]
    _, size = np.unique(cell, return_counts=True)
    if np.sum(size * (size - 1) / 2) > MOST_PAIRS:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    found = []
    for lag in range(1, int(size.max())):
        same = np.flatnonzero(cell[lag:] == cell[:-lag])
        found.append((order[same], order[same + lag]))
    if not found:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    first, second = (np.concatenate(part) for part in zip(*found, strict=True))
    apart = ratings.rater[first] != ratings.rater[second]
    return first[apart], second[apart]


def _kappa(p: Array, n: NDArray[np.int64]) -> tuple[Array, Array]:
    """Kappa of tables of shares and its standard error (Fleiss, Cohen and Everitt 1969)."""
    row, column = p.sum(axis=2), p.sum(axis=1)
    seen, chance = np.trace(p, axis1=1, axis2=2), np.sum(row * column, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        kappa = np.where(chance < 1, (seen - chance) / (1 - chance), np.nan)
        rest = 1 - kappa
        own = np.einsum("tii->ti", p)
        first = np.sum(own * (1 - (row + column) * rest[:, None]) ** 2, axis=1)
        both = (column[:, :, None] + row[:, None, :]) ** 2
        second = rest**2 * (np.sum(p * both, axis=(1, 2)) - np.sum(own * np.einsum("tii->ti", both), axis=1))
        variance = (first + second - (kappa - chance * rest) ** 2) / (n * (1 - chance) ** 2)
    return kappa, np.sqrt(np.maximum(variance, 0.0))
