"""Agreement on the same work: every two ratings, every two raters, coefficients with intervals, and whether raters
agree more than the model lets expect."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.random import default_rng
from numpy.typing import NDArray
from scipy import sparse, special

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
    found = [np.empty((2, 0), np.int64)]
    for lag in range(1, int(size.max())):
        long = np.flatnonzero(size > lag)
        # The places in a unit that have another rating `lag` places on.
        count = size[long] - lag
        start = np.repeat(units.first[long] - np.cumsum(count) + count, count) + np.arange(count.sum())
        found.append(np.stack([order[start], order[start + lag]]))
    first, second = np.concatenate(found, axis=1)
    if len(found) > 2:
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
    rater, k, nobody = ratings.rater, ratings.n_categories, np.empty(0, np.int64)
    first, second = (nobody, nobody) if paired is None else (paired.first, paired.second)
    apart = np.flatnonzero(rater[first] != rater[second])
    swap = rater[first[apart]] > rater[second[apart]]
    one, two = (
        np.where(swap, *(some[apart] for some in both)) for both in ((second, first), (first, second))
    )
    met = grouped(rater[one], ratings.n_raters, rater[two], ratings.n_raters)
    n, size = met.size, len(met)
    x, y = (ratings.score[some].astype(float) for some in (one, two))

    def mean(values: Array) -> Array:
        return np.bincount(met.of_row, values, size) / n

    columns: dict[str, object] = {
        "rater": ratings.raters.gather(rater[one[met.example]]),
        "other": ratings.raters.gather(rater[two[met.example]]),
        "n": n,
    }
    if ratings.on_fine_scale:
        step = ratings.score_step
        columns |= {"difference": step * mean(x - y), "apart": step * mean(np.abs(x - y))}
    else:
        cell = (met.of_row * k + ratings.score[one]) * k + ratings.score[two]
        table = np.bincount(cell, minlength=size * k * k).reshape(size, k, k) / n[:, None, None]
        share = np.trace(table, axis1=1, axis2=2)
        # Wilson's interval: sensible also where all or none agree.
        z2 = NORMAL_95**2
        centre = (share + z2 / (2 * n)) / (1 + z2 / n)
        half = NORMAL_95 * np.sqrt(share * (1 - share) / n + z2 / (4 * n**2)) / (1 + z2 / n)
        columns |= {"agreement": share, "agreement_low": centre - half, "agreement_high": centre + half}
        if paired is not None and len(paired.expected):
            columns["agreement_expected"] = mean(paired.expected[apart])
        columns |= _with_interval("kappa", *_cohen(table, n))
    if k > 2:
        # By the moments of both raters' scores: 1 - E(x - y)^2 / E(x - y')^2, y' of another student.
        of_x, of_y, of_xx, of_yy = mean(x), mean(y), mean(x**2), mean(y**2)
        chance, row = of_xx + of_yy - 2 * of_x * of_y, met.of_row
        with np.errstate(invalid="ignore", divide="ignore"):
            rest = mean((x - y) ** 2) / chance
            margins = x**2 - 2 * x * of_y[row] + of_yy[row] + y**2 - 2 * y * of_x[row] + of_xx[row]
            off = (x - y) ** 2 - margins * rest[row]
            variance = (mean(off**2) - mean(off) ** 2) / (n * chance**2)
        kappa = np.where(chance > 0, 1 - rest, np.nan)
        columns |= _with_interval("weighted_kappa", kappa, np.sqrt(np.maximum(variance, 0.0)))
    return pl.DataFrame(columns)


def _cohen(p: Array, n: NDArray[np.int64]) -> tuple[Array, Array]:
    """Kappa of tables of shares and its standard error (Fleiss, Cohen and Everitt 1969)."""
    row, column, same = p.sum(axis=2), p.sum(axis=1), np.eye(p.shape[1])
    seen, chance = np.trace(p, axis1=1, axis2=2), np.einsum("ti,ti->t", row, column)
    with np.errstate(invalid="ignore", divide="ignore"):
        kappa = np.where(chance < 1, (seen - chance) / (1 - chance), np.nan)
        margins = column[:, :, None] + row[:, None, :]
        spread = np.sum(p * (same - margins * (1 - kappa)[:, None, None]) ** 2, axis=(1, 2))
        variance = (spread - (kappa - chance * (1 - kappa)) ** 2) / (n * (1 - chance) ** 2)
    return kappa, np.sqrt(np.maximum(variance, 0.0))


def _with_interval(name: str, value: Array, se: Array) -> dict[str, Array]:
    low, high = np.maximum(value - NORMAL_95 * se, -1.0), np.minimum(value + NORMAL_95 * se, 1.0)
    return {name: value, f"{name}_se": se, f"{name}_low": low, f"{name}_high": high}


# ----------------------------------------------------------------------------------------- more than is expected


class Closeness(NamedTuple):
    """Whether raters agree more than they would if each marked alone."""

    n_raters: int
    agreement: float
    """How often two raters of the panel give the same score"""
    expected: float
    """How often the model expects it"""
    p: float
    """The chance of an excess that large among raters who mark on their own"""
    n_pairs: int
    """Any two raters who share work"""
    pairs: pl.DataFrame
    """rater, other, n, agreement, excess (over what the model expects, and over the panel's excess), se, p; of those
    whose excess is large"""


_FEWEST_STUDENTS = 5
"""Students whom two raters share, below which they are not compared."""


def closeness(ratings: Ratings, paired: PairedRatings | None, least: float) -> Closeness | None:
    """Compare agreement with what the model expects of the same pairs of ratings: of the panel, and of any two raters
    whose excess is at least `least`. None where no work has two raters, and of marks on a fine scale, which are hardly
    ever the same.

    Given their abilities students are independent, and a student's pairs are summed first. The variance is the larger
    of what is seen over students and what the model says.
    """
    if paired is None or not len(paired.expected) or ratings.on_fine_scale:
        return None
    n_raters, n_students, expected = ratings.n_raters, ratings.n_students, paired.expected
    one, two = (ratings.rater[some].astype(np.int64) for some in (paired.first, paired.second))
    student = paired.student
    same = (ratings.score[paired.first] == ratings.score[paired.second]).astype(float)
    if not (apart := one != two).all():  # repeated ratings of a rater are no second opinion
        one, two, student, same, expected = (each[apart] for each in (one, two, student, same, expected))
    if not len(one):
        return None

    def test(of: Indices, n: int, more: Array, chance: Array) -> tuple[Array, Array]:
        """Standard deviation of the sum of the excess of students, and p, allowing for few students."""
        excess, seen = (np.bincount(of, values, n) for values in (more, more**2))
        sd = np.sqrt(np.maximum(np.maximum(seen, chance), 1e-12))
        return sd, special.stdtr(np.maximum(np.bincount(of, minlength=n) - 1, 1), -excess / sd)

    more, chance = same - expected, expected * (1 - expected)
    marked = np.flatnonzero(np.bincount(student, minlength=n_students))
    by_student = np.bincount(student, more, n_students)[marked].astype(np.float64)
    _, (p,) = test(np.zeros(len(marked), np.int64), 1, by_student, chance.sum(keepdims=True))
    # Where all agree more than expected, nobody copies from one other rater in particular.
    more -= max(float(more.mean()), 0.0)
    cell = np.minimum(one, two) * n_raters + np.maximum(one, two)
    pairs, of = np.arange(n_raters**2), cell
    if len(pairs) > MOST_PAIRS:
        pairs, of = np.unique(cell, return_inverse=True)
    n, total, agreed = (np.bincount(of, values, len(pairs)) for values in (None, more, same))
    rows = np.flatnonzero((total >= least * n)[of])
    some, place = np.unique(of[rows], return_inverse=True)
    by, at = np.unique(place * n_students + student[rows], return_inverse=True)
    sums = np.bincount(at, more[rows], len(by)).astype(np.float64)
    by_chance = np.bincount(place, chance[rows], len(some)).astype(np.float64)
    sd, p_pair = test(by // n_students, len(some), sums, by_chance)
    shared = np.bincount(by // n_students, minlength=len(some))
    n_pairs, n = int(np.count_nonzero(n)), n[some].astype(np.int64)
    names = ratings.raters.cast(pl.String)
    table = pl.DataFrame(
        {
            "rater": names.gather(pairs[some] // n_raters),
            "other": names.gather(pairs[some] % n_raters),
            "n": n,
            "agreement": agreed[some] / n,
            "excess": total[some] / n,
            "se": sd / n,
            "p": np.where(shared >= _FEWEST_STUDENTS, p_pair, 1.0),
        }
    )
    return Closeness(n_raters, float(same.mean()), float(expected.mean()), float(p), n_pairs, table)


# -------------------------------------------------------------------------------------------------- coefficients


# Agreement of raters on the same work: compact forms of the usual coefficients, with intervals.
#
# What can be agreed on is a student's work on an item ("unit"). Every coefficient is a function of a few sums over
# units; resampling students resamples these sums. Tests hold each coefficient to the library known for it (statsmodels,
# scikit-learn, krippendorff, pingouin).

DRAWS = 400
"""Samples of students behind an interval."""
MANY = 5_000
"""Students from which on sums over them are drawn from the normal distribution that they have by then."""
_SUMS = (
    *("units", "ratings", "squares", "pairs", "same", "share", "expected"),
    *("total", "squared", "between", "within", "apart"),
)
_ORDERED = ("adjacent agreement", "Krippendorff's alpha (ordinal)")
_OF_NUMBERS = ("Krippendorff's alpha (interval)", "ICC(1)", "ICC(1,k)")


def agreement(ratings: Ratings, units: Groups, paired: PairedRatings | None = None) -> pl.DataFrame:
    """coefficient, value and a 95 % interval from resampled students; not-a-number where no work has two ratings.

    `units`: the ratings of the same student and item. With `paired` ratings that a fit has foreseen, also the
    agreement that the model expects of them. Marks on a fine scale are hardly ever the same: only coefficients of
    numbers are of use for them.
    """
    k, fine = ratings.n_categories, ratings.on_fine_scale
    of_student = _of_students(ratings, units, None if fine else paired, counted=not fine)
    rows = []
    for name, values in _coefficients(_resampled(of_student), k).items():
        if (name in _ORDERED and k == 2) or (fine and name not in _OF_NUMBERS):
            continue
        if name == "expected agreement" and paired is None:
            continue
        known = values[1:][np.isfinite(values[1:])]
        low, high = np.quantile(known, [0.025, 0.975]) if len(known) else (np.nan, np.nan)
        rows.append((name, float(values[0]), float(low), float(high)))
    schema = {"coefficient": pl.String, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _of_students(ratings: Ratings, units: Groups, paired: PairedRatings | None, *, counted: bool) -> Array:
    """(students, sums): over the units of each student with several ratings `_SUMS`; `counted`: also ratings of each
    score, and pairs of scores of the same unit, each unit weighing as its ratings."""
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


def _resampled(of_student: Array) -> Array:
    """(samples + 1, sums): as they are, then for samples of as many students, drawn with replacement."""
    n, random = len(of_student), default_rng(20250212)
    total = of_student.sum(axis=0)
    if n <= MANY:
        drawn = [np.bincount(random.integers(n, size=n), minlength=n) @ of_student for _ in range(DRAWS)]
        return np.vstack([total, *drawn])
    away = of_student - total / n
    values, vectors = np.linalg.eigh(away.T @ away)
    noise = random.standard_normal((DRAWS, len(values))) * np.sqrt(np.maximum(values, 0.0))
    return np.vstack([total, total + noise @ vectors.T])


def _coefficients(sums: Array, k: int) -> dict[str, Array]:
    """(samples,) by name; NaN where there is nothing to agree on."""
    s = dict(zip(_SUMS, sums.T, strict=False))
    counts = sums[:, len(_SUMS) :]
    if counts.shape[1] == 0:  # marks on a fine scale
        counts, k = np.zeros((len(sums), 2)), 1
    scores, pairs = counts[:, :k], counts[:, k:].reshape(-1, k, k)  # ratings of each score; pairs of scores
    n, near = s["ratings"], np.abs(np.subtract.outer(np.arange(k), np.arange(k))) <= 1
    ranks = np.cumsum(scores, axis=1) - scores / 2  # distances between scores count the ratings in between

    def alpha(distance: Array) -> Array:
        seen = np.sum(pairs * distance, axis=(1, 2))
        chance = np.sum(scores[:, :, None] * scores[:, None, :] * distance, axis=(1, 2))
        return np.asarray(1 - (n - 1) * seen / chance)

    with np.errstate(invalid="ignore", divide="ignore"):
        chance = np.sum((scores / n[:, None]) ** 2, axis=1)
        between = (s["between"] - s["total"] ** 2 / n) / (s["units"] - 1)
        within = s["within"] / (n - s["units"])
        size = (n - s["squares"] / n) / (s["units"] - 1)
        return {
            "exact agreement": s["same"] / s["pairs"],
            "expected agreement": s["expected"] / s["pairs"],
            # Units weigh as their ratings.
            "adjacent agreement": pairs[:, near].sum(axis=1) / n,
            "Fleiss' kappa": (s["share"] / s["units"] - chance) / (1 - chance),
            "Krippendorff's alpha (nominal)": alpha(1 - np.eye(k)),
            "Krippendorff's alpha (ordinal)": alpha((ranks[:, :, None] - ranks[:, None, :]) ** 2),
            # For two raters nearly the kappa with quadratic weights.
            "Krippendorff's alpha (interval)": 1
            - (n - 1) * s["apart"] / (2 * (n * s["squared"] - s["total"] ** 2)),
            # The reliability of one rating by any rater, and of the mean of as many as units have (one-way random).
            "ICC(1)": (between - within) / (between + (size - 1) * within),
            "ICC(1,k)": (between - within) / between,
        }
