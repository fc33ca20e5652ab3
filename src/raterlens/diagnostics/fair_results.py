"""Raw and fair results of students: the mean score as it stands, and with the raters' differences taken out.

Were all ratings of a student given by the average rater, the mean score would move by what the model expects of the
student's own raters less what it expects of the average one, both at the student's ability. The rest of the score, the
student's own and luck, stays: raters who are alike change nobody's result.

Estimated severities and slopes vary by chance even where raters are equal. Each is drawn towards the panel's mean by
v / (v + se²), v the variance between raters beyond that of the errors (DerSimonian and Laird 1986), unless the fit took
raters for a sample already (`prior="panel"`).
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy import sparse

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.diagnostics.expected_scores import (
    RaterEffects,
    average_scores,
    category_shifts,
    rater_effects,
    rater_shifts,
)
from raterlens.estimation.scoring import places_of
from raterlens.models.calibration import Calibration
from raterlens.ratings.coded import Ratings

if TYPE_CHECKING:
    from raterlens.inference.result import Result

DRAWS = 200
"""Panels drawn for the interval of the number of changed results."""
_MOST_NUMBERS = 2**22
"""Results that are drawn at a time"""
_ROUNDING = 1e-9
"""A mean score that misses a cut by less does so by rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class FairResults:
    """Raw and fair results of each student, on the scale of the file."""

    students: pl.Series
    n: Indices
    """Ratings of each"""
    step: float
    """Between neighbouring scores"""
    raw: Array
    fair: Array
    fair_se: Array
    per_severity: sparse.csr_array | None = None
    """(students, raters): how much a mean score falls as a rater's severity rises by 1"""
    severity_sd: Array | None = None
    """(raters,): how uncertain severities are, drawn towards the mean as they are"""

    def changed(self, cuts: Array) -> Mask:
        """(students,): whether raw and fair result lie on different sides of a cut.

        Fair results count in whole scores over all ratings of a student, as raw ones do: a result on the cut is not
        moved below it by a fraction of a score.
        """
        return np.asarray(_grades(self.raw, cuts) != _grades(self._in_whole_scores(self.fair), cuts))

    def changed_interval(self, cuts: Array) -> tuple[int, int] | None:
        """95 % interval of the number of changed results, from the uncertainty of severities; None where that is not
        known."""
        if self.per_severity is None or self.severity_sd is None:
            return None
        off = np.random.default_rng(0).standard_normal((len(self.severity_sd), DRAWS))
        off *= self.severity_sd[:, None]
        off -= off.mean(axis=0)  # severities count from the average rater's
        found, size = np.zeros(DRAWS), max(_MOST_NUMBERS // DRAWS, 1)
        for first in range(0, len(self.raw), size):
            rows = slice(first, first + size)
            some = replace(self, raw=self.raw[rows], n=self.n[rows])
            fair = some._in_whole_scores(self.fair[rows, None] + self.per_severity[rows] @ off)
            found += (_grades(some.raw, cuts)[:, None] != _grades(fair, cuts)).sum(axis=0)
        low, high = np.quantile(found, (0.025, 0.975)).round()
        return int(low), int(high)

    def _in_whole_scores(self, fair: Array) -> Array:
        unit = self.step / self.n.reshape(-1, *[1] * (fair.ndim - 1))
        return np.asarray(np.round(fair / unit) * unit)


def _grades(mean: Array, cuts: Array) -> Indices:
    return np.searchsorted(cuts, np.asarray(mean) + _ROUNDING, side="right")


def fair_results(fit: "Result", ratings: Ratings) -> FairResults:
    """Results of the students of the fit."""
    if fit.calibration is None:
        shift = category_shifts(fit, ratings)
        return _with_shift(ratings, shift, np.full(ratings.n_students, np.nan))
    table = fit.table("students")
    place = places_of(ratings.students, table["student"], "students")
    theta, error = (table[name].cast(pl.Float64).to_numpy()[place] for name in ("theta", "theta_se"))
    return results_at(fit.calibration, ratings, theta, error)


def results_at(known: Calibration, ratings: Ratings, theta: Array, theta_se: Array) -> FairResults:
    """Results of students with these abilities and their errors."""
    every, average, sd = steadied(known)
    shift, fall = rater_shifts(known, ratings, theta, every, average)
    unit = known.score_step
    n, rater = ratings.tally("student").n, places_of(ratings.raters, known.labels["rater"], "raters")
    per_severity = sparse.csr_array(
        (unit * fall / n[ratings.student], (ratings.student, rater[ratings.rater])),
        shape=(ratings.n_students, len(sd)),
    )
    mean, width = known.effects.get("population", (0.0, 1.0))
    grid = np.linspace(mean - 8 * width, mean + 8 * width, 401)
    rise = np.interp(theta, grid, np.gradient(average_scores(known, grid), grid))
    found = _with_shift(ratings, unit * shift, np.abs(rise) * theta_se)
    return replace(found, per_severity=per_severity, severity_sd=sd)


def _with_shift(ratings: Ratings, shift: Array, error: Array) -> FairResults:
    n, raw = ratings.tally("student").n, ratings.mean_scores("student")
    moved = np.bincount(ratings.student, shift, ratings.n_students) / n
    return FairResults(ratings.students, n, ratings.score_step, raw, raw - moved, error)


def steadied(known: Calibration) -> tuple[RaterEffects, RaterEffects, Array]:
    """Raters' effects drawn towards the average rater as far as chance explains their differences; the average rater;
    and how uncertain the severities then are."""
    every, average = rater_effects(known)
    n = len(every.slope)
    if known.covariance is None:
        return every, average, np.zeros(n)
    variance = np.asarray(known.covariance.diagonal(), np.float64)[: 2 * n]
    own = np.where(np.isfinite(variance) & (variance > 0), variance, np.inf)
    if known.spread is not None or known.anchored:
        return every, average, np.sqrt(np.where(np.isfinite(own[n:]), own[n:], 0.0))
    slope, _ = _towards(every.slope, own[:n], float(average.slope[0]))
    severity, sd = _towards(every.severity, own[n:], float(average.severity[0]))
    return replace(every, slope=slope, severity=severity), average, sd


def _towards(values: Array, variance: Array, centre: float) -> tuple[Array, Array]:
    """Values drawn to the centre, and their errors then."""
    weight = 1 / variance
    if np.count_nonzero(weight) < 2:
        return values, np.where(np.isfinite(variance), np.sqrt(variance), 0.0)
    mean = weight @ values / weight.sum()
    beyond = weight @ (values - mean) ** 2 - (np.count_nonzero(weight) - 1)
    between = max(beyond / (weight.sum() - weight @ weight / weight.sum()), 0.0)
    share = between / (between + variance)
    return centre + share * (values - centre), np.sqrt(between * (1 - share))
