"""Re-marking: the readings that are expected to put most grades right.

One more reading of a student's items by rater r would have total y with probability L(y | theta), and the grade would
then be the most probable one given y as well. With p the student's posterior and w_g its weights of grade g, as many
more grades are right as

    gain = sum over y of max over g of <p L_y, w_g>  -  max over g of <p, w_g>,

never less than 0. It is linear in p but for the maxima, so students who already have a reading planned are rows p L_y
of their own, and the gain of the next reading is the same expression. A gain is at most the chance that the grade is
wrong now: students go in order of it, and those in least doubt need not be looked at.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from raterlens.base.arrays import Array, Indices
from raterlens.base.errors import OptionError, choose
from raterlens.base.text import Message, Option, counted, listed
from raterlens.estimation.scoring import places_of
from raterlens.grading.decisions import Basis, Decisions, decisions
from raterlens.grading.grades import Cut, Grid
from raterlens.grading.marking import reading_totals, readings_of
from raterlens.inference.expected_scores import MOST_RATERS, spread_over
from raterlens.ratings.coded import Backend, Ratings, to_backend

if TYPE_CHECKING:
    from raterlens.inference.result import Result

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


class Mark(NamedTuple):
    """One more reading of a student's items."""

    student: int
    rater: int
    """Place among those of the fit"""
    gain: float
    settled: float
    """Chance that the decision is safe, with the marks before it"""


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
        first = f"{counted(n, 'further mark')} of {counted(last.height, 'student')}"
        found = [
            f"{first} would put about {self.gain:.1f} more grades right and make about "
            f"{last['becomes_safe'].sum():.0f} of {counted(self.unsafe, 'unsafe decision')} safe."
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
        wanted = (
            labels
            if self.raters is None
            else [choose("rater", name, labels, "raters") for name in self.raters]
        )
        excluded = {choose("rater", name, labels, "not_by") for name in self.not_by}
        may = [name for name in wanted if name not in excluded]
        if not may:
            raise OptionError(
                f"none of {counted(len(wanted), 'rater')} is left to mark",
                Message("leave fewer out with ", Option("not_by")),
            )
        may = [name for name in may if name not in self.doubted] or may
        return [labels.index(name) for name in may]


ANYBODY = Markers()


def remark(
    fit: "Result", ratings: Ratings, cut: Cut | Decisions, budget: int, who: Markers = ANYBODY
) -> Remark:
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
    labels = known.labels["rater"].cast(pl.String).to_list()
    asked = who.places(labels)
    # Gains are at most the doubt: with this many students the rest is out of question, or next to it.
    pool = _Pool(fit, ratings, decided, asked, max(_FEWEST, 10 * budget))
    chosen = _greedy(pool, budget, who.per_rater or -(-_SHARE * budget // len(pool.raters)))
    if len(chosen) < budget and who.per_rater is None:
        # Few raters are left who have not marked these students: then those mark more.
        chosen = _greedy(pool, budget, budget)
    students = [mark.student for mark in chosen]
    right = 1 - pool.doubt
    table = pl.DataFrame(
        {
            "student": ratings.students.gather(students),
            "rater": known.labels["rater"].gather([mark.rater for mark in chosen]),
            "grade": decided.table["grade"].gather(students),
            "right": right[students],
            "gain": pl.Series([mark.gain for mark in chosen], dtype=pl.Float64),
            "becomes_safe": pl.Series([mark.settled for mark in chosen], dtype=pl.Float64),
        }
    )
    left_out = tuple(
        name for name in who.doubted if labels.index(name) not in asked and name not in who.not_by
    )
    return Remark(table, budget, float(right.sum()), decided.unsafe, left_out, fit.backend)


class _Pool:
    """The students in most doubt, and what a mark by each of some raters would tell."""

    def __init__(
        self, fit: "Result", ratings: Ratings, decided: Decisions, asked: list[int], size: int
    ) -> None:
        known = fit.calibrated("there is no ability to decide by")
        basis = decided.basis
        if basis is None or basis.ratings is not ratings:
            basis = Basis.of(fit, known, ratings, decided.cuts)
        grid = basis.grid
        self._known, self._theta, self._safe = known, grid.abilities, decided.safe
        self.doubt = 1 - decided.probabilities.max(axis=1)
        size = min(size, _MOST_NUMBERS // len(grid.nodes.points), len(self.doubt))
        self.students = np.sort(np.argsort(-self.doubt, kind="stable")[:size])
        self._weights = grid.grade_weights(float(basis.extra[self.students].mean()))
        self.rows = _rows(grid, self.students)
        rater = places_of(ratings.raters, known.labels["rater"], "raters")
        item = places_of(ratings.items, known.labels["item"], "items")
        readings = readings_of(ratings, self.students)
        self._markers = [{int(rater[one.rater]) for one in own} for own in readings]
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
            found[one, np.isin(self.raters, list(markers))] = np.nan
        return found

    def gains(self, one: int, rows: Array, planned: Sequence[int]) -> Array:
        """(raters,): of one more mark for a student of the pool, whose rows are those after every outcome of the marks
        that are planned."""
        found = np.asarray(self._gains(rows, self._items[one]).sum(axis=0))
        found[np.isin(self.raters, [*self._markers[one], *planned])] = np.nan
        return found

    def after(self, one: int, rows: Array, rater: int) -> Array:
        """The rows after every outcome of a mark by a rater as well."""
        totals = self._of_items(self._items[one])[np.flatnonzero(self.raters == rater)[0]]
        found = (rows[:, None] * totals).reshape(-1, rows.shape[1])
        return np.asarray(found[found.sum(axis=1) > _NEGLIGIBLE])

    def settled(self, rows: Array) -> float:
        """The chance that the decision is safe, given one of these rows."""
        p = rows @ self._weights
        total = p.sum(axis=1)
        return float(total[p.max(axis=1) >= self._safe * total].sum() / total.sum())

    def _gains(self, rows: Array, items: tuple[int, ...]) -> Array:
        """(rows, raters)"""
        now = (rows @ self._weights).max(axis=1)
        found = np.empty((len(rows), len(self.raters)))
        for place_, totals in enumerate(self._of_items(items)):
            told = (totals[:, None] * self._weights.T).reshape(-1, rows.shape[1])
            then = (rows @ told.T).reshape(len(rows), len(totals), -1)
            found[:, place_] = then.max(axis=2).sum(axis=1) - now
        return np.maximum(found, 0.0)

    def _of_items(self, items: tuple[int, ...]) -> Array:
        """(raters, totals, nodes)"""
        if items not in self._totals:
            rows = [self._known.rows(self.raters, item) for item in items]
            self._totals[items] = reading_totals(self._known, rows, self._theta)
        return self._totals[items]


def _rows(grid: Grid, students: Indices) -> Array:
    """(students, nodes): their posteriors."""
    found = np.empty((len(students), len(grid.nodes.points)))
    for rows, posterior in grid.posteriors():
        low, high = np.searchsorted(students, [rows.start, rows.stop])
        found[low:high] = posterior[students[low:high] - rows.start]
    return found


def _greedy(pool: _Pool, budget: int, limit: int) -> list[Mark]:
    """The marks that gain most, one after the other; no rater has more than `limit`."""
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
    chosen: list[Mark] = []
    while waiting and len(chosen) < budget:
        loss, one, best = heappop(waiting)
        if left[best] == 0:
            offer(one)
            continue
        left[best] -= 1
        rater = int(pool.raters[best])
        rows[one] = pool.after(one, rows[one], rater)
        planned[one].append(rater)
        chosen.append(Mark(int(pool.students[one]), rater, -loss, pool.settled(rows[one])))
        if len(planned[one]) < MOST_MARKS:
            gains[one] = pool.gains(one, rows[one], planned[one])
            offer(one)
    return chosen
