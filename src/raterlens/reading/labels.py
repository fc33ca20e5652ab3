"""Labels to codes: numbers and texts, spellings of the same label, rows of totals."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np
import polars as pl

from raterlens.base.arrays import Mask
from raterlens.base.errors import InputError
from raterlens.base.text import Option, counted, listed, shortened
from raterlens.base.threads import BLOCK, in_blocks
from raterlens.config.limits import MANY_ROWS
from raterlens.ratings.coded import Codes, used_levels
from raterlens.reading.read_plan import Finding
from raterlens.reading.vocabulary import is_total, said, total_pattern

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


def refuse_infinite(levels: "Levels", name: str, place: Callable[[int], str]) -> None:
    """Raise where a label is infinite: files of results could not hold it."""
    if not levels.labels.dtype.is_float() or not (beyond := levels.labels.is_infinite()).any():
        return
    row = int(np.flatnonzero(np.isin(levels.codes, beyond.arg_true().to_numpy()))[0])
    label = levels.labels[int(levels.codes[row])]
    raise InputError(
        f"the {name} label at {place(row)} is {label}, which cannot be a label",
        "write what it stands for, or leave it blank",
        value=label,
    )


def code(column: pl.Series, many: int = MANY_ROWS, block: int = BLOCK) -> Levels:
    """Code one column. Null, NaN and blank text are missing labels.

    Whole numbers of a small range, among them those that stand for a categorical's texts, are looked up in a table.
    Other tables are often in order, of students at least: of rows that repeat the label before them only the first is
    looked up. Grouping the row numbers by label was the quickest of the ways tried (replace, join, rank, Enum,
    search_sorted): 0.7 s for 4,000,000 rows with 200,000 text labels, half of it for integers.
    """
    if len(column) <= many:
        return _by_groups(column)
    if column.dtype in _NUMBERED and (levels := _by_table(column, block)) is not None:
        return levels
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


def _by_table(column: pl.Series, block: int) -> Levels | None:
    """Code whole numbers, or a categorical's physical ones, by a table of those between the lowest and the highest;
    None where one is missing, or the table would be longer than the column."""
    physical = column.to_physical()
    if physical.null_count() or not len(column):
        return None
    # Whole numbers, none of them missing, which types do not know.
    lowest, highest = int(physical.min()), int(physical.max())  # type: ignore[arg-type]
    if highest - lowest >= min(len(column), np.iinfo(np.int32).max) or highest > np.iinfo(np.int64).max:
        return None
    codes, at = np.empty(len(column), dtype=np.int32), 0
    for chunk in physical.get_chunks():
        own = codes[at : at + len(chunk)]
        np.subtract(chunk.to_numpy(), lowest, out=own, dtype=np.int64, casting="unsafe")
        at += len(chunk)
    shown = np.zeros(highest - lowest + 1, dtype=np.bool_)

    def show(rows: slice) -> None:
        shown[codes[rows]] = True

    in_blocks(show, len(codes), block)
    present = np.flatnonzero(shown)
    if column.dtype.is_integer():
        held = pl.Series(column.name, present + lowest, dtype=column.dtype)
        ordered = Levels(np.arange(len(present), dtype=np.int32), held)
    else:
        texts = column.unique()
        ordered = _by_groups(texts.gather(texts.to_physical().arg_sort()))
    table = np.empty(len(shown), dtype=np.int32)
    table[present] = ordered.codes

    def recode(rows: slice) -> None:
        codes[rows] = table[codes[rows]]

    in_blocks(recode, len(codes), block)
    return Levels(codes, ordered.labels)


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


_INVISIBLE = "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]"
"""Soft hyphens, zero-width spaces and joiners, marks of direction, byte order marks."""


def visible(labels: pl.Series) -> pl.Series:
    """Labels as people see them: letters composed, without invisible signs, with single blanks."""
    if not labels.str.contains(r"[^\x21-\x7e]").any():  # which takes a tenth of the time
        return labels
    seen = labels.str.normalize("NFC").str.replace_all(_INVISIBLE, "")
    return seen.str.strip_chars().str.replace_all(r"\s+", " ")


def _groups(keys: pl.Series) -> list[list[int]]:
    """The places of labels that have a key in common with others, group by group."""
    if keys.n_unique() == len(keys):
        return []
    places = (
        pl.DataFrame({"key": keys}).with_row_index("place").group_by("key", maintain_order=True).agg("place")
    )
    return places.filter(pl.col("place").list.len() > 1)["place"].to_list()


def _named(labels: pl.Series, groups: list[list[int]]) -> str:
    shown = "; ".join(" and ".join(shortened(labels[place]) for place in group) for group in groups[:SHOWN])
    return shown + (f" ({counted(len(groups), 'such group')} in all)" if len(groups) > SHOWN else "")


def similar_labels(labels: pl.Series, role: str) -> list[str]:
    """Say which labels differ only in case or in blanks around them."""
    if labels.dtype != pl.String:
        return []
    groups = _groups(visible(labels).str.to_lowercase())
    if not groups:
        return []
    return [
        f"{_named(labels, groups)} look like the same {role}; they are kept apart: if they are one, spell them alike"
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


SHOWN = 3
"""Groups of spellings that a note names."""


def merge_spellings(
    levels: Levels, role: str, place: Callable[[int], str] | None
) -> tuple[Levels, list[Finding]]:
    """Merge labels that differ only in blanks, invisible signs, composed accents, or capitals.

    Labels that differ in case within a word, as codes do, stay apart. The spelling that occurs most often is kept.
    """
    labels = levels.labels
    if labels.dtype != pl.String or labels.is_empty():
        return levels, []
    bare = visible(labels)
    keys = bare.str.to_lowercase()
    if keys.n_unique() == len(keys):
        return levels, []
    plainly = (bare == keys) | (bare == bare.str.to_uppercase()) | (bare == keys.str.to_titlecase())
    groups = _groups(pl.select(pl.when(plainly).then(keys).otherwise(bare)).to_series())
    if not groups:
        return levels, []
    times = np.bincount(levels.codes[levels.codes >= 0], minlength=len(labels))
    into = np.append(np.arange(len(labels)), -1)
    for codes in groups:
        into[codes] = max(codes, key=lambda code: (times[code], labels[code] == bare[code]))
    kept, where = np.unique(into[:-1]), ""
    place_of = np.append(np.searchsorted(kept, into[:-1]), -1).astype(np.int32)
    if place is not None:
        odd = [code for code in groups[0] if into[code] != code]
        where = f", first at {place(int(np.flatnonzero(np.isin(levels.codes, odd))[0]))}"
    seen = f"{_named(labels, groups)} look like the same {role}{where}"
    return Levels(place_of[levels.codes], labels.gather(kept)), [
        Finding(seen, "taken for one", alternative=Option("as_written", True))
    ]


def total_rows(
    levels: Mapping[str, Levels], place: Callable[[int], str]
) -> tuple[Mask | None, list[Finding]]:
    """Which rows have a label such as "Total" or "Average" for a student, a rater or an item; None where there are
    none."""
    rows: Mask | None = None
    findings = []
    for role, of_role in levels.items():
        labels = of_role.labels
        if labels.dtype != pl.String:
            continue
        # Quickly past the labels that cannot be meant.
        likely = labels.str.contains(total_pattern()).arg_true().to_list()
        codes, kind = [code for code in likely if is_total(labels[code])], "a total"
        if not codes and role == "rater" and (agreed := labels.str.to_lowercase().is_in(said("final"))).any():
            codes, kind = agreed.arg_true().to_list(), "what several raters agreed on"
        if not codes or len(codes) == len(labels):
            continue
        found = np.isin(of_role.codes, codes)
        first = int(np.flatnonzero(found)[0])
        where, in_columns, _ = place(first).partition(", column ")
        # Where raters had columns, a row of the file is one of the table for each of them.
        times = len(codes) if in_columns else int(found.sum())
        where = where if times == 1 else f"{times:,} rows, the first {where},"
        named = listed(labels[code] for code in codes) if len(codes) > 1 else shortened(labels[codes[0]])
        verb = "looks" if times == 1 else "look"
        findings.append(
            Finding(
                f"{where} {verb} like {kind} ({role} {named})",
                "left out",
                alternative=Option("as_written", True),
            )
        )
        rows = found if rows is None else rows | found
    return rows, findings
