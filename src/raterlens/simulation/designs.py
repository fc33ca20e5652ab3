"""Who rates whom on which item. A new design is a function that returns a `Plan`."""

from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.random import Generator
from numpy.typing import NDArray

from raterlens.base.arrays import Indices
from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option
from raterlens.config.option_fields import check_number, check_whole
from raterlens.ratings.coded import Facet, Ratings
from raterlens.reading.labels import Levels, code


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """One entry per rating; every level is used at least once."""

    student: Levels
    rater: Levels
    item: Levels
    group: NDArray[np.int32] | None = None
    """(students,): the code of each one's group."""

    def ratings(self, score: NDArray[np.int16], notes: tuple[str, ...] = ()) -> Ratings:
        """With the score of each rating."""
        group = None
        if self.group is not None:
            labels = numbered("G", int(self.group.max()) + 1)
            group = Facet("group", self.group[self.student.codes], labels)
        return Ratings(
            student=self.student.codes,
            rater=self.rater.codes,
            item=self.item.codes,
            score=score,
            students=self.student.labels.alias("student"),
            raters=self.rater.labels.alias("rater"),
            items=self.item.labels.alias("item"),
            notes=notes,
            group=group,
        )


def dealt(students: int, raters: int, items: int, raters_per_student: int | None, random: Generator) -> Plan:
    """Every student has `raters_per_student` raters, each of whom scores all items.

    Raters are dealt in laps: in each lap a fresh order of all raters is dealt to as many students as it takes to use
    every rater at least once. So workloads are nearly equal, and the laps link all raters.
    """
    per_student = raters if raters_per_student is None else raters_per_student
    _check_sizes(students, raters, items)
    check_whole("raters_per_student", per_student, 1)
    if per_student > raters:
        given = Option("raters_per_student", per_student)
        raise OptionError(Message(given, f" is more than the {raters} raters"), "lower it, or add raters")
    students_in_lap = -(-raters // per_student)
    laps = -(-students // students_in_lap)
    orders = random.permuted(np.tile(np.arange(raters, dtype=np.int32), (laps, 1)), axis=1)
    dealt = orders[:, np.arange(students_in_lap * per_student) % raters].reshape(-1, per_student)[:students]
    dealt.sort(axis=1)
    return _essays(np.repeat(np.arange(students), per_student), dealt.ravel(), (students, raters, items))


def in_groups(
    students: int, raters: int, items: int, groups: int, own: int, crossed: float, random: Generator
) -> Plan:
    """Students and raters belong to groups in turn. Every student has `own` raters of its group, and a share of them
    another rater besides, of any other group."""
    _check_sizes(students, raters, items)
    check_whole("groups", groups, 2)
    check_whole("raters_per_student", own, 1)
    if own > raters // groups:
        what = f"{raters} raters in {groups} groups, of whom {own} mark a student of their group"
        raise OptionError(what, "add raters, or lower groups", value=groups, option="groups")
    check_number("crossed", crossed, 0, 1)
    group, at_home = (
        np.arange(students) % groups,
        np.arange(students)[:, None] % groups == np.arange(raters) % groups,
    )
    # Those of the own group come first, or those of any other.
    chosen = np.argsort(random.random((students, raters)) + ~at_home, axis=1)[:, :own]
    others = np.argsort(random.random((students, raters)) + at_home, axis=1)[:, :1]
    marked = np.zeros((students, raters), dtype=bool)
    np.put_along_axis(marked, chosen, values=True, axis=1)
    again = random.permutation(students)[: round(crossed * students)]
    marked[again, others[again, 0]] = True
    student, rater = np.nonzero(marked)
    plan = _essays(student, rater, (students, raters, items))
    return replace(plan, group=group.astype(np.int32))


def linked(students: int, raters: int, items: int, common_students: int) -> Plan:
    """The first `common_students` are rated by every rater, each other one by a single rater.

    With none, no two raters can be compared; with all, the design is complete.
    """
    _check_sizes(students, raters, items)
    check_whole("common_students", common_students, 0)
    if common_students > students:
        given = Option("common_students", common_students)
        raise OptionError(Message(given, f" is more than the {students} students"), "lower it")
    own = np.arange(common_students, students)
    common, everybody = np.divmod(np.arange(common_students * raters), raters)
    student, rater = np.append(common, own), np.append(everybody, np.arange(own.size) % raters)
    return _essays(student, rater, (students, raters, items))


def written(design: Any) -> Plan:
    """A design given row by row: a dataframe with the columns student, rater and item, or three arrays."""
    names = ("student", "rater", "item")
    if isinstance(design, tuple | list) and len(design) == 3:
        columns = [pl.Series(name, np.asarray(values)) for name, values in zip(names, design, strict=True)]
    else:
        try:
            frame = nw.from_native(design, eager_only=True)
        except TypeError:
            what = f"design is of type {type(design).__name__}"
            remedy = "give a dataframe with the columns student, rater and item, or three arrays"
            raise OptionError(what, remedy, option="design") from None
        missing = [name for name in names if name not in frame.columns]
        if missing:
            what = f"the design has no column {missing[0]!r} among {', '.join(frame.columns)}"
            raise OptionError(what, "name its columns student, rater and item", option="design")
        columns = [pl.Series(name, frame[name].to_polars()) for name in names]
    rows = {len(column) for column in columns}
    if len(rows) > 1:
        what = f"the design's arrays have {', '.join(map(str, sorted(rows)))} rows"
        raise OptionError(what, "make them equally long", option="design")
    student, rater, item = levels = [code(column) for column in columns]
    for name, level in zip(names, levels, strict=True):
        if (level.codes < 0).any():
            what = f"the design's {name} is missing in a row"
            raise OptionError(what, "fill it in, or drop the row", option="design")
    return Plan(student, rater, item)


def _check_sizes(students: int, raters: int, items: int) -> None:
    for name, value, least in (("students", students, 2), ("raters", raters, 1), ("items", items, 1)):
        check_whole(name, value, least)


def _essays(student: Indices, rater: Indices, sizes: tuple[int, int, int]) -> Plan:
    """Students and raters of essays; the rater of an essay scores all its items."""
    students, raters, items = sizes
    if len(np.unique(rater)) < raters:
        what = f"{students} students leave some of the {raters} raters without one"
        raise OptionError(what, "add students, or more raters per student", value=students, option="students")
    return Plan(
        Levels(np.repeat(student.astype(np.int32), items), numbered("S", students)),
        Levels(np.repeat(rater.astype(np.int32), items), numbered("R", raters)),
        Levels(np.tile(np.arange(items, dtype=np.int32), len(student)), numbered("I", items)),
    )


def numbered(prefix: str, count: int) -> pl.Series:
    """R01 to R20: as wide as the last one needs, so that they sort in order."""
    numbers = pl.int_range(1, count + 1, eager=True).cast(pl.String).str.zfill(len(str(count)))
    return prefix + numbers
