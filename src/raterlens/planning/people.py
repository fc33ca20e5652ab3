"""Students, raters and forbidden pairs of a plan, from numbers, labels or tables."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from raterlens.base.arrays import Array, Indices
from raterlens.base.errors import InputError, OptionError
from raterlens.base.text import listed, shortened
from raterlens.reading.read import read_rater_table
from raterlens.simulation.designs import numbered

if TYPE_CHECKING:
    from raterlens.inference.result import Result

LOAD = "load"
DEFAULT_RATERS = 10


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """Labels as text, and the most readings that each may have."""

    labels: pl.Series
    loads: Array | None = None


def students_of(given: Any) -> People:
    """A number, labels, or the path of a table with the column `student`."""
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        _at_least("students", int(given), 2)
        return People(numbered("S", int(given)).alias("student"))
    if isinstance(given, str | Path):
        given = _column(read_rater_table(given), "student", "students", given)
    return People(_labels(given, "student"))


def raters_of(given: Any, fit: "Result | None") -> People:
    """A number, labels, loads by label, or the path of a table with the columns `rater` and `load`."""
    if given is None:
        if fit is not None and fit.calibration is not None:
            return People(fit.calibration.labels["rater"].cast(pl.String).alias("rater"))
        given = DEFAULT_RATERS
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        _at_least("raters", int(given), 2)
        return People(numbered("R", int(given)).alias("rater"))
    if isinstance(given, str | Path):
        table = read_rater_table(given)
        labels = _labels(_column(table, "rater", "raters", given), "rater")
        return People(labels, _loads(table[LOAD], labels) if LOAD in table.columns else None)
    if isinstance(given, Mapping):
        labels = _labels(given.keys(), "rater")
        return People(labels, _loads(pl.Series(list(given.values()), strict=False), labels))
    return People(_labels(given, "rater"))


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
            what = f"forbidden is {shortened(given)}"
            raise OptionError(what, "give pairs of a student and a rater", option="forbidden") from None
    student, rater = (
        {label: code for code, label in enumerate(people.labels)} for people in (students, raters)
    )
    pairs = sorted({(student[s], rater[r]) for s, r in rows if s in student and r in rater})
    return np.array(pairs, np.int64).reshape(-1, 2)


def _at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise OptionError(f"{name} is {value}", f"give at least {least}", value=value, option=name)


def _column(table: pl.DataFrame, name: str, option: str, source: object) -> pl.Series:
    if name in table.columns:
        return table[name]
    what = f"{shortened(str(source))} has the columns {listed(table.columns)}"
    raise InputError(what, f"name one of them {name!r}", value=table.columns, option=option)


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
