"""`rl.plan`: a design before the marking begins, who marks what, and what to expect of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.random import default_rng

from raterlens.base.atomic_files import atomic_write
from raterlens.base.errors import OptionError, choose
from raterlens.base.text import Message, Option, counted, number
from raterlens.capability.yardstick import MAX, PERFECT, Reference
from raterlens.config.option_fields import check_whole
from raterlens.planning.assignment import (
    KINDS,
    SCHEMES,
    Groups,
    People,
    Scheme,
    assign,
    forbidden_pairs,
    groups_of,
    raters_of,
    students_of,
)
from raterlens.planning.assumed_panel import (
    OUT_OF_100,
    AssumedPanel,
    Spreads,
    estimated,
    means_of_groups,
    stated,
)
from raterlens.planning.precision import precision
from raterlens.ratings.coded import Ratings
from raterlens.simulation.designs import written

if TYPE_CHECKING:
    from raterlens.inference.result import Result

COMMON_LADDER = (0, 5, 10, 20, 40, 80, 160, 320)
"""Numbers of common students that are tried for a target."""
MARKS_LADDER = (1, 2, 3, 4, 6, 8, 12)
"""Marks per student that are tried before the search goes into eighths."""
_FINEST = 1 / 8
# Shares of crossed students that are told apart.
_SHARE = 1 / 64
# Sets of raters that stand for all others while designs are compared.
_ROUGHLY = 600


@dataclass(frozen=True, slots=True, eq=False)
class MarkingPlan:
    """Who marks what, and the standard errors to expect."""

    scheme: Scheme
    assignment: pl.DataFrame
    """student, rater, kind (own, common, seeded or crossed), and with groups the student's group: one row per
    reading"""
    raters: pl.DataFrame
    """rater, n (readings), and the expected severity_se, sharpness_se and kappa_se"""
    ability_se: float
    accuracy: float
    """Expected share of students who are put on the right side of the cut"""
    cut: float
    n_students: int
    n_items: int
    n_groups: int = 0
    unit: str = ""
    """Unit of severities: marks, or log-odds of marks that are probabilities; logits where this is empty"""
    reached: bool | None = None
    """Whether the design reaches the targets; None where there were none"""

    @property
    def readings(self) -> int:
        return self.assignment.height

    @property
    def kappa_se(self) -> float:
        """On average over raters."""
        return float(self.raters["kappa_se"].to_numpy().mean())

    @property
    def severity_se(self) -> float:
        return float(self.raters["severity_se"].to_numpy().mean())

    @property
    def sharpness_se(self) -> float:
        return float(self.raters["sharpness_se"].to_numpy().mean())

    def expected(self) -> dict[str, Any]:
        """All in numbers, for programs."""
        found = {name: getattr(self.scheme, name) for name in ("marks", "common", "seeded", "crossed")}
        found |= {name: getattr(self, name) for name in ("severity_se", "sharpness_se", "kappa_se")}
        found |= {
            name: getattr(self, name) for name in ("readings", "ability_se", "cut", "accuracy", "reached")
        }
        sizes = {"students": self.n_students, "raters": self.raters.height, "items": self.n_items}
        return {"scheme": self.scheme.name, **found, **sizes, "groups": self.n_groups}

    def summary(self) -> str:
        """In words."""
        n, scheme = self.raters["n"].to_numpy(), self.scheme
        per_student = f"{scheme.marks:g} mark{'' if scheme.marks == 1 else 's'} per student"
        links = [f"{per_student} ({SCHEMES[scheme.name]})" if scheme.marks > 1 else per_student]
        if self.n_groups:
            links += [f"{self.n_groups} groups, each marked by its own raters"]
            links += [f"{100 * scheme.crossed:.1f} % of students also marked by a rater of another group"]
        links += [f"{counted(scheme.common, 'student')} marked by everybody"] * bool(scheme.common)
        links += [f"{counted(scheme.seeded, 'seeded script')} marked by everybody"] * bool(scheme.seeded)
        found = [
            f"{counted(self.n_students, 'student')}, {counted(len(n), 'rater')}: {'; '.join(links)}.",
            f"{self.readings:,} readings, {n.min():,} to {n.max():,} per rater.",
            f"Expected standard errors, on average over raters: severity {number(self.severity_se)}"
            f"{self.unit and f' {self.unit}'}, sharpness {number(self.sharpness_se, 3)}, "
            f"kappa {number(self.kappa_se, 3)}; of abilities {number(self.ability_se)}.",
            f"{100 * self.accuracy:.1f} % of students are put on the right side of ability {self.cut:g}.",
        ]
        if not np.isfinite(self.severity_se) and self.n_groups:
            found.append(
                "Severities of some groups' raters cannot be compared: mark more students in two groups."
            )
        elif not np.isfinite(self.kappa_se):
            found.append(
                "Some raters' capability is not determined by this design: give more marks or links."
            )
        if self.reached is not None:
            found.append(
                "This is the cheapest design found that reaches the target."
                if self.reached
                else "No design of this kind reaches the target; this is the most that it can do."
            )
        return "\n".join(found)

    def ratings(self) -> Ratings:
        """The design as ratings (all scores 0), for the chart of its network and for checks of its links."""
        design = written(self.assignment.with_columns(item=pl.lit("1")))
        return design.ratings(np.zeros(self.readings, np.int16))

    def network(self) -> Any:
        """The chart of who shares students with whom."""
        from raterlens.charts import network  # loads Altair

        return network(self.ratings())

    def save(self, path: str | Path) -> Path:
        """Write the assignment to a csv file."""
        path = Path(path)
        atomic_write(path, lambda draft: self.assignment.write_csv(draft), option="path")
        return path


def plan(
    students: int | Sequence[object] | str | Path = 500,
    raters: int | Sequence[object] | Mapping[str, float] | str | Path | None = None,
    *,
    items: int | None = None,
    marks: float = 2,
    scheme: str = "random",
    common: int = 0,
    seeded: int = 0,
    team: int | None = None,
    groups: int | None = None,
    crossed: float = 0.3,
    forbidden: Any = None,
    fit: "Result | None" = None,
    slope: float | None = None,
    slope_spread: float | None = None,
    severity_spread: float | None = None,
    difficulty_spread: float | None = None,
    threshold_spread: float = 0.0,
    group_spread: float = 0.7,
    categories: int = 2,
    scale: str = "rating scale",
    noise: float | None = None,
    noise_spread: float | None = None,
    cut: float = 0.0,
    reference: Reference | None = None,
    target_se: float | None = None,
    target_severity_se: float | None = None,
    target_accuracy: float | None = None,
    seed: int = 0,
) -> MarkingPlan:
    """Plan the marking: who marks what, and the standard errors to expect, from expected information.

    Parameters
    ----------
    students
        How many, or their labels, or the path of a table with the column `student` (and `group`, as below).
    raters
        How many, or their labels, or the most readings that each may have by label, or the path of a table with the
        columns `rater` and (where loads differ) `load` (and `group`). By default those of the earlier fit, or 10.
    items
        How many items a rater marks in each reading; by default those of the earlier fit, or 1.
    marks
        Raters per student. 1.3 is one for all and a second one for three in ten.
    scheme
        Who marks a student together: `random` raters, neighbours on a `ring`, or raters of one team (`blocks`).
    common
        Students whom every rater marks; the others have `marks` raters.
    seeded
        Scripts with a definitive mark, beside the students, that every rater marks without knowing it.
    team
        Raters per team, for `blocks`; by default one more than `marks`.
    groups
        How many groups, such as schools, students and raters belong to in turn, unless the tables of both have a column
        `group`. Raters mark students of their own group, whose mean ability is not known: only students who are marked
        in two groups, by everybody, or scripts with a definitive mark, tell weak groups from severe raters.
    crossed
        With groups: share of students whom a rater of another group marks as well.
    forbidden
        Who may not mark whom: pairs (student, rater), or a dataframe or the path of a table with these columns.
    fit
        An earlier fit (`gmf` or `tfm`, logit link, or of marks) whose raters and items are reckoned with. Without it,
        raters and items at the quantiles of normal distributions:
    slope, slope_spread, severity_spread, difficulty_spread
        Mean and standard deviation of the raters' slopes, standard deviations of severities and difficulties: 1.5, 0.4,
        0.7 and 1 by default; of marks 15, 4, 7 and 10.
    threshold_spread
        With more than two scores, standard deviation of each rater's own thresholds around those of all.
    group_spread
        With groups, standard deviation of their mean abilities; that of students within a group is 1.
    categories
        Scores that an item can get; 2 is pass or fail.
    scale
        `rating scale`, with these categories, or `continuous`: marks out of 100, with slopes, severities and
        difficulties in marks.
    noise, noise_spread
        Of marks, the usual standard deviation of a rater's marks around what it expects of a student (7.5), and the
        standard deviation of its logarithm among raters (0.2).
    cut
        The ability that divides pass from fail, for the accuracy of decisions; 0 is the average student.
    reference
        The yardstick of kappa. A rater without noise by default: who will be the sharpest rater is not known yet. Of
        marks, the rater whose marks follow ability most steeply.
    target_se, target_accuracy
        Find the cheapest design (by readings: `marks` and `common` are then what is searched for, with groups
        `crossed`) whose mean standard error of kappa is at most, and whose accuracy is at least, this.
    target_severity_se
        The same for the mean standard error of severities, in logits, or in marks.
    seed
        The same seed gives the same assignment.

    Returns
    -------
    MarkingPlan
        `assignment`, `raters`, `ability_se`, `accuracy`, `summary()`, `network()`, `save()`.

    Examples
    --------
    >>> import raterlens as rl
    >>> design = rl.plan(students=300, raters=8, items=3, marks=2, common=10)
    >>> design.assignment.columns, design.readings
    (['student', 'rater', 'kind'], 660)
    >>> design.raters.columns
    ['rater', 'n', 'severity_se', 'sharpness_se', 'kappa_se']
    >>> rl.plan(students=300, raters=8, items=3, target_se=0.08).reached
    True

    Five schools that mark their own students: how many of them have to be marked in another school as well?

    >>> schools = rl.plan(students=400, raters=10, items=4, marks=1, groups=5, target_severity_se=0.25)
    >>> schools.reached, 0 < schools.scheme.crossed < 1
    (True, True)

    Marks out of 100: how many have to be given twice, to know severities to a mark?

    >>> marks = rl.plan(students=400, raters=8, scale="continuous", noise=6, target_severity_se=1.0)
    >>> marks.reached, marks.severity_se <= 1
    (True, True)
    """
    choose("scheme", scheme, SCHEMES)
    in_marks = choose("scale", scale, ("rating scale", "continuous")) == "continuous"
    given = {
        "slope": slope,
        "slope_spread": slope_spread,
        "severity_spread": severity_spread,
        "difficulty_spread": difficulty_spread,
        "threshold_spread": threshold_spread,
        "group_spread": group_spread,
        "noise": noise,
        "noise_spread": noise_spread,
    }
    spreads = Spreads.of(in_marks, given)
    target = _Target(target_se, target_severity_se, target_accuracy)
    if not np.isfinite(cut):
        raise OptionError(Message(Option("cut", cut)), "give a finite ability")
    who, whom = raters_of(raters, fit), students_of(students)
    for name, value, least in (("common", common, 0), ("seeded", seeded, 0), ("categories", categories, 2)):
        check_whole(name, value, least)
    if items is not None:
        check_whole("items", items, 1)
    if fit is None:
        marks_of = OUT_OF_100 if in_marks else None
        panel = stated(spreads, len(who.labels), items or 1, categories, seed, marks_of)
    else:
        panel = estimated(fit, who.labels)
        if items not in (None, panel.n_items):
            what = f"items is {items}, and the earlier fit has {panel.n_items}"
            raise OptionError(what, "leave it out", value=items, option="items")
    unfit: dict[str, Any] = {"noise": noise, "noise_spread": noise_spread}
    if panel.marks is not None:
        unfit = {"threshold_spread": threshold_spread, "seeded": seeded}
        unfit |= {
            "categories": categories > 2 and categories,
            "reference": reference == PERFECT and reference,
        }
    _check_scale(panel.marks is not None, unfit)
    yardstick = reference or (PERFECT if panel.marks is None else MAX)
    wanted = Scheme(scheme, float(marks), common, seeded, team or int(np.ceil(marks)) + 1, crossed)
    pairs, of = forbidden_pairs(forbidden, whom, who), groups_of(groups, whom, who)
    if of is not None:
        panel = replace(panel, means=means_of_groups(spreads, len(of.names), seed))
    task = _Task(whom, who, panel, wanted, pairs, of, cut, yardstick, seed)
    task.check()
    if target == _Target():
        return task.planned(wanted)
    return _cheapest(task, target) if of is None else _least_crossed(task, target)


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """Everything but the scheme, which a search may change."""

    students: People
    raters: People
    panel: AssumedPanel
    scheme: Scheme
    forbidden: Any
    groups: Groups | None
    cut: float
    reference: Reference
    seed: int

    def check(self) -> None:
        scheme, n, r = self.scheme, len(self.students.labels), len(self.raters.labels)
        marks = Option("marks", scheme.marks)
        if not 1 <= scheme.marks <= r:
            raise OptionError(Message(marks, f" with {counted(r, 'rater')}"), f"give 1 to {r}")
        if scheme.common > n:
            what = f"common is {scheme.common}, more than the {n:,} students"
            raise OptionError(what, "lower it", value=scheme.common, option="common")
        if self.groups is not None:
            fewest = int(np.bincount(self.groups.rater, minlength=len(self.groups.names)).min())
            if scheme.marks > fewest:
                what = Message(marks, f" with {counted(fewest, 'rater')} in some group")
                raise OptionError(what, "lower it, or the number of groups")
            if not 0 <= scheme.crossed <= 1:
                raise OptionError(Message(Option("crossed", scheme.crossed)), "give a share from 0 to 1")
        if not scheme.marks <= scheme.team:
            what = f"teams of {scheme.team} cannot give {scheme.marks:g} marks per student"
            raise OptionError(what, "make teams larger", value=scheme.team, option="team")

    def planned(self, scheme: Scheme, most: int | None = None) -> MarkingPlan:
        n, labels = len(self.students.labels), self.raters.labels
        groups, marks = self.groups, self.panel.marks
        random = default_rng([self.seed, 0])
        work = assign(n, scheme, self.raters.loads, len(labels), self.forbidden, random, groups)
        definitive = np.arange(n + scheme.seeded) >= n
        group = None if groups is None else np.append(groups.student, np.zeros(scheme.seeded, np.int64))
        readings = self.panel, work.student, work.rater, definitive
        found = precision(*readings, cut=self.cut, reference=self.reference, most=most, group=group)
        names = pl.concat([self.students.labels, _seed_labels(scheme.seeded, self.students.labels)])
        columns = {
            "student": names.gather(work.student),
            "rater": labels.gather(work.rater),
            "kind": pl.Series([KINDS[kind] for kind in work.kind.tolist()]),
        }
        if groups is not None and group is not None:
            own = groups.names.gather(group[work.student])
            columns["group"] = own.set(pl.Series(definitive[work.student]), None)
        errors = {"severity_se": found.severity, "sharpness_se": found.sharpness, "kappa_se": found.kappa}
        raters = pl.DataFrame({"rater": labels, "n": work.loads(len(labels)), **errors})
        unit = "" if marks is None else "log-odds" if marks.probabilities else "marks"
        sizes = n, self.panel.n_items, 0 if groups is None else len(groups.names)
        students = found.ability, found.accuracy, self.cut
        return MarkingPlan(scheme, pl.DataFrame(columns), raters, *students, *sizes, unit)


@dataclass(frozen=True, slots=True)
class _Target:
    kappa_se: float | None = None
    severity_se: float | None = None
    accuracy: float | None = None

    def __post_init__(self) -> None:
        for name, se in (("target_se", self.kappa_se), ("target_severity_se", self.severity_se)):
            if se is not None and not se > 0:
                raise OptionError(Message(Option(name, se)), "give a number above 0")
        if self.accuracy is not None and not 0.5 < self.accuracy < 1:
            raise OptionError(
                Message(Option("target_accuracy", self.accuracy)), "give a share between 0.5 and 1"
            )

    def reached(self, found: MarkingPlan) -> bool:
        errors = (found.kappa_se, self.kappa_se), (found.severity_se, self.severity_se)
        precise = all(most is None or error <= most for error, most in errors)
        return precise and (self.accuracy is None or found.accuracy >= self.accuracy)

    def least(
        self, planned: Callable[[float], MarkingPlan], low: float, best: MarkingPlan, high: float, step: float
    ) -> MarkingPlan:
        """The plan of the least amount above `low` that reaches the target; `best`, that of `high`, does."""
        while high - low > step:
            middle = float(np.floor((low + high) / 2 / step) * step)
            found = planned(middle)
            if self.reached(found):
                high, best = middle, found
            else:
                low = middle
        return replace(best, reached=True)


def _least_crossed(task: _Task, target: _Target) -> MarkingPlan:
    """The least share of students marked in two groups that reaches the target."""

    def planned(share: float) -> MarkingPlan:
        return task.planned(replace(task.scheme, crossed=share))

    most = planned(1.0)
    if not target.reached(most):
        return replace(most, reached=False)
    return target.least(planned, 0.0, most, 1.0, _SHARE)


def _cheapest(task: _Task, target: _Target) -> MarkingPlan:
    """For each number of common students, the least marks per student that reach the target; then the cheapest."""
    n, r = len(task.students.labels), len(task.raters.labels)
    best = most = None
    for common in (c for c in COMMON_LADDER if c <= n):

        def planned(marks: float, common: int = common) -> MarkingPlan:
            team = max(task.scheme.team, int(np.ceil(marks)))
            return task.planned(replace(task.scheme, marks=marks, common=common, team=team), _ROUGHLY)

        low = 1.0 - _FINEST
        for high in (float(m) for m in MARKS_LADDER if m <= r):
            least = (low + _FINEST) * (n - common) + r * (common + task.scheme.seeded)
            if best is not None and least >= best.readings:
                break
            found = planned(high)
            if most is None or found.kappa_se < most.kappa_se:
                most = found
            if target.reached(found):
                found = target.least(planned, low, found, high, _FINEST)
                best = found if best is None or found.readings < best.readings else best
                break
            low = high
    if best is None:
        assert most is not None
        return replace(task.planned(most.scheme), reached=False)
    exact = task.planned(best.scheme)
    while not target.reached(exact) and exact.scheme.marks < r:
        exact = task.planned(replace(exact.scheme, marks=min(exact.scheme.marks + _FINEST, r), team=r))
    return replace(exact, reached=target.reached(exact))


def _check_scale(in_marks: bool, unfit: Mapping[str, object]) -> None:
    """Raise where something is given that has no place on this scale."""
    scale = Option("scale", "continuous" if in_marks else "rating scale")
    for name, value in unfit.items():
        if value:
            what = Message(Option(name, value), " does not go with ", scale)
            raise OptionError(what, "leave out one of them", option=name)


def _seed_labels(number: int, students: pl.Series) -> pl.Series:
    """Labels that no student has."""
    taken = set(students)
    free = (label for place in count(1) if (label := f"seed {place}") not in taken)
    return pl.Series("student", islice(free, number), dtype=pl.String)
