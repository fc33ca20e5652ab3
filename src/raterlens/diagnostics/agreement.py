"""Agreement of raters on the same work: compact forms of the usual coefficients, with intervals.

What can be agreed on is a student's work on an item ("unit"). Every coefficient is a function of a few sums over units;
resampling students resamples these sums. Tests hold each coefficient to the library known for it (statsmodels,
scikit-learn, krippendorff, pingouin).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

from raterlens.base.arrays import Array
from raterlens.diagnostics.grouping import Groups, large
from raterlens.diagnostics.rating_pairs import PairedRatings
from raterlens.ratings.coded import Ratings

DRAWS = 400
"""Samples of students behind an interval."""
MANY = 5_000
"""Students from which on sums over them are drawn from the normal distribution that they have by then."""


def agreement(ratings: Ratings, units: Groups, paired: PairedRatings | None = None) -> pl.DataFrame:
    """coefficient, value and a 95 % interval from resampled students; not-a-number where no work has two ratings.

    `units`: the ratings of the same student and item. With `paired` ratings that a fit has foreseen, also the
    agreement that the model expects of them.
    """
    k = ratings.n_categories
    wanted = [name for name in COEFFICIENTS if k > 2 or name not in ORDERED]
    wanted = [name for name in wanted if paired is not None or name not in EXPECTED]
    of_student = _sums(ratings, units, paired)
    values = np.full((DRAWS + 1, len(wanted)), np.nan)
    if of_student["units"].any():
        drawn = _resampled(np.column_stack(list(of_student.values())), default_rng(20250212))
        sums = Sums(dict(zip(of_student, drawn.T, strict=True)), k)
        with np.errstate(invalid="ignore", divide="ignore"):
            values = np.column_stack([COEFFICIENTS[name](sums) for name in wanted])
    rows = []
    for name, column in zip(wanted, values.T, strict=True):
        known = column[1:][np.isfinite(column[1:])]
        low, high = np.quantile(known, [0.025, 0.975]) if len(known) else (np.nan, np.nan)
        rows.append((name, float(column[0]), float(low), float(high)))
    schema = {"coefficient": pl.String, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Sums over units with several ratings, each an array over samples of students, the first as they are."""

    of: dict[str, Array]
    n_categories: int

    def __getitem__(self, name: str) -> Array:
        return self.of[name]

    @property
    def scores(self) -> Array:
        """(samples, categories): ratings of each score"""
        return np.stack([self.of[f"score {k}"] for k in range(self.n_categories)], axis=1)

    @property
    def coincidences(self) -> Array:
        """(samples, categories, categories): pairs of scores of the same unit, each unit weighing as its ratings"""
        k = range(self.n_categories)
        return np.stack(
            [np.stack([self.of[f"pair {min(a, b)} {max(a, b)}"] for b in k], axis=1) for a in k], axis=1
        )


def _sums(ratings: Ratings, units: Groups, paired: PairedRatings | None) -> dict[str, Array]:
    """Sums per student that the coefficients need, over the student's units."""
    sums = _of_students(ratings, units)
    if paired is not None:
        sums["expected"] = 2 * _by(paired.student, paired.expected, ratings.n_students)
    return sums


def _of_students(ratings: Ratings, units: Groups) -> dict[str, Array]:
    k = ratings.n_categories
    if large(ratings.n_ratings):
        from raterlens.kernels.diagnostic_sums import add_unit_sums  # may be missing

        names = ["units", "ratings", "squares", "pairs", "same", "share", "total", "between", "within"]
        names += [f"score {a}" for a in range(k)] + [f"pair {a} {b}" for a in range(k) for b in range(a, k)]
        sums = np.zeros((ratings.n_students, len(names)))
        add_unit_sums((units.first, units.order), (ratings.student, ratings.score), k, sums)
        return dict(zip(names, sums.T, strict=True))
    count = np.bincount(units.of_row * k + ratings.score, minlength=len(units) * k).reshape(-1, k)
    shared = units.size > 1
    student = ratings.student[units.example][shared]
    c = count[shared].astype(np.float64)
    n = c.sum(axis=1)
    same = np.sum(c * (c - 1), axis=1)
    score = np.arange(k, dtype=np.float64)
    total = c @ score
    parts: dict[str, Array] = {
        "units": np.ones(len(n)),
        "ratings": n,
        "squares": n**2,
        "pairs": n * (n - 1),
        "same": same,
        "share": same / (n * (n - 1)),
        "total": total,
        "between": total**2 / n,
        "within": c @ score**2 - total**2 / n,
    }
    parts |= {f"score {a}": c[:, a] for a in range(k)}
    for a in range(k):
        for b in range(a, k):
            parts[f"pair {a} {b}"] = c[:, a] * (c[:, b] - (a == b)) / (n - 1)
    return {name: _by(student, values, ratings.n_students) for name, values in parts.items()}


def _by(student: NDArray[np.integer], values: Array, n: int) -> Array:
    return np.bincount(student, values, n).astype(np.float64)


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
    k = np.arange(s.n_categories, dtype=float)
    return _alpha(s, (k[:, None] - k)[None] ** 2)


def _alpha(s: Sums, distance: Array) -> Array:
    n = s.scores
    seen = np.sum(s.coincidences * distance, axis=(1, 2))
    chance = np.sum(n[:, :, None] * n[:, None, :] * distance, axis=(1, 2))
    return np.asarray(1 - (s["ratings"] - 1) * seen / chance)


def icc(s: Sums) -> Array:
    """ICC(1): reliability of one rating, whoever gives it (one-way random effects)."""
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
