"""Tables with a column for each rater and criterion, as one row per rating."""

import re
from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option, counted, listed, shortened
from raterlens.config import pattern_fields
from raterlens.reading.columns import those
from raterlens.reading.formats.lazy_table import Rows, Table
from raterlens.reading.patterns import Split, split_names
from raterlens.reading.proposals.score_words import is_score_word

SCORE = "{score}"
MOST_WORDS = 30
"""More different words than this are remarks."""
_NUMBER = re.compile(r"'?\d+(,\d+)?\s*[%/]?")


def to_long(table: Table, pattern: str, only: Sequence[str] = (), but: Sequence[str] = ()) -> Table:
    """The table with one row per rating. Columns that do not fit the pattern, or hold no number, are left as they
    are; so are all but those of `only`, where it names any, and those of `but`."""
    fields = pattern_fields(pattern)
    split = _matching(table.columns, pattern, only, but)
    rows = table.take(table.columns)
    scores = [name for name in split if name in only or _has_scores(rows.frame[name])]
    if not scores:
        raise InputError(
            Message("the columns that fit ", Option("wide", pattern), f" hold no number: {listed(split)}"),
            "check the pattern",
            value=pattern,
            option="wide",
        )
    others = [name for name in table.columns if name not in scores]
    parts = [
        rows.frame.select(
            *others,
            *(pl.lit(label).alias(field) for field, label in zip(fields, split[name], strict=True)),
            pl.col(name).cast(pl.String).alias(SCORE),
            pl.int_range(pl.len()).alias("\0row"),
            pl.lit(place).alias("\0column"),
        )
        for place, name in enumerate(scores)
    ]
    long = pl.concat(parts).sort("\0row", "\0column")
    row, column = long["\0row"].to_list(), long["\0column"].to_list()

    def take(wanted: Sequence[str]) -> Rows:
        return replace(
            rows,
            frame=long.select(wanted),
            place=lambda i: f"{rows.place(row[i])}, column {shortened(scores[column[i]])}",
        )

    note = f"{counted(len(scores), 'column')} read as {shortened(pattern)}: " + "; ".join(
        f"{field[1:-1]}s {listed(dict.fromkeys(split[name][place] for name in scores), 5)}"
        for place, field in enumerate(fields)
    )
    roles = {field[1:-1]: field for field in (*fields, SCORE)}
    return replace(
        table,
        columns=(*others, *fields, SCORE),
        take=take,
        query=None,
        large=False,
        notes=(*table.notes, note),
        roles=roles,
    )


def _matching(columns: Sequence[str], pattern: str, only: Sequence[str], but: Sequence[str]) -> Split:
    """The labels in the name of every column that fits; raises where one of `only` does not, or none does."""
    split = split_names(
        pattern, pattern_fields(pattern), [name for name in only or columns if name not in but]
    )
    for name in only:
        if name not in columns:
            raise InputError(f"no column {shortened(name)}", those(columns), value=name, option="items")
        if name not in split:
            raise InputError(
                Message(f"the column {shortened(name)} does not fit ", Option("wide", pattern)),
                Message("leave it out of ", Option("items")),
                value=name,
                option="items",
            )
    if not split:
        raise InputError(
            Message("no column fits ", Option("wide", pattern)),
            f"{those(columns)}; write the names as they are, with {{rater}} and {{item}} in place of what "
            "differs",
            value=pattern,
            option="wide",
        )
    return split


def _has_scores(column: pl.Series) -> bool:
    """Whether any value is a number, or a word that can be a score."""
    texts = column.cast(pl.String).str.strip_chars()
    if texts.cast(pl.Float64, strict=False).is_not_null().any():
        return True
    words = texts.drop_nulls().unique()
    return len(words) <= MOST_WORDS and any(is_score_word(word) or _NUMBER.match(word) for word in words)
