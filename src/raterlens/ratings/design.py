"""Who is linked to whom: connectivity, extreme levels, thin spots. Pure functions of `Ratings`."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.base.text import counted, listed, shortened
from raterlens.base.types import Mask
from raterlens.kernels.break_even import compiled_code_pays
from raterlens.ratings.coded import Codes, Ratings
from raterlens.ratings.components import components
from raterlens.ratings.long_columns import distinct, run_starts

FEW = 10
"""A rater with fewer ratings than this says little, whatever the model."""


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Parts of the design that share no student and no rater, numbered from the one with most ratings."""

    n: int
    rater: Codes
    """(raters,) the group of each rater"""
    student: Codes
    """(students,) the group of each student"""


@dataclass(frozen=True, slots=True, eq=False)
class Extreme:
    """Levels all of whose scores are the lowest, or the highest, that occurs: codes into the labels."""

    lowest: Codes
    highest: Codes


@dataclass(frozen=True, slots=True, eq=False)
class Extremes:
    """The extreme levels of each role."""

    students: Extreme
    raters: Extreme
    items: Extreme


@dataclass(frozen=True, slots=True)
class Spread:
    """How many ratings a level has."""

    least: int
    median: float
    most: int


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """What the ratings can tell, before any model."""

    n_ratings: int
    n_students: int
    n_raters: int
    n_items: int
    per_student: Spread
    per_rater: Spread
    groups: Groups
    extremes: Extremes
    few: Codes
    """Raters with fewer than 10 ratings"""
    warnings: tuple[str, ...]
    """Plain words: what, how much, the next step"""


def examine(ratings: Ratings) -> Design:
    """Count, find groups and extreme levels, and say what follows from them.

    Examples
    --------
    >>> import polars as pl
    >>> from raterlens.reading.reader import read
    >>> apart = {"student": [1, 2, 3, 4], "rater": ["AM", "AM", "BE", "BE"], "score": [0, 1, 1, 0]}
    >>> design = examine(read(pl.DataFrame(apart)))
    >>> design.groups.n, design.per_rater
    (2, Spread(least=2, median=2.0, most=2))
    """
    per_student, per_rater = ratings.tally("student").n, ratings.tally("rater").n
    groups = connected_groups(ratings)
    found = extremes(ratings)
    few = _codes(per_rater < FEW)
    return Design(
        n_ratings=ratings.n_ratings,
        n_students=ratings.n_students,
        n_raters=ratings.n_raters,
        n_items=ratings.n_items,
        per_student=_spread(per_student),
        per_rater=_spread(per_rater),
        groups=groups,
        extremes=found,
        few=few,
        warnings=(
            *_warn_groups(ratings, groups, per_rater),
            *_warn_extremes(ratings, found),
            *_warn_few(ratings, few),
        ),
    )


def connected_groups(ratings: Ratings) -> Groups:
    """Find the groups of raters and students that no rating joins."""
    return ratings.once("groups", lambda: _connected_groups(ratings))


def _connected_groups(ratings: Ratings) -> Groups:
    n_raters = ratings.n_raters
    # Joining all raters of a student to one of them gives the same groups, on a graph without students.
    one, pairs = zip(*(_one_and_others(part) for part in ratings.parts()), strict=True)
    n, of_rater = components(n_raters, *np.divmod(np.concatenate(pairs), n_raters))
    size = np.bincount(of_rater, ratings.tally("rater").n, minlength=n)
    first_rater = np.full(n, n_raters)
    np.minimum.at(first_rater, of_rater, np.arange(n_raters))
    number = np.empty(n, dtype=np.int32)
    number[np.lexsort((first_rater, -size))] = np.arange(n, dtype=np.int32)
    groups = number[of_rater]
    return Groups(int(n), groups, groups[np.concatenate(one)])


def raters_apart(groups: Groups) -> NDArray[np.bool_]:
    """(raters,): who is in a group of at most half as many raters as the largest. What they look like beside the rest
    rests on their few students alone."""
    size = np.bincount(groups.rater)
    return np.asarray(2 * size[groups.rater] <= size.max())


def extremes(ratings: Ratings) -> Extremes:
    """Find the students, raters and items all of whose scores are at one end of the scale."""
    seen = np.flatnonzero(ratings.score_counts)

    def of(role: str) -> Extreme:
        tally = ratings.tally(role)
        return Extreme(*(_codes(tally.total == tally.n * end) for end in (seen[0], seen[-1])))

    return Extremes(students=of("student"), raters=of("rater"), items=of("item"))


def repeated(ratings: Ratings) -> int:
    """Count ratings beyond the first of the same student by the same rater on the same item."""
    cell = ratings.student.astype(np.int64) * ratings.n_raters + ratings.rater
    return ratings.n_ratings - pl.Series(cell * ratings.n_items + ratings.item).n_unique()


