"""Agreement on the same work: every two ratings, every two raters, and coefficients with intervals."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.random import Generator, default_rng
from numpy.typing import NDArray
from scipy import sparse

from raterlens.base.arrays import NORMAL_95, Array, Indices
from raterlens.ratings.coded import Ratings
from raterlens.ratings.groupings import Groups, grouped, order_of

# -------------------------------------------------------------------------------------------------- rating pairs


MOST_PAIRS = 5_000_000
"""Pairs of ratings of the same work, beyond which they are not looked at one by one."""


@dataclass(frozen=True, slots=True, eq=False)
class PairedRatings:
    """Every two ratings of the same student and item."""

    first: Indices
    second: Indices
    student: Indices
    """Whose work it is, in order"""
    expected: Array
    """Probability, at the fit, that the two are the same; empty where none was worked out"""

    def __len__(self) -> int:
        return len(self.first)


def paired_ratings(ratings: Ratings, units: Groups) -> PairedRatings | None:
    """All pairs, those of the same work together, students in order; None where there are more than 5 million.

    `units`: the ratings of the same student and item.
    """
    size, order = units.size, units.order
    if np.sum(size * (size - 1) / 2) > MOST_PAIRS:
        return None
    found = []
    for lag in range(1, int(size.max())):
        long = np.flatnonzero(size > lag)
        # The places in a unit that have another rating `lag` places on.
        count = size[long] - lag
        start = np.repeat(units.first[long] - np.cumsum(count) + count, count) + np.arange(count.sum())
        found.append(np.stack([order[start], order[start + lag]]))
    if not found:
        nobody = np.empty(0, np.int64)
        return PairedRatings(nobody, nobody, nobody, np.empty(0))
    first, second = np.concatenate(found, axis=1)
    if len(found) > 1:
        together = order_of(units.of_row[first], len(units))
        first, second = first[together], second[together]
    return PairedRatings(first, second, ratings.student[first].astype(np.int64), np.empty(0))


def rater_pairs(ratings: Ratings, paired: PairedRatings | None) -> pl.DataFrame:
    """Every two raters with common work: rater, other, n, agreement and Cohen's kappa with 95 % intervals.

    With ordered scores also kappa with quadratic weights (`weighted_kappa`); with pairs that a fit has foreseen, also
    the agreement that the model expects (`agreement_expected`). Marks on a fine scale are hardly ever the same: how
    many marks `rater` is above `other` (`difference`), and how far apart their marks are on average (`apart`), instead
    of agreement and Cohen's kappa. An empty table where there are too many pairs.
    """
    met, one, two, expected = _meetings(ratings, paired)
    n = np.bincount(met.of_row, minlength=len(met))
    columns: dict[str, object] = {
        "rater": ratings.raters.gather(ratings.rater[one[met.example]]),
        "other": ratings.raters.gather(ratings.rater[two[met.example]]),
        "n": n,
    }
    x, y = (ratings.score[some].astype(float) for some in (one, two))

    def mean(values: Array) -> Array:
        return np.bincount(met.of_row, values, len(met)) / n

    if ratings.on_fine_scale:
        columns |= {
            "difference": ratings.score_step * mean(x - y),
            "apart": ratings.score_step * mean(np.abs(x - y)),
        }
        return pl.DataFrame(
            columns | _with_interval("weighted_kappa", *_quadratic(x, y, n, met.of_row, mean))
        )
    k = ratings.n_categories
    cell = (met.of_row * k + ratings.score[one]) * k + ratings.score[two]
    table = np.bincount(cell, minlength=len(met) * k * k).reshape(len(met), k, k)
    columns["agreement"] = np.trace(table, axis1=1, axis2=2) / n
    columns["agreement_low"], columns["agreement_high"] = _wilson(np.trace(table, axis1=1, axis2=2), n)
    if expected is not None:
        columns["agreement_expected"] = mean(expected)
    columns |= _with_interval("kappa", *cohen(table / n[:, None, None], n, np.eye(k)))
    if k > 2:
        columns |= _with_interval("weighted_kappa", *_quadratic(x, y, n, met.of_row, mean))
    return pl.DataFrame(columns)


def _meetings(
    ratings: Ratings, paired: PairedRatings | None
) -> tuple[Groups, Indices, Indices, Array | None]:
    """Every two raters with common work: the pairs of ratings by which they meet, both ratings of each, the first by
    the first rater, and how likely they were to agree."""
    nobody = np.empty(0, np.int64)
    first, second = (nobody, nobody) if paired is None else (paired.first, paired.second)
    foreseen = paired.expected if paired is not None and len(paired.expected) == len(paired) else None
    apart = np.flatnonzero(ratings.rater[first] != ratings.rater[second])
    one, two = first[apart], second[apart]
    swap = ratings.rater[one] > ratings.rater[two]
    one, two = np.where(swap, two, one), np.where(swap, one, two)
    met = grouped(ratings.rater[one], ratings.n_raters, ratings.rater[two], ratings.n_raters)
    return met, one, two, None if foreseen is None else foreseen[apart]


def _quadratic(
    x: Array, y: Array, n: Indices, of_row: Indices, mean: Callable[[Array], Array]
) -> tuple[Array, Array]:
    """Kappa with quadratic weights and its standard error (Fleiss, Cohen and Everitt 1969), by the moments of both
    raters' scores: 1 - E(x - y)^2 / E(x - y')^2, y' of another student."""
    mean_x, mean_y, square_x, square_y = mean(x), mean(y), mean(x**2), mean(y**2)
    chance = square_x + square_y - 2 * mean_x * mean_y
    with np.errstate(invalid="ignore", divide="ignore"):
        rest = mean((x - y) ** 2) / chance
        of_margins = (
            x**2
            - 2 * x * mean_y[of_row]
            + square_y[of_row]
            + y**2
            - 2 * y * mean_x[of_row]
            + square_x[of_row]
        )
        off = (x - y) ** 2 - of_margins * rest[of_row]
        variance = (mean(off**2) - mean(off) ** 2) / (n * chance**2)
    return np.where(chance > 0, 1 - rest, np.nan), np.sqrt(np.maximum(variance, 0.0))


