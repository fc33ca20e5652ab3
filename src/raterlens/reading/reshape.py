"""Tables with a column of scores for each rater or item, made long: one row per rating."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option, counted, listed, shortened
from raterlens.config import ROW, marker_patterns, pattern_fields
from raterlens.reading.formats.table import Rows, Table
from raterlens.reading.vocabulary import is_score_word

RATER, ITEM, SCORE = "{rater}", "{item}", "{score}"
N = "{n}"
MOST_WORDS = 30
"""More different words than this are remarks."""
_NUMBER = re.compile(r"'?\d+(,\d+)?\s*[%/]?")
FIELDS = (RATER, ITEM)
_SEPARATORS = ("_", " ", ".", "-", ":", "/", "|")
Split = dict[str, tuple[str, ...]]
"""Labels of each column that matches, in the order of the fields."""


def likely_pattern(columns: Sequence[str]) -> str | None:
    """A pattern that several columns fit as a grid of raters and items, to be suggested."""
    for separator in _SEPARATORS:
        pattern = f"{{rater}}{separator}{{item}}"
        if is_grid(split_names(pattern, FIELDS, columns)):
            return pattern
    return None


def split_names(pattern: str, fields: Sequence[str], columns: Sequence[str]) -> Split:
    """The labels in every column that fits. Where a name can be split in two ways ("Ann Lee style"), the way is taken
    that gives the fewest different labels over all columns."""
    ways = []
    for first in ("+?", "+"):
        text = re.escape(pattern)
        for part in fields:
            text = text.replace(re.escape(part), f"(.{first})")
        found = {name: match.groups() for name in columns if (match := re.fullmatch(text, name))}
        different = sum(len({labels[place] for labels in found.values()}) for place in range(len(fields)))
        ways.append(
            (different, {name: tuple(part.strip() for part in labels) for name, labels in found.items()})
        )
    return min(ways, key=lambda way: way[0])[1]


def is_grid(split: Split) -> bool:
    """At least two raters who share an item, and two items that share a rater."""
    raters, items = ({labels[place] for labels in split.values()} for place in (0, 1))
    return len(raters) > 1 and len(items) > 1 and len(split) > max(len(raters), len(items))


def name_columns(columns: Sequence[str]) -> str:
    """The columns that there are, for a remedy."""
    return f"the columns are: {listed(columns, 20)}" if columns else "the table has no columns"


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
        )
    labels = {name: dict(zip(fields, map(pl.lit, split[name]), strict=True)) for name in scores}
    note = f"{counted(len(scores), 'column')} read as {shortened(pattern)}: " + "; ".join(
        f"{field[1:-1]}s {listed(dict.fromkeys(split[name][place] for name in scores), 5)}"
        for place, field in enumerate(fields)
    )
    return _stacked(replace(table, notes=(*table.notes, note)), rows, labels, scores)


def _stacked(
    table: Table, rows: Rows, labels: Mapping[str, Mapping[str, pl.Expr]], used: Sequence[str]
) -> Table:
    """The table without the columns that are used: of each column of scores its rows, with its labels, in the order of
    the file."""
    others = [name for name in table.columns if name not in used]
    scores = list(labels)
    fields = (*labels[scores[0]], SCORE)
    parts = [
        rows.frame.select(
            *others,
            *(label.alias(field) for field, label in labels[name].items()),
            pl.col(name).cast(pl.String).alias(SCORE),
            pl.int_range(pl.len()).alias("\0row"),
            pl.lit(place).alias("\0column"),
        )
        for place, name in enumerate(scores)
    ]
    long = pl.concat(parts).sort("\0row", "\0column")
    if RATER in fields:
        long = long.filter(pl.col(RATER).is_not_null() | pl.col(SCORE).is_not_null())
    row, column = long["\0row"].to_list(), long["\0column"].to_list()

    def take(wanted: Sequence[str]) -> Rows:
        return replace(
            rows,
            frame=long.select(wanted),
            place=lambda i: f"{rows.place(row[i])}, column {shortened(scores[column[i]])}",
        )

    roles = {field[1:-1]: field for field in fields}
    return replace(table, columns=(*others, *fields), take=take, query=None, large=False, roles=roles)


def _matching(columns: Sequence[str], pattern: str, only: Sequence[str], but: Sequence[str]) -> Split:
    """The labels in the name of every column that fits; raises where one of `only` does not, or none does."""
    split = split_names(
        pattern, pattern_fields(pattern), [name for name in only or columns if name not in but]
    )
    for name in only:
        if name not in columns:
            raise InputError(
                f"no column {shortened(name)}", name_columns(columns), value=name, option="items"
            )
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
            f"{name_columns(columns)}; write the names as they are, with {{rater}} and {{item}} in place of what "
            "differs",
        )
    return split


def _has_scores(column: pl.Series) -> bool:
    """Whether any value is a number, or a word that can be a score."""
    texts = column.cast(pl.String).str.strip_chars()
    if texts.cast(pl.Float64, strict=False).is_not_null().any():
        return True
    words = texts.drop_nulls().unique()
    return len(words) <= MOST_WORDS and any(is_score_word(word) or _NUMBER.match(word) for word in words)


@dataclass(frozen=True, slots=True)
class MarkerPairs:
    """Which columns of marks belong to which column of markers."""

    rater: str
    scores: tuple[str, ...]
    """How the columns are called, with {n} for what tells markers apart."""
    places: tuple[str, ...]
    """Values of {n}."""
    names: Mapping[str, str]
    """The columns of the table, by their names in small letters."""

    @property
    def option(self) -> Option:
        return Option("markers", f"{self.rater}:{','.join(self.scores)}")

    @property
    def columns(self) -> list[str]:
        return [self.column(pattern, n) for n in self.places for pattern in (self.rater, *self.scores)]

    def column(self, pattern: str, n: str) -> str:
        """The column of a marker, whatever its capitals: "Primo valutatore" beside "Voto primo valutatore"."""
        return self.names[pattern.replace(N, n).casefold()]


def folded(columns: Sequence[str]) -> dict[str, str]:
    """Columns by their names in small letters."""
    return {name.casefold(): name for name in columns}


def given_pairs(markers: str, columns: Sequence[str]) -> MarkerPairs:
    """The pairs that the user names."""
    for rater, scores in marker_patterns(markers):
        start, _, end = rater.partition(N)
        places = [
            name[len(start) : len(name) - len(end)]
            for name in columns
            if name.startswith(start) and name.endswith(end) and len(name) > len(start) + len(end)
        ]
        names = folded(columns)
        places = [n for n in places if all(pattern.replace(N, n).casefold() in names for pattern in scores)]
        if places:
            return MarkerPairs(rater, scores, tuple(places), names)
    raise InputError(
        Message("no columns fit ", Option("markers", markers)),
        f"{name_columns(columns)}; write the names as they are, with {N} in place of what differs",
    )


def pairs_to_long(table: Table, pairs: MarkerPairs) -> Table:
    """The table with one row per mark, its marker as the rater."""
    several = len(pairs.scores) > 1
    labels = {
        pairs.column(pattern, n): {
            RATER: pl.col(pairs.column(pairs.rater, n)).cast(pl.String),
            **({ITEM: pl.lit(item_of(pattern))} if several else {}),
        }
        for n in pairs.places
        for pattern in pairs.scores
    }
    return _stacked(table, table.take(table.columns), labels, pairs.columns)


def item_of(pattern: str) -> str:
    """The item of a column of marks, without the part that names the marker."""
    return pattern.replace(N, "").strip(" _-:./()") or pattern


def numbered(table: Table) -> Table:
    """The table with the numbers of its rows as a column."""

    def take(wanted: Sequence[str]) -> Rows:
        others = [name for name in wanted if name != ROW] or list(table.columns[:1])
        rows = table.take(others)
        numbers = pl.int_range(1, rows.frame.height + 1, eager=True).alias(ROW)
        return replace(rows, frame=rows.frame.with_columns(numbers).select(wanted))

    return replace(table, columns=(*table.columns, ROW), take=take, query=None, large=False)
