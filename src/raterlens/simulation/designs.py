"""Who rates whom on which item. A new design is a function that returns a `Plan`."""

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.random import Generator
from numpy.typing import NDArray

from raterlens.errors import OptionError
from raterlens.reading.levels import Levels, code


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """One entry a rating, every level used at least once."""

    student: Levels
    rater: Levels
    item: Levels


def crossed(
    students: int, raters: int, items: int, raters_per_student: int | None, random: Generator
) -> Plan:
    """Every student has `raters_per_student` raters, each of whom scores all items.

    Raters are dealt in laps: in a lap, a fresh order of all raters is dealt out to as many students as it
    takes to have each rater at least once. So workloads are nearly equal and laps link all raters.
    """
    per_student = raters if raters_per_student is None else raters_per_student
    _check_sizes(students, raters, items)
    check_count("raters_per_student", per_student, 1)
    if per_student > raters:
        raise OptionError(
            f"raters_per_student is {per_student}, more than the {raters} raters there are; lower it or add raters"
        )
    if students * per_student < raters:
        raise OptionError(
            f"{students} students with {per_student} raters each leave some of the {raters} raters without a "
            "student; add students, or raters for each student"
        )
    students_in_lap = -(-raters // per_student)
    laps = -(-students // students_in_lap)
    orders = random.permuted(np.tile(np.arange(raters, dtype=np.int32), (laps, 1)), axis=1)
    dealt = orders[:, np.arange(students_in_lap * per_student) % raters].reshape(-1, per_student)[:students]
    dealt.sort(axis=1)
    return _essays(np.repeat(np.arange(students, dtype=np.int32), per_student), dealt.ravel(), items)


def linked(students: int, raters: int, items: int, common_students: int) -> Plan:
    """The first `common_students` are rated by every rater, each other one by a single rater.

    With none, no two raters can be compared; with all, the design is complete.
    """
    _check_sizes(students, raters, items)
    check_count("common_students", common_students, 0)
    if common_students > students:
        raise OptionError(
            f"common_students is {common_students}, more than the {students} students there are; lower it"
        )
    own = np.arange(common_students, students, dtype=np.int32)
    if common_students == 0 and own.size < raters:
        raise OptionError(
            f"{students} students leave some of the {raters} raters without one; add students, or common ones"
        )
    student = np.concatenate([np.repeat(np.arange(common_students, dtype=np.int32), raters), own])
    rater = np.concatenate(
        [
            np.tile(np.arange(raters, dtype=np.int32), common_students),
            np.arange(own.size, dtype=np.int32) % raters,
        ]
    )
    return _essays(student, rater, items)


def written(design: Any) -> Plan:
    """A design given row by row: a dataframe with the columns student, rater and item, or three arrays."""
    names = ("student", "rater", "item")
    if isinstance(design, tuple | list) and len(design) == 3:
        columns = [pl.Series(name, np.asarray(values)) for name, values in zip(names, design, strict=True)]
    else:
        try:
            frame = nw.from_native(design, eager_only=True)
        except TypeError:
            raise OptionError(
                f"design is a {type(design).__name__}; give a dataframe with the columns student, rater and item, "
                "or three arrays"
            ) from None
        missing = [name for name in names if name not in frame.columns]
        if missing:
            raise OptionError(
                f"the design has no column {missing[0]!r} among {', '.join(frame.columns)}; name its columns "
                "student, rater and item"
            )
        columns = [pl.Series(name, frame[name].to_polars()) for name in names]
    rows = {len(column) for column in columns}
    if len(rows) > 1:
        raise OptionError(
            f"the design's arrays have {', '.join(map(str, sorted(rows)))} rows; make them equal"
        )
    levels = [code(column) for column in columns]
    for column, level in zip(columns, levels, strict=True):
        if (level.codes < 0).any():
            raise OptionError(f"the design's {column.name} is missing in a row; fill it in or drop the row")
    return Plan(*levels)


def check_count(name: str, value: int, least: int) -> None:
    """Raise unless `value` is a whole number from `least` on."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise OptionError(f"{name} is {value!r}; give a whole number from {least} on")


def _check_sizes(students: int, raters: int, items: int) -> None:
    check_count("students", students, 2)
    check_count("raters", raters, 1)
    check_count("items", items, 1)


def _essays(student: NDArray[np.int32], rater: NDArray[np.int32], items: int) -> Plan:
    """One entry a student and rater, who scores all items."""
    return Plan(
        Levels(np.repeat(student, items), _labels("S", int(student.max()) + 1)),
        Levels(np.repeat(rater, items), _labels("R", int(rater.max()) + 1)),
        Levels(np.tile(np.arange(items, dtype=np.int32), len(student)), _labels("I", items)),
    )


def _labels(prefix: str, count: int) -> pl.Series:
    """R01 .. R20: as wide as the last needs, so that they sort in their order."""
    numbers = pl.int_range(1, count + 1, eager=True).cast(pl.String).str.zfill(len(str(count)))
    return prefix + numbers
