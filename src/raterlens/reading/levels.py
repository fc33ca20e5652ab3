"""Labels to codes: each label's place among the sorted labels, in time and memory linear in the rows."""

from functools import reduce
from itertools import accumulate
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.errors import InputError
from raterlens.kernels.break_even import compiled_code_pays
from raterlens.parallel.threads import BLOCK, in_threads
from raterlens.ratings.coded import Codes, used_levels
from raterlens.records import dataclass
from raterlens.text import counted, listed, shortened

# Rows from which on it pays to look for runs of the same label, or to make a table of numbers.
MANY = 10_000
_NUMBERED = (
    *(pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64),
    *(pl.Categorical, pl.Enum),
)


@dataclass(frozen=True, slots=True)
class Levels:
    """Codes into sorted labels; -1 where the label is missing."""

    codes: Codes
    labels: pl.Series

    def used_in(self, codes: Codes) -> "Levels":
        """Keep only the labels that `codes` (some of these codes, none of them -1) refer to."""
        return Levels(*used_levels(codes, self.labels))


def code(column: pl.Series, many: int = MANY, block: int = BLOCK) -> Levels:
    """Code one column. Null, NaN and blank text are missing labels.

    Whole numbers of a small range, among them those that stand for a categorical's texts, are looked up in a table.
    Other tables are often in order, of students at least: of rows that repeat the label before them only the first is
    looked up. Grouping the row numbers by label was the quickest of the ways tried (replace, join, rank, Enum,
    search_sorted): 0.7 s for 4,000,000 rows with 200,000 text labels, half of it for integers.
    """
    if len(column) <= many:
        return _by_groups(column)
    if (numbers := _small_numbers(column)) is not None:
        return _by_table(column, numbers, block)
    heads = np.append(0, 1 + column[1:].ne_missing(column[:-1]).arg_true().to_numpy())
    if 4 * len(heads) >= len(column):
        return _by_groups(column)
    levels = code(column.gather(heads), many, block)
    return Levels(np.repeat(levels.codes, np.diff(heads, append=len(column))), levels.labels)


def _by_groups(column: pl.Series) -> Levels:
    groups = (
        pl.DataFrame({"label": column})
        .with_row_index("row")
        .group_by("label")
        .agg("row")
        .filter(~_missing(column.dtype))
        .sort(_order(column.dtype))
    )
    codes = np.full(len(column), -1, dtype=np.int32)
    sizes = groups["row"].list.len().to_numpy()
    codes[groups["row"].explode().to_numpy()] = np.repeat(np.arange(len(groups), dtype=np.int32), sizes)
    return Levels(codes, groups["label"])


@dataclass(frozen=True, slots=True)
class _Numbers:
    """A column as numbers from `lowest` on, below `lowest + size`."""

    chunks: tuple[NDArray[np.integer], ...]
    """As the column has them: put together they would be in memory twice."""
    lowest: int
    size: int

    def blocks(self, size: int) -> list[tuple[int, NDArray[np.integer]]]:
        """Short stretches of rows, each with its first row."""
        starts = accumulate((len(chunk) for chunk in self.chunks), initial=0)
        return [
            (start + at, chunk[at : at + size])
            for start, chunk in zip(starts, self.chunks, strict=False)
            for at in range(0, len(chunk), size)
        ]


def _small_numbers(column: pl.Series) -> _Numbers | None:
    """The column as numbers, where a table of all between the lowest and the highest is no longer than the column."""
    if column.dtype not in _NUMBERED or column.null_count():
        return None
    physical = column.to_physical()
    lowest, highest = (int(end) for end in (physical.min(), physical.max()))  # type: ignore[arg-type]
    size = highest - lowest + 1
    if size > len(column) or highest > np.iinfo(np.intp).max:
        return None
    chunks = tuple(chunk.to_numpy() for chunk in physical.get_chunks())
    if physical.dtype == pl.UInt32 and highest <= np.iinfo(np.int32).max:
        chunks = tuple(chunk.view(np.int32) for chunk in chunks)
    return _Numbers(chunks, lowest, size)