def cohen(p: Array, n: NDArray[np.int64], weights: Array) -> tuple[Array, Array]:
    """Weighted kappa of tables of shares and its standard error (Fleiss, Cohen and Everitt 1969)."""
    row, column = p.sum(axis=2), p.sum(axis=1)
    seen = np.einsum("tij,ij->t", p, weights)
    chance = np.einsum("ti,ij,tj->t", row, weights, column)
    with np.errstate(invalid="ignore", divide="ignore"):
        kappa = np.where(chance < 1, (seen - chance) / (1 - chance), np.nan)
        rest = (1 - kappa)[:, None, None]
        of_margins = (column @ weights.T)[:, :, None] + (row @ weights)[:, None, :]
        spread = np.sum(p * (weights - of_margins * rest) ** 2, axis=(1, 2))
        variance = (spread - (kappa - chance * (1 - kappa)) ** 2) / (n * (1 - chance) ** 2)
    return kappa, np.sqrt(np.maximum(variance, 0.0))


def _with_interval(name: str, value: Array, se: Array) -> dict[str, Array]:
    low, high = np.maximum(value - NORMAL_95 * se, -1.0), np.minimum(value + NORMAL_95 * se, 1.0)
    return {name: value, f"{name}_se": se, f"{name}_low": low, f"{name}_high": high}


def _wilson(hits: NDArray[np.int64], n: NDArray[np.int64]) -> tuple[Array, Array]:
    """Wilson's interval of a share: sensible also where all or none agree."""
    share, z2 = hits / n, NORMAL_95**2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = NORMAL_95 * np.sqrt(share * (1 - share) / n + z2 / (4 * n**2)) / (1 + z2 / n)
    return np.asarray(centre - half), np.asarray(centre + half)


# ----------------------------------------------------------------------------------------------------- agreement


# Agreement of raters on the same work: compact forms of the usual coefficients, with intervals.
#
# What can be agreed on is a student's work on an item ("unit"). Every coefficient is a function of a few sums over
# units; resampling students resamples these sums. Tests hold each coefficient to the library known for it (statsmodels,
# scikit-learn, krippendorff, pingouin).

