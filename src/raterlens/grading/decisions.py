"""Decisions about students: the raw and the fair result, how sure its grade is, and what to mark again.

The true grade of a student is that of the mean score which the average rater would be expected to give over all
items, so it is a matter of ability alone. The fair grade is the most probable one given all ratings and what is known
of the raters; the raw grade is that of the mean score as it stands.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from scipy import special

from raterlens.base.arrays import Array
from raterlens.base.errors import OptionError, choose
from raterlens.base.text import Message, Option, counted, listed
from raterlens.config import FitConfig
from raterlens.config.limits import THETA_ERROR_RATINGS
from raterlens.estimation.scoring import place, places_of
from raterlens.grading.grades import (
    Cut,
    Cuts,
    Grid,
    On,
    consistency_of_sets,
    cuts_of,
    given_cuts,
    graded,
    reading_totals,
    readings_of,
    repeat_chances,
    rudner,
    unshrunk,
)
from raterlens.inference.expected_scores import MOST_RATERS, FairResults, results_at, spread_over
from raterlens.models.calibration import Calibration
from raterlens.models.registry import MODELS
from raterlens.ratings.coded import Backend, Ratings, to_backend

if TYPE_CHECKING:
    from raterlens.fitting.fit import Fit
    from raterlens.inference.result import Result

SAFE = 0.9
"""A decision is safe if its grade is at least this probable."""

_QUALITY = {"result": pl.String, "method": pl.String, "accuracy": pl.Float64, "consistency": pl.Float64}
_QUALITY |= {"students": pl.Int64}


class Basis(NamedTuple):
    """The fit on the ratings that decide: what all that is said of grades comes from."""

    ratings: Ratings
    grid: Grid
    theta: Array
    """(students,)"""
    theta_se: Array
    extra: Array
    """(students,): variance that comes from the errors of the estimates, in units of the population"""


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
        of = {row["result"]: row for row in self.quality.filter(method="posterior").iter_rows(named=True)}
        fair = f"{100 * of['fair']['accuracy']:.0f} % of the most probable grades are expected to be right"
        if "raw" not in of:
            return [*found, f"{fair}."]
        again = f"A second marking would repeat {100 * of['raw']['consistency']:.0f} % of the raw grades"
        return [*found, f"{fair} (raw: {100 * of['raw']['accuracy']:.0f} %). {again}."]

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
    cuts, students = cuts_of(known, cut, on, grades), fit.table("students")
    if known.second_ability and ratings is not None:
        # Raters then share more than ability: readings are not independent, and nodes are of two abilities.
        if ratings.students.cast(pl.String).to_list() != students["student"].cast(pl.String).to_list():
            raise OptionError(
                "raters of this fit share a second ability, so only the students who were fitted can be decided about",
                "give the ratings that were fitted",
                option="shared",
            )
        ratings = None
    if ratings is None:  # by the estimates alone, posteriors taken as normal
        theta, error = students["theta"].to_numpy(), students["theta_se"].to_numpy()
        ends = np.concatenate([[-np.inf], cuts.ability, [np.inf]])
        p = np.diff(special.ndtr((ends - theta[:, None]) / error[:, None]), axis=1)
        own = {name: students[name] for name in ("student", "n", "theta", "theta_se")}
        table = _table(own, cuts, p, students["mean_score"].to_numpy(), None, safe)
        rows = [("fair", "posterior", float(p.max(axis=1).mean()), None, len(p))]
        return Decisions(cuts, table, pl.DataFrame(rows, schema=_QUALITY, orient="row"), safe, fit.backend)
    basis = _basis(fit, known, ratings, cuts)
    raw = ratings.mean_scores("student")
    again = repeat_chances(known, ratings, basis.grid, cuts, cuts.grade_of(raw))
    columns: dict[str, Any] = {"student": ratings.students, "n": ratings.tally("student").n}
    columns |= {"theta": basis.theta, "theta_se": basis.theta_se}
    results = results_at(known, ratings, basis.theta, basis.theta_se)
    table = _table(columns, cuts, graded(basis.grid, basis.extra), raw, results, safe)
    table = table.with_columns(pl.Series("same_again", again).fill_nan(None))
    return Decisions(cuts, table, _quality(known, basis.grid, cuts, table), safe, fit.backend, basis)


def _basis(fit: "Result", known: Calibration, ratings: Ratings, cuts: Cuts) -> Basis:
    placed = place(known, ratings)
    moments, (mean, sd) = placed.abilities(), known.population
    extra = np.zeros(ratings.n_students)
    if fit.method == "mml" and known.covariance is not None and fit.n_ratings <= THETA_ERROR_RATINGS:
        # Of students who were fitted with these very ratings, the error is known.
        own = pl.DataFrame({"student": ratings.students.cast(pl.String), "own": ratings.tally("student").n})
        fitted = fit.table("students").select(pl.col("student").cast(pl.String), "n", "theta_se")
        both = own.join(fitted, on="student", how="left", maintain_order="left")
        same = (both["n"] == both["own"]).fill_null(value=False).to_numpy()
        excess = (both["theta_se"].to_numpy() / sd) ** 2 - moments.sd**2
        # Rounding of a posterior is not an error of the estimates.
        extra[same] = np.where(excess[same] < 1e-9, 0.0, excess[same])
    theta, error = mean + sd * moments.mean, sd * np.sqrt(moments.sd**2 + extra)
    return Basis(ratings, Grid(known, placed, moments, cuts), theta, error, extra)


def _table(
    columns: dict[str, Any], cuts: Cuts, p: Array, raw: Array, results: FairResults | None, safe: float
) -> pl.DataFrame:
    names = pl.Series(cuts.grades)
    columns |= {"raw": raw, "raw_grade": names.gather(cuts.grade_of(raw))}
    if results is None:
        nothing = pl.Series([None] * len(p), dtype=pl.Float64)
        columns |= {"fair": nothing, "fair_se": nothing, "would_change": nothing.cast(pl.Boolean)}
    else:
        columns |= {"fair": results.fair, "fair_se": results.fair_se}
        columns |= {"would_change": results.changed(cuts.score)}
    columns |= {"grade": names.gather(p.argmax(axis=1))}
    columns |= {f"p_{grade}": p[:, place] for place, grade in enumerate(cuts.grades)}
    return pl.DataFrame(columns | {"safe": p.max(axis=1) >= safe})


def _quality(known: Calibration, grid: Grid, cuts: Cuts, table: pl.DataFrame) -> pl.DataFrame:
    """Accuracy and consistency of the exam, by every method that applies."""
    given = table.select(f"p_{grade}" for grade in cuts.grades).to_numpy()
    right = given[np.arange(len(given)), cuts.grade_of(table["raw"].to_numpy())]
    covered = table["same_again"].drop_nulls()
    estimate, se = unshrunk(grid.placed)
    certain = np.isfinite(se)
    by_rudner = rudner(estimate[certain], se[certain], grid.cuts)
    by_lee, lee_students = consistency_of_sets(known, grid.placed.ratings, cuts)
    rows = [
        ("fair", "posterior", given.max(axis=1).mean(), None, len(given)),
        ("raw", "posterior", right.mean(), covered.mean(), len(covered)),
        ("fair", "Rudner", by_rudner.accuracy.mean(), by_rudner.consistency.mean(), int(certain.sum())),
        ("raw", "Lee", float(by_lee.accuracy), float(by_lee.consistency), lee_students),
    ]
    return pl.DataFrame(rows, schema=_QUALITY, orient="row")


# ------------------------------------------------------------------------------------------------- marking again


# The readings that are expected to put most grades right.
#
# One more reading of a student's items by rater r would have total y with probability L(y | theta), and the grade would
# then be the most probable one given y as well. With p the student's posterior and w_g its weights of grade g, as many
# more grades are right as
#
#     gain = sum over y of max over g of <p L_y, w_g>  -  max over g of <p, w_g>,
#
# never less than 0. It is linear in p but for the maxima, so students who already have a reading planned are rows p L_y
# of their own, and the gain of the next reading is the same expression. A gain is at most the chance that the grade is
# wrong now: students go in order of it, and those in least doubt need not be looked at.

MOST_CANDIDATES, MOST_MARKS = 40, 3
"""Raters who are considered, of larger panels the most useful; further marks for one student."""
_TRIAL, _CHUNK, _FEWEST = 100, 2_000, 1_000
"""Students whom raters are tried on, students at a time, and how many are looked at in any case."""
_MOST_NUMBERS = 2**25
"""In the posteriors of those who are looked at: 256 MB."""
_NEGLIGIBLE = 1e-9
_NAMED = 8
"""Raters in the summary."""
_SHARE = 3
"""How often the even share of the marks one rater may have, where nothing else is said."""


@dataclass(frozen=True, slots=True, eq=False)
class Remark:
    """Marks to make again, and their expected gain."""

    table: pl.DataFrame
    """`marks` as a polars DataFrame"""
    budget: int
    right: float
    """Right grades that are expected as it is"""
    unsafe: int
    """Decisions that are not safe as it is"""
    left_out: tuple[str, ...] = ()
    """Raters who were not asked, because they need attention themselves"""
    backend: Backend = "polars"

    @property
    def marks(self) -> Any:
        """A row per further mark, the most useful first: student, rater, grade (as it is), right (the probability
        that it is), gain (how much that is expected to rise) and becomes_safe (the chance that the decision is safe
        then)."""
        return to_backend(self.table, self.backend)

    @property
    def gain(self) -> float:
        """Grades more that are expected to be right, by all marks together."""
        return float(self.table["gain"].sum())

    def words(self) -> list[str]:
        """One sentence each."""
        n, budget = self.table.height, self.budget
        if not n:
            return [
                "No further mark would change a grade: each student in doubt has been marked by all these raters, or "
                "none is in doubt."
            ]
        last = self.table.unique("student", keep="last")
        found = [
            f"{counted(n, 'further mark')} of {counted(last.height, 'student')} would put about {self.gain:.1f} more "
            f"grades right and make about {last['becomes_safe'].sum():.0f} of "
            f"{counted(self.unsafe, 'unsafe decision')} safe."
        ]
        if n < budget:
            found.append(
                f"The other {budget - n:,} of {budget:,} would gain next to nothing, or nobody is left to give them."
            )
        best = self.table.group_by("rater").len().sort("len", "rater", descending=[True, False])
        most = [f"{rater} ({marks})" for rater, marks in best.head(_NAMED).iter_rows()]
        rest = f" and {counted(best.height - _NAMED, 'other')}" if best.height > _NAMED else ""
        found.append(f"Marks per rater: {', '.join(most)}{rest}.")
        if self.left_out:
            found.append(
                f"Not by {listed(self.left_out, _NAMED)}, who {'needs' if len(self.left_out) == 1 else 'need'} "
                "attention first."
            )
        return found

    def summary(self) -> str:
        return "\n".join(self.words())


class Markers(NamedTuple):
    """Who may mark again: these raters, or all; but neither those who may not nor, while others are left, those in
    doubt; and how many marks each at most."""

    raters: Sequence[str] | None = None
    not_by: Sequence[str] = ()
    doubted: Sequence[str] = ()
    per_rater: int | None = None

    def places(self, labels: list[str]) -> list[int]:
        """Places among all raters of those who may mark."""
        wanted = labels
        if self.raters is not None:
            wanted = [choose("rater", name, labels, "raters") for name in self.raters]
        excluded = {choose("rater", name, labels, "not_by") for name in self.not_by}
        may = [name for name in wanted if name not in excluded]
        if not may:
            raise OptionError(
                f"none of {counted(len(wanted), 'rater')} is left to mark",
                Message("leave fewer out with ", Option("not_by")),
            )
        return [labels.index(name) for name in may if name not in self.doubted] or list(
            map(labels.index, may)
        )


def remark(fit: "Result", ratings: Ratings, cut: Cut | Decisions, budget: int, who: Markers) -> Remark:
    """Choose what to mark again: `Fit.remark`."""
    known = fit.calibrated("there is no ability to decide by")
    if known.second_ability:
        raise OptionError(
            "raters of this fit share a second ability, so what a further mark adds does not depend on its rater alone",
            Message("fit with ", Option("shared", "no")),
        )
    if budget < 1:
        raise OptionError(
            f"budget is {budget}",
            "give the number of further marks, at least 1",
            value=budget,
            option="budget",
        )
    decided = cut if isinstance(cut, Decisions) else decisions(fit, ratings, cut)
    basis = decided.basis
    if basis is None or basis.ratings is not ratings:
        basis = _basis(fit, known, ratings, decided.cuts)
    labels = known.labels["rater"].cast(pl.String).to_list()
    asked = who.places(labels)
    # Gains are at most the doubt: with this many students the rest is out of question, or next to it.
    pool = _Pool(known, decided, basis, asked, max(_FEWEST, 10 * budget))
    chosen = _greedy(pool, budget, who.per_rater or -(-_SHARE * budget // len(pool.raters)))
    if len(chosen) < budget and who.per_rater is None:
        # Few raters are left who have not marked these students: then those mark more.
        chosen = _greedy(pool, budget, budget)
    schema = {"student": pl.Int64, "rater": pl.Int64, "gain": pl.Float64, "becomes_safe": pl.Float64}
    marks = pl.DataFrame(chosen, schema=schema, orient="row")
    students, right = marks["student"], 1 - pool.doubt
    table = pl.DataFrame(
        {
            "student": ratings.students.gather(students),
            "rater": known.labels["rater"].gather(marks["rater"]),
            "grade": decided.table["grade"].gather(students),
            "right": right[students.to_numpy()],
            "gain": marks["gain"],
            "becomes_safe": marks["becomes_safe"],
        }
    )
    doubted = [name for name in who.doubted if labels.index(name) not in asked and name not in who.not_by]
    return Remark(table, budget, float(right.sum()), decided.unsafe, tuple(doubted), fit.backend)


class _Pool:
    """The students in most doubt, and what a mark by each of some raters would tell."""

    def __init__(
        self, known: Calibration, decided: Decisions, basis: Basis, asked: list[int], size: int
    ) -> None:
        ratings, grid = basis.ratings, basis.grid
        self._known, self._theta, self._safe = known, grid.abilities, decided.safe
        self.doubt = 1 - decided.probabilities.max(axis=1)
        size = min(size, _MOST_NUMBERS // len(self._theta), len(self.doubt))
        self.students = np.sort(np.argsort(-self.doubt, kind="stable")[:size])
        self._weights = grid.grade_weights(float(basis.extra[self.students].mean()))
        self.rows = np.empty((len(self.students), len(self._theta)))
        """(students of the pool, nodes): their posteriors"""
        for rows, posterior in grid.posteriors():
            low, high = np.searchsorted(self.students, [rows.start, rows.stop])
            self.rows[low:high] = posterior[self.students[low:high] - rows.start]
        rater = places_of(ratings.raters, known.labels["rater"], "raters")
        item = places_of(ratings.items, known.labels["item"], "items")
        readings = readings_of(ratings, self.students)
        self._markers = [[int(rater[one.rater]) for one in own] for own in readings]
        self._items = [tuple(sorted({int(item[i]) for one in own for i in one.items})) for own in readings]
        self._totals: dict[tuple[int, ...], Array] = {}
        may = np.array(asked)
        self.raters = may[spread_over(known.effects["severity"][may], MOST_RATERS)]
        if len(self.raters) > MOST_CANDIDATES:
            some = np.argsort(-self.doubt[self.students], kind="stable")[:_TRIAL]
            gains = np.nansum([self.gains(int(one), self.rows[[one]], ()) for one in some], axis=0)
            self.raters = self.raters[np.sort(np.argsort(-gains, kind="stable")[:MOST_CANDIDATES])]
            self._totals = {}

    def first_gains(self) -> Array:
        """(students of the pool, raters): of one more mark for each; not a number where a rater has marked the
        student."""
        found = np.full((len(self.students), len(self.raters)), np.nan)
        of_items: dict[tuple[int, ...], list[int]] = {}
        for one, items in enumerate(self._items):
            of_items.setdefault(items, []).append(one)
        for items, own in of_items.items():
            for first in range(0, len(own), _CHUNK):
                some = own[first : first + _CHUNK]
                found[some] = self._gains(self.rows[some], items)
        for one, markers in enumerate(self._markers):
            found[one, np.isin(self.raters, markers)] = np.nan
        return found

    def gains(self, one: int, rows: Array, planned: Sequence[int]) -> Array:
        """(raters,): of one more mark for a student of the pool, whose rows are those after every outcome of the marks
        that are planned."""
        found = np.asarray(self._gains(rows, self._items[one]).sum(axis=0))
        found[np.isin(self.raters, [*self._markers[one], *planned])] = np.nan
        return found

    def after(self, one: int, rows: Array, place: int) -> Array:
        """The rows after every outcome of a mark by the rater in this place as well."""
        found = (rows[:, None] * self._of_items(self._items[one])[place]).reshape(-1, rows.shape[1])
        return np.asarray(found[found.sum(axis=1) > _NEGLIGIBLE])

    def becomes_safe(self, rows: Array) -> float:
        """The chance that the decision is safe, given one of these rows."""
        p = rows @ self._weights
        total = p.sum(axis=1)
        return float(total[p.max(axis=1) >= self._safe * total].sum() / total.sum())

    def _gains(self, rows: Array, items: tuple[int, ...]) -> Array:
        """(rows, raters)"""
        now = (rows @ self._weights).max(axis=1)
        found = np.empty((len(rows), len(self.raters)))
        for rater, totals in enumerate(self._of_items(items)):
            told = (totals[:, None] * self._weights.T).reshape(-1, rows.shape[1])
            then = (rows @ told.T).reshape(len(rows), len(totals), -1)
            found[:, rater] = then.max(axis=2).sum(axis=1) - now
        return np.maximum(found, 0.0)

    def _of_items(self, items: tuple[int, ...]) -> Array:
        """(raters, totals, nodes)"""
        if items not in self._totals:
            rows = [self._known.rows(self.raters, item) for item in items]
            self._totals[items] = reading_totals(self._known, rows, self._theta)
        return self._totals[items]


def _greedy(pool: _Pool, budget: int, limit: int) -> list[tuple[int, int, float, float]]:
    """The marks that gain most, one after the other: student, rater, gain, and the chance that the decision is safe
    with it and the marks before. No rater has more than `limit`."""
    left = np.full(len(pool.raters), limit)
    gains = dict(enumerate(pool.first_gains()))
    rows = dict(enumerate(pool.rows[:, None]))
    planned: dict[int, list[int]] = {one: [] for one in gains}
    waiting: list[tuple[float, int, int]] = []

    def offer(one: int) -> None:
        """Put the student's best mark by a rater who has room among those that wait."""
        open_to = np.where(left > 0, gains[one], np.nan)
        if np.any(open_to > _NEGLIGIBLE):
            best = int(np.nanargmax(open_to))
            heappush(waiting, (-float(open_to[best]), one, best))

    for one in gains:
        offer(one)
    chosen: list[tuple[int, int, float, float]] = []
    while waiting and len(chosen) < budget:
        loss, one, best = heappop(waiting)
        if left[best] == 0:
            offer(one)
            continue
        left[best] -= 1
        rows[one] = pool.after(one, rows[one], best)
        planned[one].append(int(pool.raters[best]))
        chosen.append((int(pool.students[one]), planned[one][-1], -loss, pool.becomes_safe(rows[one])))
        if len(planned[one]) < MOST_MARKS:
            gains[one] = pool.gains(one, rows[one], planned[one])
            offer(one)
    return chosen


