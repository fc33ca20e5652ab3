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


def row_place(row: int) -> str:
    """Where a row stands in a table without lines: data rows counted from 1."""
    return f"row {row + 1:,}"