DRAWS = 400
"""Samples of students behind an interval."""
MANY = 5_000
"""Students from which on sums over them are drawn from the normal distribution that they have by then."""


def agreement(ratings: Ratings, units: Groups, paired: PairedRatings | None = None) -> pl.DataFrame:
    """coefficient, value and a 95 % interval from resampled students; not-a-number where no work has two ratings.

    `units`: the ratings of the same student and item. With `paired` ratings that a fit has foreseen, also the
    agreement that the model expects of them. Marks on a fine scale are hardly ever the same: only coefficients of
    numbers are of use for them.
    """
    k, fine = ratings.n_categories, ratings.on_fine_scale
    wanted = [name for name in COEFFICIENTS if k > 2 or name not in ORDERED]
    wanted = [name for name in wanted if paired is not None or name not in EXPECTED]
    wanted = [name for name in wanted if not fine or name in OF_NUMBERS]
    of_student = _of_students(ratings, units, None if fine else paired, counted=not fine)
    values = np.full((DRAWS + 1, len(wanted)), np.nan)
    if of_student.any():
        sums = Sums(_resampled(of_student, default_rng(20250212)), k)
        with np.errstate(invalid="ignore", divide="ignore"):
            values = np.column_stack([COEFFICIENTS[name](sums) for name in wanted])
    rows = []
    for name, column in zip(wanted, values.T, strict=True):
        known = column[1:][np.isfinite(column[1:])]
        low, high = np.quantile(known, [0.025, 0.975]) if len(known) else (np.nan, np.nan)
        rows.append((name, float(column[0]), float(low), float(high)))
    schema = {"coefficient": pl.String, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


_SUMS = (
    *("units", "ratings", "squares", "pairs", "same", "share", "expected"),
    *("total", "squared", "between", "within", "apart"),
)


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Sums over units with several ratings, for samples of students, the first as they are."""

    values: Array
    """(samples, sums): `_SUMS`, ratings of each score, and pairs of scores of the same unit"""
    n_categories: int

    def __getitem__(self, name: str) -> Array:
        return self.values[:, _SUMS.index(name)]

    @property
    def scores(self) -> Array:
        """(samples, categories): ratings of each score"""
        return self.values[:, len(_SUMS) : len(_SUMS) + self.n_categories]

    @property
    def coincidences(self) -> Array:
        """(samples, categories, categories): pairs of scores of the same unit, each unit weighing as its ratings"""
        k = self.n_categories
        return self.values[:, len(_SUMS) + k :].reshape(-1, k, k)


def _of_students(ratings: Ratings, units: Groups, paired: PairedRatings | None, *, counted: bool) -> Array:
    """(students, sums): what `Sums` has, over the units of each student; `counted`: with ratings of each score."""
    k, n_students, shared = ratings.n_categories, ratings.n_students, units.size > 1
    n = units.size[shared].astype(np.float64)
    c = np.zeros((len(n), 0))
    if counted:
        count = np.bincount(units.of_row * k + ratings.score, minlength=len(units) * k).reshape(-1, k)
        c = count[shared].astype(np.float64)
    same = np.sum(c * (c - 1), axis=1)
    score = ratings.score - (k - 1) / 2
    total, squared = (np.bincount(units.of_row, x, len(units))[shared] for x in (score, score**2))
    between = total**2 / n
    within = np.maximum(squared - between, 0.0)
    parts = (np.ones(len(n)), n, n**2, n * (n - 1), same, same / (n * (n - 1)), np.zeros(len(n)))
    of_unit = np.column_stack([*parts, total, squared, between, within, 2 * n * within / (n - 1), c])
    places = (np.ones(len(n)), (ratings.student[units.example][shared], np.arange(len(n))))
    by_student = sparse.csr_array(places, shape=(n_students, len(n)))
    ones = np.eye(c.shape[1])
    both = [by_student @ (c[:, [a]] * (c - one) / (n - 1)[:, None]) for a, one in enumerate(ones)]
    found = np.hstack([by_student @ of_unit, *both])
    if paired is not None:
        found[:, _SUMS.index("expected")] = 2 * np.bincount(paired.student, paired.expected, n_students)
    return found


def _resampled(of_student: Array, random: Generator) -> Array:
    """(samples + 1, sums): as they are, then for samples of as many students, drawn with replacement."""
    n = len(of_student)
    total = of_student.sum(axis=0)
    if n <= MANY:
        drawn = [np.bincount(random.integers(n, size=n), minlength=n) @ of_student for _ in range(DRAWS)]
        return np.vstack([total, *drawn])
    away = of_student - total / n
    values, vectors = np.linalg.eigh(away.T @ away)
    noise = random.standard_normal((DRAWS, len(values))) * np.sqrt(np.maximum(values, 0.0))
    return np.vstack([total, total + noise @ vectors.T])


# ------------------------------------------------------------------------------------------------ coefficients


def exact(s: Sums) -> Array:
    """Share of two ratings of the same unit that agree."""
    return s["same"] / s["pairs"]


def expected(s: Sums) -> Array:
    """The same, as the model expects it of these raters and students."""
    return s["expected"] / s["pairs"]


def adjacent(s: Sums) -> Array:
    """Share of two ratings of the same unit that differ by one score at most, units weighing as their ratings."""
    k = np.arange(s.n_categories)
    near = np.abs(k[:, None] - k) <= 1
    return np.asarray(s.coincidences[:, near].sum(axis=1) / s["ratings"])


def fleiss(s: Sums) -> Array:
    """Fleiss' kappa; units may have different numbers of ratings."""
    chance = np.sum((s.scores / s["ratings"][:, None]) ** 2, axis=1)
    return np.asarray((s["share"] / s["units"] - chance) / (1 - chance))


def alpha_nominal(s: Sums) -> Array:
    """Krippendorff's alpha, scores as names."""
    return _alpha(s, 1 - np.eye(s.n_categories)[None])


def alpha_ordinal(s: Sums) -> Array:
    """Krippendorff's alpha, scores as ranks: distances count the ratings in between."""
    n = s.scores
    below = np.cumsum(n, axis=1)
    middle = below - n / 2
    return _alpha(s, (middle[:, :, None] - middle[:, None, :]) ** 2)


def alpha_interval(s: Sums) -> Array:
    """Krippendorff's alpha, scores as numbers; for two raters nearly the kappa with quadratic weights."""
    chance = 2 * (s["ratings"] * s["squared"] - s["total"] ** 2)
    return np.asarray(1 - (s["ratings"] - 1) * s["apart"] / chance)


def _alpha(s: Sums, distance: Array) -> Array:
    n = s.scores
    seen = np.sum(s.coincidences * distance, axis=(1, 2))
    chance = np.sum(n[:, :, None] * n[:, None, :] * distance, axis=(1, 2))
    return np.asarray(1 - (s["ratings"] - 1) * seen / chance)


def icc(s: Sums) -> Array:
    """ICC(1): reliability of one rating by any rater (one-way random effects)."""
    between, within = _mean_squares(s)
    size = (s["ratings"] - s["squares"] / s["ratings"]) / (s["units"] - 1)
    return np.asarray((between - within) / (between + (size - 1) * within))


def icc_mean(s: Sums) -> Array:
    """ICC(1, k): reliability of the mean of as many ratings as units have."""
    between, within = _mean_squares(s)
    return np.asarray((between - within) / between)


def _mean_squares(s: Sums) -> tuple[Array, Array]:
    between = (s["between"] - s["total"] ** 2 / s["ratings"]) / (s["units"] - 1)
    return between, s["within"] / (s["ratings"] - s["units"])


COEFFICIENTS: dict[str, Callable[[Sums], Array]] = {
    "exact agreement": exact,
    "expected agreement": expected,
    "adjacent agreement": adjacent,
    "Fleiss' kappa": fleiss,
    "Krippendorff's alpha (nominal)": alpha_nominal,
    "Krippendorff's alpha (ordinal)": alpha_ordinal,
    "Krippendorff's alpha (interval)": alpha_interval,
    "ICC(1)": icc,
    "ICC(1,k)": icc_mean,
}
ORDERED = ("adjacent agreement", "Krippendorff's alpha (ordinal)")
EXPECTED = ("expected agreement",)
OF_NUMBERS = ("Krippendorff's alpha (interval)", "ICC(1)", "ICC(1,k)")