# ----------------------------------------------------------------------------------------------- what was asked for


@dataclass(frozen=True, slots=True)
class AskedDecisions:
    """Cuts as text, and how many further marks to plan."""

    decide: str | None = None
    remark: int | None = None
    by_raters: Sequence[str] | None = None
    not_by: Sequence[str] = ()

    def check(self, fit: FitConfig) -> None:
        """Raise on what can be seen to be wrong without ratings."""
        markers = self.by_raters is not None or bool(self.not_by)
        if self.decide is None:
            if self.remark is not None or markers:
                raise OptionError(
                    Message(Option("remark"), " plans marks for decisions"),
                    Message("give the cut as well, such as ", Option("decide", 1.5)),
                    option="decide",
                )
            return
        if self.remark is None and markers:
            raise OptionError(
                Message(Option("not_by" if self.by_raters is None else "by_raters"), " says who marks again"),
                Message("give the number of further marks as well, such as ", Option("remark", 50)),
            )
        given_cuts(self.decide)
        if self.remark is not None and self.remark < 1:
            raise OptionError(
                f"{self.remark} further marks", "give at least 1", value=self.remark, option="remark"
            )
        if MODELS[fit.model_name].true_category:
            raise OptionError(
                f"model {fit.model!r} has no ability to decide by",
                Message("fit ", Option("model", "gmf"), " or ", Option("model", "tfm")),
                value=fit.model,
                option="decide",
            )

    def check_scores(self, ratings: Ratings) -> None:
        """Raise on cuts that no mean score could reach, or miss."""
        if self.decide is None:
            return
        cuts, on = given_cuts(self.decide)
        given = ratings.score_step * np.flatnonzero(ratings.score_counts)
        if on == "score" and not given[0] < cuts[0] <= cuts[-1] < given[-1]:
            off = cuts[0] if cuts[0] <= given[0] else cuts[-1]
            raise OptionError(
                f"a cut at {off:g}, but scores go from {given[0]:g} to {given[-1]:g}",
                "give a mean score between them",
                value=self.decide,
                option="decide",
            )

    def made(self, fit: "Fit", ratings: Ratings) -> tuple[Decisions | None, Remark | None]:
        """Make the decisions that were asked for."""
        if self.decide is None:
            return None, None
        decided = fit.decisions(ratings, cut=self.decide)
        if self.remark is None:
            return decided, None
        return decided, fit.remark(
            ratings, cut=decided, budget=self.remark, raters=self.by_raters, not_by=self.not_by
        )