def _by_table(column: pl.Series, numbers: _Numbers, block: int) -> Levels:
    shown_in, codes = np.full(numbers.size, -1), np.empty(len(column), dtype=np.int32)
    if compiled_code_pays(len(column)) and numbers.chunks[0].dtype in (np.int32, np.int64):
        from raterlens.kernels.coded_columns import look_up, show_rows  # may be missing
    else:
        show_rows, look_up = _show_rows, _look_up
    blocks = numbers.blocks(block)

    def show(part: tuple[int, NDArray[np.integer]]) -> None:
        row, values = part
        show_rows(values, numbers.lowest, row, shown_in)

    in_threads(show, blocks)
    present = shown_in >= 0
    labels = column.gather(shown_in[present])
    ordered = Levels(np.arange(len(labels), dtype=np.int32), labels)
    levels = ordered if column.dtype.is_integer() else _by_groups(labels)
    table = np.zeros(numbers.size, dtype=np.int32)
    table[present] = levels.codes

    def find(part: tuple[int, NDArray[np.integer]]) -> None:
        row, values = part
        look_up(values, numbers.lowest, table, codes[row : row + len(values)])

    in_threads(find, blocks)
    return Levels(codes, levels.labels)


def _show_rows(values: NDArray[Any], lowest: int, offset: int, shown_in: NDArray[np.int64]) -> None:
    shown_in[values.astype(np.intp) - lowest] = np.arange(offset, offset + len(values))


def _look_up(values: NDArray[Any], lowest: int, table: Codes, codes: Codes) -> None:
    codes[:] = table[values.astype(np.intp) - lowest]


def combine(columns: list[pl.Series]) -> Levels:
    """Code the combination of several columns, labelled with ":" between the parts ("AM:Sport")."""
    if len(columns) == 1:
        return code(columns[0])
    parts = [code(column) for column in columns]
    shape = tuple(max(len(part.labels), 1) for part in parts)
    whole = reduce(np.logical_and, (part.codes >= 0 for part in parts))
    cell = np.ravel_multi_index([np.maximum(part.codes, 0) for part in parts], shape)
    cells = code(pl.Series(cell).set(pl.Series(~whole), None))
    places = np.unravel_index(cells.labels.to_numpy(), shape)
    texts = [part.labels.cast(pl.String).gather(place) for part, place in zip(parts, places, strict=True)]
    joined = pl.select(pl.concat_str(texts, separator=":")).to_series()
    if joined.is_duplicated().any():
        label = joined.filter(joined.is_duplicated())[0]
        names = listed(column.name for column in columns)
        raise InputError(
            f"two different combinations of {names} are both {shortened(label)} when joined with ':'",
            "write those labels without ':'",
            value=label,
        )
    order = joined.arg_sort()
    place_of = np.append(order.arg_sort().to_numpy().astype(np.int32), np.int32(-1))
    return Levels(place_of[cells.codes], joined.gather(order))


def alike(labels: pl.Series, role: str) -> list[str]:
    """Say which labels differ only in case or in blanks around them."""
    if labels.dtype != pl.String:
        return []
    same = (
        pl.DataFrame({"label": labels, "key": labels.str.strip_chars().str.to_lowercase()})
        .group_by("key", maintain_order=True)
        .agg("label")
        .filter(pl.col("label").list.len() > 1)["label"]
        .to_list()
    )
    if not same:
        return []
    shown = "; ".join(" and ".join(map(shortened, group)) for group in same[:3])
    more = f" ({counted(len(same), 'such group')} in all)" if len(same) > 3 else ""
    return [
        f"{shown} look like the same {role}{more}; they are kept apart: if they are one, spell them alike"
    ]


def _missing(dtype: pl.DataType) -> pl.Expr:
    label = pl.col("label")
    if dtype.is_float():
        return label.is_null() | label.is_nan()
    if dtype == pl.String or isinstance(dtype, pl.Categorical | pl.Enum):
        return label.is_null() | (label.cast(pl.String).str.strip_chars() == "")
    return label.is_null()


def _order(dtype: pl.DataType) -> list[pl.Expr]:
    """Sort text plainly, but all-digit text as the numbers it shows, of any length ("2" before "010")."""
    label = pl.col("label")
    if dtype != pl.String and not isinstance(dtype, pl.Categorical | pl.Enum):
        return [label]
    text = label.cast(pl.String)
    numeric = text.str.contains(r"^[0-9]+$").all()
    number = text.str.strip_chars_start("0")
    length = pl.when(numeric).then(number.str.len_bytes())
    return [length, pl.when(numeric).then(number), text]
