"""Who marks whom: students, raters, loads and forbidden pairs, and the work handed out."""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.random import Generator
from numpy.typing import NDArray

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.base.errors import InputError, OptionError
from raterlens.base.text import Message, Option, counted, listed, shortened
from raterlens.config.option_fields import check_whole
from raterlens.reading.read import read_rater_table
from raterlens.simulation.designs import numbered

if TYPE_CHECKING:
    from raterlens.inference.result import Result


# -------------------------------------------------------------------------------------------------------- people


DEFAULT_RATERS = 10


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """Labels as text, and the most readings that each may have."""

    labels: pl.Series
    loads: Array | None = None
    group: pl.Series | None = None
    """The group that each belongs to, such as a school."""


def students_of(given: Any) -> People:
    """A number, labels, or the path of a table with the column `student`, and `group` where they have groups."""
    return _people(given, "student")


def raters_of(given: Any, fit: "Result | None" = None) -> People:
    """A number, labels, loads by label, or the path of a table with the columns `rater`, `load` and `group`."""
    if given is None and fit is not None and fit.calibration is not None:
        return People(fit.calibration.labels["rater"].cast(pl.String).alias("rater"))
    found = _people(DEFAULT_RATERS if given is None else given, "rater")
    if isinstance(given, Mapping):
        return replace(found, loads=_loads(pl.Series(list(given.values()), strict=False), found.labels))
    return found


def _people(given: Any, name: str) -> People:
    if isinstance(given, int | np.integer):
        check_whole(f"{name}s", given, 2)
        return People(numbered(name[0].upper(), int(given)).alias(name))
    if not isinstance(given, str | Path):
        return People(_labels(given, name))
    table = read_rater_table(given)
    labels = _labels(_column(table, name, f"{name}s", given), name)
    loads = _loads(table["load"], labels) if name == "rater" and "load" in table.columns else None
    group = table["group"].cast(pl.String).fill_null("") if "group" in table.columns else None
    return People(labels, loads, group)


def forbidden_pairs(given: Any, students: People, raters: People) -> Indices:
    """(pairs, 2): codes. Pairs of somebody who is not in the plan are passed over."""
    if given is None:
        return np.zeros((0, 2), np.int64)
    if isinstance(given, str | Path) or hasattr(given, "columns"):
        table = read_rater_table(given)
        columns = (_column(table, name, "forbidden", given).cast(pl.String) for name in ("student", "rater"))
        rows = list(zip(*columns, strict=True))
    else:
        try:
            rows = [(str(student), str(rater)) for student, rater in given]
        except (TypeError, ValueError):
            what = Message(Option("forbidden", given))
            raise OptionError(what, "give pairs of a student and a rater") from None
    student, rater = ({label: n for n, label in enumerate(who.labels)} for who in (students, raters))
    pairs = sorted({(student[s], rater[r]) for s, r in rows if s in student and r in rater})
    return np.array(pairs, np.int64).reshape(-1, 2)


def _column(table: pl.DataFrame, name: str, option: str, source: object) -> pl.Series:
    if name in table.columns:
        return table[name]
    what = f"{shortened(str(source))} has the columns {listed(table.columns)}"
    raise InputError(what, f"name one of them {name!r}", value=table.columns, option=option)


def groups_of(number: int | None, students: People, raters: People) -> "Groups | None":
    """So many groups, to which students and raters belong in turn; or those that their tables name."""
    if number is not None:
        check_whole("groups", number, 2)
        names = numbered("G", number)
        return Groups(np.arange(len(students.labels)) % number, np.arange(len(raters.labels)) % number, names)
    if students.group is None or raters.group is None:
        return None
    names = students.group.unique().sort()
    if (unknown := raters.group.filter(~raters.group.is_in(names.implode()))).len():
        what = f"no student belongs to the group {shortened(unknown[0])} of a rater"
        raise InputError(what, "name groups alike in both tables", option="raters")
    student, rater = (np.searchsorted(names, of) for of in (students.group, raters.group))
    return Groups(student, rater, names)


def _labels(given: Iterable[object], name: str) -> pl.Series:
    labels = pl.Series(name, [str(label) for label in given], dtype=pl.String)
    if labels.len() < 2 or labels.n_unique() < labels.len():
        twice = labels.filter(labels.is_duplicated())
        what = f"{shortened(twice[0])} is there twice" if len(twice) else f"there are {labels.len()} {name}s"
        raise InputError(
            what, f"give at least two {name}s, each once", value=labels.to_list(), option=f"{name}s"
        )
    return labels


