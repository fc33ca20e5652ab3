"""Decisions about students: the raw result, the fair one, how sure its grade is, and how well the exam decides.

The true grade of a student is that of the mean score which the average rater would be expected to give over all
items, so it is a matter of ability alone. The fair grade is the most probable one given all ratings and what is known
of the raters; the raw grade is that of the mean score as it stands.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy import special

from raterlens.base.arrays import Array
from raterlens.base.errors import OptionError
from raterlens.base.text import counted
from raterlens.config.limits import THETA_ERROR_RATINGS
from raterlens.estimation.scoring import Placed, place
from raterlens.grading.grades import Cut, Cuts, Grid, On, cuts_of, graded, rudner, unshrunk
from raterlens.grading.marking import consistency_of_sets, repeat_chances
from raterlens.inference.expected_scores import FairResults, results_at
from raterlens.likelihood.nodes import Moments
from raterlens.models.calibration import Calibration
from raterlens.ratings.coded import Backend, Ratings, to_backend

if TYPE_CHECKING:
    from raterlens.inference.result import Result

SAFE = 0.9
"""A decision is safe if its grade is at least this probable."""

_QUALITY = {
    "result": pl.String,
    "method": pl.String,
    "accuracy": pl.Float64,
    "consistency": pl.Float64,
    "students": pl.Int64,
}


@dataclass(frozen=True, slots=True, eq=False)
class Basis:
    """The fit on the ratings that decide: where all that is said of grades comes from."""

    ratings: Ratings
    grid: Grid
    moments: Moments
    extra: Array
    """(students,): `extra_variance`"""

    @staticmethod
    def of(fit: "Result", known: Calibration, ratings: Ratings, cuts: Cuts) -> "Basis":
        placed = place(known, ratings)
        moments = placed.abilities()
        grid = Grid.of(known, placed, moments, cuts)
        return Basis(ratings, grid, moments, extra_variance(fit, known, ratings, moments))


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """Decisions about students, and how well the exam decides."""

    cuts: Cuts
    table: pl.DataFrame
    """`students` as a polars DataFrame"""
    quality: pl.DataFrame
    """`exam` as a polars DataFrame"""
    safe: float
    """How probable the grade of a safe decision is"""
    backend: Backend = "polars"
    basis: Basis | None = field(default=None, repr=False)
    """None where ratings were not given, or do not decide alone"""

    @property
    def students(self) -> Any:
        """A row per student: student, n, theta, theta_se; raw (mean score) and raw_grade; fair (with the
        raters' differences taken out), fair_se, would_change (raw and fair lie on different sides of a cut), grade (the
        most probable one); p_GRADE for each grade; safe; and
        same_again, the chance that as many other raters of the panel would give the raw grade again."""
        return to_backend(self.table, self.backend)

    @property
    def exam(self) -> Any:
        """Table of the raw and the fair grades: accuracy (chance of the true grade) and consistency (chance that
        another marking gives the same grade), by method, and the number of students that it rests on."""
        return to_backend(self.quality, self.backend)

    @property
    def probabilities(self) -> Array:
        """(students, grades)"""
        return self.table.select(f"p_{grade}" for grade in self.cuts.grades).to_numpy()

    @property
    def unsafe(self) -> int:
        """Students whose grade is not safe."""
        return int((~self.table["safe"]).sum())

    @property
    def changed(self) -> int:
        """Students whose raw and fair results lie on different sides of a cut."""
        return int(self.table["would_change"].sum())

    def words(self) -> list[str]:
        """One sentence each."""
        n = self.table.height
        found = [
            f"Of {counted(n, 'decision')}, {n - self.unsafe:,} are safe: the grade is right with a probability of at "
            f"least {self.safe:g}. {self.unsafe:,} are not."
        ]
        if self.table["would_change"].null_count() == 0:
            who = f"the grade of {counted(self.changed, 'student')}" if self.changed else "nobody's grade"
            found.append(f"Adjusting for the raters changes {who}.")
        said = {
            result: row
            for row in self.quality.filter(method="posterior").iter_rows(named=True)
            if (result := row["result"])
        }
        fair = f"{100 * said['fair']['accuracy']:.0f} % of the most probable grades are expected to be right"
        if "raw" not in said:
            return [*found, f"{fair}."]
        again = f"A second marking would repeat {100 * said['raw']['consistency']:.0f} % of the raw grades"
        return [*found, f"{fair} (raw: {100 * said['raw']['accuracy']:.0f} %). {again}."]

    def summary(self) -> str:
        return "\n".join(self.words())


def decisions(
    fit: "Result",
    ratings: Ratings | None,
    cut: Cut,
    *,
    on: On = "score",
    grades: Sequence[str] | None = None,
    safe: float = SAFE,
) -> Decisions:
    """Decide: `Fit.decisions`."""
    known = fit.calibrated(
        "there is no ability to decide by; its table 'truth' has what each piece of work deserves"
    )
    if not 0.5 <= safe < 1:
        raise OptionError(
            f"safe is {safe}", "give a probability from 0.5 to below 1", value=safe, option="safe"
        )
    cuts = cuts_of(known, cut, on, grades)
    if known.second_ability and ratings is not None:
        # Raters then share more than ability: readings are not independent, and nodes are of two abilities.
        if (
            ratings.students.cast(pl.String).to_list()
            != fit.table("students")["student"].cast(pl.String).to_list()
        ):
            raise OptionError(
                "raters of this fit share a second ability, so only the students who were fitted can be decided about",
                "give the ratings that were fitted",
                option="shared",
            )
        ratings = None
    if ratings is None:
        return _without_ratings(fit, known, cuts, safe)
    basis = Basis.of(fit, known, ratings, cuts)
    grid, extra, moments = basis.grid, basis.extra, basis.moments
    found = graded(grid, extra)
    raw = ratings.mean_scores("student")
    raw_grade = cuts.grade_of(raw)
    again = repeat_chances(known, ratings, grid, cuts, raw_grade)
    theta = grid.mean + grid.sd * moments.mean
    theta_se = grid.sd * np.sqrt(moments.sd**2 + extra)
    results = results_at(known, ratings, theta, theta_se)
    columns = {
        "student": ratings.students,
        "n": ratings.tally("student").n,
        "theta": theta,
        "theta_se": theta_se,
    }
    table = _table(columns, cuts, found, raw, results, safe).with_columns(
        pl.Series("same_again", again).fill_nan(None)
    )
    return Decisions(cuts, table, _quality(known, grid.placed, cuts, table), safe, fit.backend, basis)


def extra_variance(fit: "Result", known: Calibration, ratings: Ratings, moments: Moments) -> Array:
    """(students,): the part of the error of each ability that comes from the errors of the estimates, in units of the
    population; 0 for students who were not fitted with these ratings."""
    table = fit.table("students")
    found = np.zeros(ratings.n_students)
    if fit.method != "mml" or known.covariance is None or fit.n_ratings > THETA_ERROR_RATINGS:
        return found
    fitted = dict(zip(table["student"].cast(pl.String), range(table.height), strict=True))
    at = np.array([fitted.get(label, -1) for label in ratings.students.cast(pl.String)])
    seen = at >= 0
    error, n = table["theta_se"].to_numpy()[at[seen]], table["n"].to_numpy()[at[seen]]
    sd = known.population[1]
    same = n == ratings.tally("student").n[seen]
    found[seen] = np.where(same, np.maximum((error / sd) ** 2 - moments.sd[seen] ** 2, 0.0), 0.0)
    # Rounding of a posterior is not an error of the estimates.
    found[found < 1e-9] = 0.0
    return found


def _table(
    columns: dict[str, Any],
    cuts: Cuts,
    p: Array,
    raw: Array,
    results: FairResults | None,
    safe: float,
) -> pl.DataFrame:
    names = pl.Series(cuts.grades)
    columns |= {"raw": raw, "raw_grade": names.gather(cuts.grade_of(raw))}
    if results is None:
        unknown = pl.Series([None] * len(p), dtype=pl.Float64)
        columns |= {"fair": unknown, "fair_se": unknown, "would_change": unknown.cast(pl.Boolean)}
    else:
        columns |= {
            "fair": results.fair,
            "fair_se": results.fair_se,
            "would_change": results.changed(cuts.score),
        }
    columns |= {"grade": names.gather(p.argmax(axis=1))}
    columns |= {f"p_{grade}": p[:, place] for place, grade in enumerate(cuts.grades)}
    return pl.DataFrame(columns | {"safe": p.max(axis=1) >= safe})


def _quality(known: Calibration, placed: Placed, cuts: Cuts, table: pl.DataFrame) -> pl.DataFrame:
    """Accuracy and consistency of the exam, by every method that applies."""
    given = table.select(f"p_{grade}" for grade in cuts.grades).to_numpy()
    place_of = {grade: place for place, grade in enumerate(cuts.grades)}
    raw = table["raw_grade"].replace_strict(place_of, return_dtype=pl.Int64).to_numpy()
    right = given[np.arange(len(given)), raw]
    covered = table["same_again"].drop_nulls()
    mean, sd = known.population
    own = unshrunk(placed)
    known_error = np.isfinite(own.se)
    by_rudner = rudner(own.estimate[known_error], own.se[known_error], (cuts.ability - mean) / sd)
    by_lee, lee_students = consistency_of_sets(known, placed.ratings, cuts)
    rows = [
        ("fair", "posterior", given.max(axis=1).mean(), None, len(given)),
        ("raw", "posterior", right.mean(), covered.mean(), len(covered)),
        ("fair", "Rudner", by_rudner.accuracy.mean(), by_rudner.consistency.mean(), int(known_error.sum())),
        ("raw", "Lee", float(by_lee.accuracy), float(by_lee.consistency), lee_students),
    ]
    return pl.DataFrame(rows, schema=_QUALITY, orient="row")


def _without_ratings(fit: "Result", known: Calibration, cuts: Cuts, safe: float) -> Decisions:
    """By the estimates alone, posteriors taken as normal."""
    students = fit.table("students")
    theta, error = students["theta"].to_numpy(), students["theta_se"].to_numpy()
    ends = np.concatenate([[-np.inf], cuts.ability, [np.inf]])
    p = np.diff(special.ndtr((ends - theta[:, None]) / error[:, None]), axis=1)
    columns = {name: students[name] for name in ("student", "n", "theta", "theta_se")}
    table = _table(columns, cuts, p, students["mean_score"].to_numpy(), None, safe)
    rows = [("fair", "posterior", float(p.max(axis=1).mean()), None, len(p))]
    return Decisions(cuts, table, pl.DataFrame(rows, schema=_QUALITY, orient="row"), safe, fit.backend)