def _one_and_others(ratings: Ratings) -> tuple[Codes, NDArray[np.int64]]:
    """(students,) one of the raters of each student; and the pairs of that one with each of the student's raters, as
    one x raters + other."""
    if compiled_code_pays(ratings.n_ratings) and ratings.n_raters**2 <= ratings.n_ratings:
        from raterlens.kernels.student_groups import paired_raters  # may be missing

        found = paired_raters(ratings.student, ratings.rater, ratings.n_students, ratings.n_raters)
        if found is not None:
            return found[0], np.flatnonzero(found[1])
    essays = run_starts(ratings.student, ratings.rater)
    student, rater = ratings.student[essays], ratings.rater[essays]
    one = np.empty(ratings.n_students, dtype=np.int32)
    one[student] = rater
    pair = one[student].astype(np.int64) * ratings.n_raters + rater
    if ratings.n_raters**2 > 4 * len(pair):
        return one, distinct(pair)
    seen = np.zeros(ratings.n_raters**2, dtype=bool)
    seen[pair] = True
    return one, np.flatnonzero(seen)


def _codes(chosen: NDArray[np.bool_]) -> Codes:
    return np.flatnonzero(chosen).astype(np.int32)


def _spread(counts: NDArray[np.int64]) -> Spread:
    return Spread(int(counts.min()), float(np.median(counts)), int(counts.max()))


def _warn_groups(ratings: Ratings, groups: Groups, per_rater: NDArray[np.int64]) -> list[str]:
    if groups.n == 1:
        return []
    shown = range(min(groups.n, 3))
    named = "; ".join(f"({g + 1}) {listed(_raters_of(ratings, groups, g), 6)}" for g in shown)
    more = f"; and {counted(groups.n - 3, 'more group')}" if groups.n > 3 else ""
    # The busiest rater of each of the two largest groups: the pair that links most ratings.
    one, two = (ratings.raters[int(np.where(groups.rater == g, per_rater, -1).argmax())] for g in (0, 1))
    return [
        f"the raters fall into {groups.n:,} groups that share no student: {named}{more}. Raters can be compared "
        "within a group; across groups only if the students of every group come from the same population, which "
        f"the fit assumes. To link two groups, have a student rated in both, for example by "
        f"{shortened(one)} and {shortened(two)}"
    ]


def _raters_of(ratings: Ratings, groups: Groups, group: int) -> list[object]:
    return ratings.raters.gather(np.flatnonzero(groups.rater == group)).to_list()


def _warn_extremes(ratings: Ratings, found: Extremes) -> list[str]:
    """Of raters and items. Extreme students are usual, and the population's distribution keeps them finite."""
    fails, passes = (
        ("fails", "passes") if ratings.n_categories == 2 else ("the lowest score", "the highest score")
    )
    advice = {
        "rater": (
            "gave",
            "how well they tell students apart cannot be seen; let them rate more, and more varied, students",
        ),
        "item": (
            "got",
            "their difficulty is known on one side only; keep them out, or have more students rated on them",
        ),
    }
    levels = {
        "rater": (found.raters, ratings.raters),
        "item": (found.items, ratings.items),
    }
    warnings = []
    for role, (extreme, labels) in levels.items():
        verb, consequence = advice[role]
        ends = [
            f"{counted(len(codes), role)} {verb} only {end} ({listed(labels.gather(codes), 6)})"
            for codes, end in ((extreme.lowest, fails), (extreme.highest, passes))
            if len(codes)
        ]
        if ends:
            warnings.append(f"{' and '.join(ends)}: {consequence}")
    return warnings


def _warn_few(ratings: Ratings, few: Codes) -> list[str]:
    if not len(few):
        return []
    return [
        f"{counted(len(few), 'rater has', 'raters have')} fewer than {FEW} ratings "
        f"({listed(ratings.raters.gather(few), 6)}): expect wide intervals for them; collect more ratings "
        "before judging them"
    ]


def only_products(ratings: Ratings) -> Mask:
    """(raters,): whose slopes are known by products with others' alone. None of ordered scores, which say more."""
    n, per_student = ratings.n_raters, ratings.tally("student").n
    nobody = np.zeros(n, dtype=bool)
    if ratings.n_categories > 2 or ratings.known is not None or per_student.max() < 2:
        return nobody
    order = np.argsort(ratings.student, kind="stable")
    student, rater = ratings.student[order], ratings.rater[order].astype(np.int64)
    next_to = np.flatnonzero(student[1:] == student[:-1])
    one, other = rater[next_to], rater[next_to + 1]
    # Every rater twice, once on either side: a ring that leads from one side to the other is odd.
    _, part = components(2 * n, np.append(one, one + n), np.append(other + n, other))
    two_sides = part[:n] != part[n:]
    _, group = components(n, one, other)
    more = np.zeros(int(group.max()) + 1, dtype=bool)
    more[group[rater[per_student[student] > 2]]] = True
    met = np.bincount(np.append(one, other), minlength=n) > 0
    return np.asarray(met & two_sides & ~more[group])


def pairing_warnings(ratings: Ratings) -> tuple[str, ...]:
    """In plain words, with the fix."""
    which = only_products(ratings)
    if not which.any():
        return ()
    names = listed(ratings.raters.gather(np.flatnonzero(which)), 6)
    return (
        f"{counted(int(which.sum()), 'rater')} ({names}) meet only in pairs, one rating each per student, and never "
        "three of them in a ring: how well each of them discriminates cannot be told, only products of two. Have some "
        "students rated by a third of them, or on a second item; or fit one discrimination for all (model 'tfm')",
    )
