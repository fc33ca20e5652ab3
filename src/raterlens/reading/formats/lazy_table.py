"""What every format gives: column names at once, and the rows of chosen columns on demand."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl

from raterlens.base.arrays import Mask
from raterlens.base.errors import InputError, choose
from raterlens.base.text import Message, Option, listed
from raterlens.config import ReadConfig
from raterlens.ratings.coded import Backend
from raterlens.reading.proposals.findings import Finding


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of the columns asked for."""

    frame: pl.DataFrame
    place: Callable[[int], str]
    """Where a row of the frame stands for the user: "line 7" of a text file, else "row 6"."""
    notes: tuple[str, ...] = ()

    def without(self, rows: Mask) -> "Rows":
        """The others."""
        place, kept = self.place, np.flatnonzero(~rows)
        return replace(self, frame=self.frame.filter(~rows), place=lambda row: place(int(kept[row])))


@dataclass(frozen=True, slots=True)
class Table:
    """A table that is open: the names are known, the rows are not read yet."""

    name: str
    columns: tuple[str, ...]
    take: Callable[[Sequence[str]], Rows]
    backend: Backend = "polars"
    labels: Mapping[str, Mapping[float | str, str]] = field(default_factory=dict)
    """Of a column of codes, the words for them: for students, raters and items; scores stay numbers."""
    notes: tuple[str, ...] = ()
    roles: Mapping[str, str | list[str]] = field(default_factory=dict)
    """Where the file itself says so: the column of a role (student, rater, item, facets)."""
    findings: tuple[Finding, ...] = ()
    """What was seen when the file was opened, and done about it."""
    settled: bool = False
    """Whether `roles` has all that there are: a role that it lacks has no column."""
    in_memory: bool = False
    """Whether it is a dataframe of a program, which is told about repeated ratings, not asked."""
    two_headers: bool = False
    """Whether the names are joined from two header rows."""

    query: pl.LazyFrame | None = None
    """The table as a query, where its rows need not all be in memory at once."""
    large: bool = False
    """Whether columns of labels are better taken one at a time."""

    def __post_init__(self) -> None:
        doubled = [column for column, times in Counter(self.columns).items() if times > 1 and column]
        if doubled:
            raise InputError(
                f"{self.name} has more than one column named {listed(doubled)}",
                "give each column a name of its own, in a header line",
                value=doubled,
            )


def suffix_of(path: Path, config: ReadConfig) -> str:
    """What the file is: as the user says, else by its extension."""
    return f".{config.format.lower().removeprefix('.')}" if config.format else path.suffix.lower()


def is_plain(dtype: pl.DataType) -> bool:
    """Whether values of this type can be sorted, and written as text, as they are."""
    if dtype.is_numeric() or isinstance(dtype, pl.Boolean | pl.String | pl.Categorical | pl.Enum | pl.Null):
        return True
    return dtype.is_temporal() and not isinstance(dtype, pl.Duration)


def choice(what: str, asked: str | None, names: Sequence[str], file: str) -> str:
    """The name asked for, or the only one there is."""
    if not names:
        raise InputError(f"{file!r} has no {what} in it", "check that it is the right file")
    if asked is not None:
        return choose(f"{what} in {file!r}", asked, names, option="table")
    if len(names) > 1:
        raise InputError(
            f"{file!r} has {len(names)} {what}s: {listed(names)}",
            Message("say which, for example ", Option("table", names[0])),
            value=list(names),
            option="table",
        )
    return names[0]


def table_of(name: str, frame: pl.DataFrame) -> Table:
    """A frame in memory as a table."""
    return Table(name, tuple(frame.columns), lambda wanted: rows_of([frame[column] for column in wanted]))


def series_of(name: str, values: Sequence[object]) -> pl.Series:
    """A column of Python's own values; of several types, as objects."""
    types = {type(value) for value in values if value is not None}
    simple = len(types) <= 1 and types <= {str, int, float, bool}
    return pl.Series(name, values, dtype=None if simple else pl.Object)


def rows_of(columns: Sequence[pl.Series]) -> Rows:
    """Make rows of a table without lines, counted from 1. Lists, objects and the like become their text."""
    notes: list[str] = []
    plain: list[pl.Series] = []
    for column in columns:
        if is_plain(column.dtype):
            plain.append(column)
            continue
        values = column.to_list()
        types = sorted({type(value).__name__ for value in values if value is not None})
        notes.append(f"column {column.name!r} holds values of type {' and '.join(types)}: taken as text")
        text = [None if value is None else str(value) for value in values]
        plain.append(pl.Series(column.name, text, dtype=pl.String))
    # By name: of a list, polars would name a column without one.
    frame = pl.DataFrame({column.name: column for column in plain})
    return Rows(frame, lambda row: f"row {row + 1:,}", tuple(notes))