def _loads(column: pl.Series, labels: pl.Series) -> Array:
    loads = column.cast(pl.Float64, strict=False).to_numpy()
    wrong = ~(np.isfinite(loads) & (loads >= 0))
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        what = f"the load of {shortened(labels[place])} is {shortened(column[place])}"
        raise InputError(what, "give the most readings that the rater may have", option="raters")
    return np.asarray(np.floor(loads))


# ---------------------------------------------------------------------------------------------------- assignment


RANDOM, RING, BLOCKS = "random", "ring", "blocks"
SCHEMES = {
    RANDOM: "any raters, dealt so that all pairs occur about equally often",
    RING: "neighbours on a ring of raters",
    BLOCKS: "raters of one team",
}
KINDS = ("own", "common", "seeded", "crossed")


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Groups such as schools, whose students are marked by raters of the same group."""

    student: Indices
    """(students,): code of the group of each"""
    rater: Indices
    """(raters,)"""
    names: pl.Series


@dataclass(frozen=True, slots=True, eq=False)
class Scheme:
    """How students are linked to raters."""

    name: str
    marks: float
    """Raters per student; 1.3 is one for all and a second one for three in ten, drawn at random."""
    common: int
    """Students whom every rater marks."""
    seeded: int
    """Scripts with a definitive mark, among the work of every rater, beside the students."""
    team: int
    """Raters per team, for blocks."""
    crossed: float = 0.0
    """With groups: share of students whom a rater of another group marks as well."""


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """One entry per reading: a rater marks all items of a student. Seeded scripts are numbered after the students."""

    student: Indices
    rater: Indices
    kind: NDArray[np.int8]
    """Kind, as a place in KINDS"""

    def loads(self, n_raters: int) -> NDArray[np.int64]:
        return np.bincount(self.rater, minlength=n_raters)


@dataclass(eq=False)
class _Desk:
    """Work handed out so far."""

    share: Array
    """(raters,): readings that each should have"""
    most: Array
    """(raters,): readings that each may have"""
    banned: Mapping[int, set[int]]
    """Raters who may not mark a student"""
    random: Generator

    def __post_init__(self) -> None:
        self.done = np.zeros(len(self.share))
        self.raters_of: dict[int, set[int]] = defaultdict(set)
        self.students_of: list[set[int]] = [set() for _ in self.share]

    def give(self, student: int, rater: int) -> None:
        self.raters_of[student].add(rater)
        self.students_of[rater].add(student)
        self.done[rater] += 1

    def take_back(self, student: int, rater: int) -> None:
        self.raters_of[student].remove(rater)
        self.students_of[rater].remove(student)
        self.done[rater] -= 1

    def may(self, student: int, rater: int) -> bool:
        return rater not in self.banned.get(student, ()) and rater not in self.raters_of.get(student, ())

    def eagerness(self) -> Array:
        """(raters,): share of a rater's work that is still to come, equal ones in random order; -inf if none may."""
        left = (self.share - self.done + self.random.random(len(self.share))) / np.maximum(self.share, 1e-9)
        return np.where(self.done < self.most, left, -np.inf)


def assign(
    n_students: int,
    scheme: Scheme,
    loads: Array | None,
    n_raters: int,
    forbidden: Indices,
    random: Generator,
    groups: Groups | None = None,
) -> Assignment:
    """Hand out all work. `loads`: the most that each rater may mark, in proportion to which work is dealt; `forbidden`:
    (pairs, 2), students with raters who may not mark them; `groups`: raters mark students of their own, and a share of
    the others'."""
    marks = _marks_of_students(n_students, scheme, random)
    common = random.permutation(n_students)[: scheme.common]
    own = np.ones(n_students, bool)
    own[common] = False
    banned: dict[int, set[int]] = defaultdict(set)
    for student, rater in forbidden.tolist():
        banned[student].add(rater)
    crossed = np.zeros(n_students, bool)
    if groups is not None:
        crossed[random.permutation(np.flatnonzero(own))[: round(scheme.crossed * n_students)]] = True
    need = float(marks[own].sum() + crossed.sum()) + n_raters * (scheme.common + scheme.seeded)
    if loads is not None and loads.sum() < need:
        what = f"{need:,.0f} readings are to be marked, and raters may mark {loads.sum():,.0f}"
        remedy = Message("raise loads, or lower ", Option("marks"), " or ", Option("common"))
        raise OptionError(what, remedy, value=float(loads.sum()), option="raters")
    share = np.full(n_raters, need / n_raters) if loads is None else loads * need / loads.sum()
    desk = _Desk(share, np.full(n_raters, np.inf) if loads is None else loads, banned, random)
    for student in (*common.tolist(), *range(n_students, n_students + scheme.seeded)):
        for rater in range(n_raters):
            if desk.may(student, rater):
                if desk.done[rater] >= desk.most[rater]:
                    what = f"the common and seeded scripts are more than rater {rater + 1} may mark"
                    raise OptionError(what, "lower common, or raise the load", option="common")
                desk.give(student, rater)
    # Those whom most raters may not mark come first, while there is choice.
    order = random.permutation(np.flatnonzero(own))
    order = order[np.argsort([-len(banned.get(int(s), ())) for s in order], kind="stable")]
    for student in order.tolist():
        at_home = np.ones(n_raters, bool) if groups is None else groups.rater == groups.student[student]
        _deal(desk, scheme, student, int(marks[student]), at_home)
        if crossed[student]:
            _deal(desk, scheme, student, 1, ~at_home)
    return _collected(desk, n_students, set(common.tolist()), groups)


