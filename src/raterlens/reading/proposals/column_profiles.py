"""What a column holds, from some of its rows: scores, labels of people and things, free text, dates or nothing."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from raterlens.reading.formats.lazy_table import Table
from raterlens.reading.proposals.score_words import is_missing, is_score_word
from raterlens.reading.scores import stripped

ROWS = 4_000
"""Looked at, spread over the table."""
MOSTLY = 0.8
"""Share of a column of scores that must be scores: here and there stands a word, such as "absent"."""
MOST_SCORES = 30
"""More different values than this are no scores, unless they are marks out of 100."""
LONG = 40
"""Characters, on average, from which on a column holds prose."""

Kind = Literal["scores", "marks", "labels", "numbers", "text", "dates", "blank"]

_DATE = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}([ T].*)?|\d{1,2}:\d{2}(:\d{2})?.*")
_NUMBER = re.compile(r"'?[+-]?\d+(?:[.,]\d+)?\s*%?|\d+(?:[.,]\d+)?\s*(?:/|out of)\s*\d+")


@dataclass(frozen=True, slots=True)
class Profile:
    """A column in a few numbers."""

    name: str
    kind: Kind
    filled: int
    """Rows that hold something, of those looked at."""
    distinct: int
    lowest: float | None = None
    highest: float | None = None
    partly: bool = False
    """Whether some of what it holds could be scores, but not enough of it."""

    @property
    def scored(self) -> bool:
        """Whether it can be a column of scores."""
        return self.kind in ("scores", "marks")

    @property
    def unique(self) -> bool:
        """Whether no two rows have the same value."""
        return self.filled > 1 and self.distinct == self.filled


def sampled(table: Table, rows: int = ROWS) -> pl.DataFrame:
    """Rows from all over a table."""
    if table.query is not None:
        height = table.query.select(pl.len()).collect().item()
        if height > rows:
            pieces = 8
            starts = [part * (height - rows // pieces) // (pieces - 1) for part in range(pieces)]
            query = table.query.select(table.columns)
            return pl.concat([query.slice(start, rows // pieces).collect() for start in starts])
    frame = table.take(table.columns).frame
    return frame if frame.height <= rows else frame.gather_every(-(-frame.height // rows))


def profiles(frame: pl.DataFrame) -> dict[str, Profile]:
    return {name: profile(frame[name]) for name in frame.columns}


def profile(column: pl.Series) -> Profile:
    """What one column holds.

    Examples
    --------
    >>> profile(pl.Series("x", ["pass", "fail", "pass"])).kind, profile(pl.Series("x", [3.5, 70, 81])).kind
    ('scores', 'marks')
    >>> profile(pl.Series("x", ["Ann", "Bob", "Cleo"])).kind
    'labels'
    """
    text = (column.cast(pl.String) if column.dtype.is_numeric() else stripped(column)).drop_nulls()
    counts = text.rename("v").value_counts(name="n")
    times = {word: n for word, n in counts.iter_rows() if not is_missing(word)}
    if not times:
        return Profile(column.name, "blank", 0, 0)
    words = list(times)
    filled, distinct = sum(times.values()), len(words)
    if column.dtype.is_temporal() or _share(times, _DATE) > MOSTLY:
        return Profile(column.name, "dates", filled, distinct)
    if column.dtype == pl.Boolean:
        return Profile(column.name, "scores", filled, distinct, 0, 1)
    numeric = [word for word in words if _NUMBER.fullmatch(word)]
    by_number = sum(times[word] for word in numeric) / filled
    if by_number >= MOSTLY:
        return _numeric(column.name, numeric, filled, distinct)
    by_word = sum(times[word] for word in words if is_score_word(word) or word in numeric) / filled
    if by_word >= MOSTLY and distinct <= MOST_SCORES:
        return Profile(column.name, "scores", filled, distinct)
    long = sum(len(word) * n for word, n in times.items()) / filled > LONG
    partly = by_number > 0 and distinct <= MOST_SCORES
    return Profile(column.name, "text" if long else "labels", filled, distinct, partly=partly)


def _numeric(name: str, words: Sequence[str], filled: int, distinct: int) -> Profile:
    numbers = [float(re.split(r"[%/o\s]", word.strip("' "))[0].replace(",", ".")) for word in words]
    lowest, highest = min(numbers), max(numbers)
    few = distinct <= MOST_SCORES and lowest >= -1 and highest <= 100
    steps = all((2 * number).is_integer() for number in numbers)
    if few and steps and highest <= 50:
        kind: Kind = "scores"
    elif lowest >= 0 and highest <= 100:
        kind = "marks"
    else:
        kind = "numbers"
    return Profile(name, kind, filled, distinct, lowest, highest)


def _share(times: dict[str, int], pattern: re.Pattern[str]) -> float:
    return sum(n for word, n in times.items() if pattern.fullmatch(word)) / sum(times.values())


def depends(frame: pl.DataFrame, column: str, on: Sequence[str]) -> bool:
    """Whether a column has one value within each group of the others, where groups have several rows: the school of a
    student, say, is no score of theirs."""
    chosen = frame.select(*on, column).drop_nulls()
    groups = chosen.group_by(list(on)).agg(pl.len().alias("\0n"), pl.col(column).n_unique().alias("\0d"))
    several = groups.filter(pl.col("\0n") > 1)
    return several.height >= 5 and chosen[column].n_unique() > 1 and bool((several["\0d"] == 1).all())
