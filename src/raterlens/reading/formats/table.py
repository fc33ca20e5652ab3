"""What every format gives: column names at once, and the rows of chosen columns on demand."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from raterlens.errors import InputError
from raterlens.ratings import Backend
from raterlens.wording import listed


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of the columns asked for."""

    frame: pl.DataFrame
    place: Callable[[int], str]
    """Where a row of the frame stands for the user: "line 7" of a text file, else "row 6"."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table that is open: the names are known, the rows are not read yet."""

    name: str
    columns: tuple[str, ...]
    take: Callable[[Sequence[str]], Rows]
    backend: Backend = "polars"

    def __post_init__(self) -> None:
        doubled = [column for column, times in Counter(self.columns).items() if times > 1 and column]
        if doubled:
            raise InputError(
                f"{self.name} has more than one column named {listed(doubled)}; "
                "give each column a name of its own, in a header line"
            )


def is_plain(dtype: pl.DataType) -> bool:
    """Whether values of this type can be sorted, and written as text, as they are."""
    if dtype.is_numeric() or isinstance(dtype, pl.Boolean | pl.String | pl.Categorical | pl.Enum | pl.Null):
        return True
    return dtype.is_temporal() and not isinstance(dtype, pl.Duration)


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
    return Rows(pl.DataFrame(plain), lambda row: f"row {row + 1:,}", tuple(notes))