def _marks_of_students(n: int, scheme: Scheme, random: Generator) -> NDArray[np.int64]:
    whole = int(np.floor(scheme.marks + 1e-9))
    marks = np.full(n, whole)
    marks[random.permutation(n)[: round((scheme.marks - whole) * n)]] += 1
    return marks


def _deal(desk: _Desk, scheme: Scheme, student: int, marks: int, among: Mask) -> None:
    """To the raters `among` whom they are, as far as these may mark more."""
    chosen = _chosen(desk, scheme, student, marks, np.where(among, desk.eagerness(), -np.inf))
    for rater in chosen:
        desk.give(student, rater)
    for _ in range(marks - len(chosen)):
        _squeeze_in(desk, student)


def _chosen(desk: _Desk, scheme: Scheme, student: int, marks: int, eager: Array) -> list[int]:
    """The most eager of those that the scheme puts together; of all where some of them may not."""
    n = len(eager)
    known = student in desk.banned or student in desk.raters_of
    able = np.array([desk.may(student, rater) for rater in range(n)]) if known else True
    eager = np.where(able, eager, -np.inf)
    if scheme.name == RING:
        windows = (np.arange(n)[:, None] + np.arange(marks)) % n
        worth = eager[windows].mean(axis=1)
        if np.isfinite(worth.max()):
            return [int(rater) for rater in windows[worth.argmax()]]
    elif scheme.name == BLOCKS:
        # Of neighbours, as equal as possible, none smaller than asked for.
        teams = np.array_split(np.arange(n), max(1, n // scheme.team))
        # As far as the least eager whom the student would need.
        worth = [np.sort(eager[team])[-marks:].mean() if len(team) >= marks else -np.inf for team in teams]
        if np.isfinite(max(worth)):
            team = teams[int(np.argmax(worth))]
            return [int(rater) for rater in team[np.argsort(-eager[team])[:marks]]]
    best = np.argsort(-eager)[:marks]
    return [int(rater) for rater in best if np.isfinite(eager[rater])]


def _squeeze_in(desk: _Desk, student: int) -> None:
    """Find a rater by moving others' work: a shortest chain of hand-overs that ends with somebody who has room."""
    came: dict[int, tuple[int, int]] = {}
    queue = deque(rater for rater in range(len(desk.share)) if desk.may(student, rater))
    start = set(queue)
    while queue:
        rater = queue.popleft()
        if desk.done[rater] < desk.most[rater]:
            while rater not in start:
                before, moved = came[rater]
                desk.take_back(moved, before)
                desk.give(moved, rater)
                rater = before
            desk.give(student, rater)
            return
        for moved in desk.students_of[rater]:
            for other in range(len(desk.share)):
                if other not in came and other not in start and desk.may(moved, other):
                    came[other] = (rater, moved)
                    queue.append(other)
    allowed = len(desk.share) - len(desk.banned.get(student, ()))
    what = f"a student whom {counted(allowed, 'rater')} may mark cannot get enough of them"
    remedy = Message("lower ", Option("marks"), ", raise loads, or allow more pairs")
    raise OptionError(what, remedy, value=student, option="forbidden")


def _collected(desk: _Desk, n_students: int, common: set[int], groups: Groups | None) -> Assignment:
    rows = sorted((student, rater) for student, raters in desk.raters_of.items() for rater in raters)
    student, rater = np.array(rows, np.int64).reshape(-1, 2).T
    kind = np.array([2 if s >= n_students else int(s in common) for s in student.tolist()], np.int8)
    if groups is not None:
        own = kind == 0
        kind[own] = np.where(groups.student[student[own]] == groups.rater[rater[own]], 0, 3)
    return Assignment(student, rater, kind)
