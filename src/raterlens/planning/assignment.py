"""Who marks what: balanced, linked, reproducible, within each rater's load, and never a forbidden pair."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from raterlens.base.arrays import Array, Indices
from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option, counted

RANDOM, RING, BLOCKS = "random", "ring", "blocks"
SCHEMES = {
    RANDOM: "any raters, dealt so that all pairs occur about equally often",
    RING: "neighbours on a ring of raters",
    BLOCKS: "raters of one team",
}
OWN, COMMON, SEEDED = "own", "common", "seeded"
KINDS = (OWN, COMMON, SEEDED)


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


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """One entry per reading: a rater marks all items of a student. Seeded scripts are numbered after the students."""

    student: Indices
    rater: Indices
    kind: NDArray[np.int8]
    """OWN, COMMON or SEEDED, as a place in KINDS"""

    def loads(self, n_raters: int) -> NDArray[np.int64]:
        return np.bincount(self.rater, minlength=n_raters)


@dataclass(slots=True, eq=False)
class _Desk:
    """Work handed out so far."""

    share: Array
    """(raters,): readings that each should have"""
    most: Array
    """(raters,): readings that each may have"""
    banned: dict[int, set[int]]
    """Raters who may not mark a student"""
    random: Generator
    done: Array = field(init=False)
    raters_of: dict[int, set[int]] = field(default_factory=dict)
    students_of: list[set[int]] = field(init=False)

    def __post_init__(self) -> None:
        self.done = np.zeros(len(self.share))
        self.students_of = [set() for _ in self.share]

    def give(self, student: int, rater: int) -> None:
        self.raters_of.setdefault(student, set()).add(rater)
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
) -> Assignment:
    """Hand out all work. `loads`: the most that each rater may mark, in proportion to which work is dealt; `forbidden`:
    (pairs, 2), students with raters who may not mark them."""
    marks = _marks_of_students(n_students, scheme, random)
    common = random.permutation(n_students)[: scheme.common]
    own = np.ones(n_students, bool)
    own[common] = False
    banned: dict[int, set[int]] = {}
    for student, rater in forbidden.tolist():
        banned.setdefault(student, set()).add(rater)
    need = float(marks[own].sum()) + n_raters * (scheme.common + scheme.seeded)
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
        _deal(desk, scheme, student, int(marks[student]))
    return _collected(desk, n_students, set(common.tolist()))


def _marks_of_students(n: int, scheme: Scheme, random: Generator) -> NDArray[np.int64]:
    whole = int(np.floor(scheme.marks + 1e-9))
    marks = np.full(n, whole)
    marks[random.permutation(n)[: round((scheme.marks - whole) * n)]] += 1
    return marks


def _deal(desk: _Desk, scheme: Scheme, student: int, marks: int) -> None:
    eager = desk.eagerness()
    chosen = _chosen(desk, scheme, student, marks, eager)
    for rater in chosen:
        desk.give(student, rater)
    for _ in range(marks - len(chosen)):
        _squeeze_in(desk, student)


def _chosen(desk: _Desk, scheme: Scheme, student: int, marks: int, eager: Array) -> list[int]:
    """The most eager of those that the scheme puts together; of all where some of them may not."""
    n = len(eager)
    able = np.array([desk.may(student, rater) for rater in range(n)]) if student in desk.banned else True
    eager = np.where(able, eager, -np.inf)
    if scheme.name == RING:
        windows = (np.arange(n)[:, None] + np.arange(marks)) % n
        worth = eager[windows].mean(axis=1)
        if np.isfinite(worth.max()):
            return [int(rater) for rater in windows[worth.argmax()]]
    elif scheme.name == BLOCKS:
        teams = list(_teams(n, scheme.team))
        # As far as the least eager whom the student would need.
        worth = [np.sort(eager[team])[-marks:].mean() if len(team) >= marks else -np.inf for team in teams]
        if np.isfinite(max(worth)):
            team = teams[int(np.argmax(worth))]
            return [int(rater) for rater in team[np.argsort(-eager[team])[:marks]]]
    best = np.argsort(-eager)[:marks]
    return [int(rater) for rater in best if np.isfinite(eager[rater])]


def _teams(n: int, size: int) -> Iterator[Indices]:
    """Teams of neighbours, as equal as possible, none smaller than `size`."""
    yield from np.array_split(np.arange(n), max(1, n // size))


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


def _collected(desk: _Desk, n_students: int, common: set[int]) -> Assignment:
    rows = sorted((student, rater) for student, raters in desk.raters_of.items() for rater in raters)
    student, rater = np.array(rows, np.int64).reshape(-1, 2).T
    kind = [2 if s >= n_students else int(s in common) for s in student.tolist()]
    return Assignment(student, rater, np.array(kind, np.int8))
