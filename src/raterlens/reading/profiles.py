"""Which column is the student, the rater, the item and the score: by name and, where names do not say, by content."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.reading.formats.table import Table
from raterlens.reading.scores import stripped
from raterlens.reading.vocabulary import (
    is_score_word,
    is_total,
    missing_among,
    total_pattern,
)

ROWS = 4_000
"""Looked at, spread over the table."""
MOSTLY = 0.8
"""Share of a column of scores that must be scores: here and there stands a word, such as "absent"."""
MOST_SCORES = 30
"""More different values than this are no scores, unless they are marks out of 100."""
LOWEST = -5
"""Scores may be around zero: from -3 to 3, say."""
MOST_POINTS, LEAST_STEP = 1000, 5
"""Highest mark, and least step between marks above 100, that a column of scores can have."""
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
    fine: bool = False
    """Whether its numbers are finer than quarters."""

    @property
    def scored(self) -> bool:
        return self.kind in ("scores", "marks")

    def like(self, other: "Profile") -> bool:
        """Whether both can be scores on one scale: words or numbers, as fine, of about the same range."""
        if self.highest is None or other.highest is None or self.lowest is None or other.lowest is None:
            return self.highest == other.highest
        low, high = sorted((self.highest, other.highest))
        apart = max(self.lowest, other.lowest) > low
        return self.fine == other.fine and high <= 2.5 * max(low, 1) and not apart

    @property
    def unique(self) -> bool:
        """Whether no two rows have the same value."""
        return self.filled > 1 and self.distinct == self.filled

    @property
    def consecutive(self) -> bool:
        """Whether it numbers the rows, in whatever order."""
        width = None if self.lowest is None or self.highest is None else self.highest - self.lowest + 1
        return self.unique and width == self.filled


def sampled(table: Table, rows: int = ROWS) -> pl.DataFrame:
    """Stretches of rows from all over a table: those of one student often stand together."""
    query = (
        table.take(table.columns).frame.lazy() if table.query is None else table.query.select(table.columns)
    )
    height, pieces = query.select(pl.len()).collect().item(), 8
    if height <= rows:
        return query.collect()
    starts = [part * (height - rows // pieces) // (pieces - 1) for part in range(pieces)]
    return pl.concat([query.slice(start, rows // pieces).collect() for start in starts])


def profile(column: pl.Series) -> Profile:
    """Profile one column.

    Examples
    --------
    >>> profile(pl.Series("x", ["pass", "fail", "pass"])).kind, profile(pl.Series("x", [3.5, 70, 81])).kind
    ('scores', 'marks')
    >>> profile(pl.Series("x", ["Ann", "Bob", "Cleo"])).kind
    'labels'
    """
    text = (column.cast(pl.String) if column.dtype.is_numeric() else stripped(column)).drop_nulls()
    counts = text.rename("v").value_counts(name="n")
    missing = missing_among(counts["v"])
    times = {word: n for word, n in counts.iter_rows() if word not in missing}
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
    if by_number >= MOSTLY and 2 * sum(
        len(word) > 2 and word[0] == "0" and word.isdigit() for word in numeric
    ) > len(numeric):
        return Profile(column.name, "labels", filled, distinct)  # 00011 is no number
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
    few = distinct <= MOST_SCORES and lowest >= LOWEST and highest <= 100
    steps = all((2 * number).is_integer() for number in numbers)
    if few and steps and highest <= 50:
        kind: Kind = "scores"
    elif lowest >= 0 and (highest <= 100 or _in_steps(numbers)):
        kind = "marks"
    else:
        kind = "numbers"
    fine = not all((4 * number).is_integer() for number in numbers)
    return Profile(name, kind, filled, distinct, lowest, highest, fine=fine)


def _in_steps(numbers: Sequence[float]) -> bool:
    """Whether marks run in a few even steps: 0, 40, 80 to 200."""
    if max(numbers) > MOST_POINTS or not 4 <= len({*numbers}) <= MOST_SCORES:
        return False
    return all(number.is_integer() for number in numbers) and math.gcd(*map(int, numbers)) >= LEAST_STEP


def _share(times: dict[str, int], pattern: re.Pattern[str]) -> float:
    return sum(n for word, n in times.items() if pattern.fullmatch(word)) / sum(times.values())


ROLES = ("student", "rater", "item", "score")


def without_totals(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows in which no cell says that they sum up others: what they hold tells nothing of a column."""
    total = pl.Series([False]).new_from_index(0, frame.height)
    for column in frame.get_columns():
        if column.dtype != pl.String:
            continue
        likely = column.str.contains(total_pattern())
        words = [word for word in column.filter(likely).unique().to_list() if is_total(word)]
        if words:
            total |= column.is_in(words)
    return frame.filter(~total.fill_null(False)) if total.any() and not total.all() else frame


class ColumnSample:
    """Some rows of a table and what its columns hold, once they are asked for: names alone often suffice."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.columns = table.columns
        self._cells: dict[tuple[str, ...], tuple[int, int]] = {}
        self._coded: dict[tuple[str, ...], NDArray[np.int64]] = {}
        self._numbers: dict[str, NDArray[np.float64]] = {}

    @cached_property
    def frame(self) -> pl.DataFrame:
        return without_totals(sampled(self._table))

    def beginning(self, name: str, rows: int = 100) -> Profile:
        """Profile the first rows of a column, without a sample of the table."""
        query = self._table.query
        frame = self._table.take([name]).frame if query is None else query.select(name).head(rows).collect()
        return profile(frame[name].head(rows))

    @cached_property
    def profiles(self) -> dict[str, Profile]:
        return {name: profile(self.frame[name]) for name in self.frame.columns}

    def __getitem__(self, name: str) -> Profile:
        return self.profiles[name]

    def rows(self, *names: str) -> int:
        """Rows in which none of these columns is blank."""
        return self._counts(names)[0]

    def cells(self, *names: str) -> int:
        """How many different combinations of values these columns have."""
        return self._counts(names)[1]

    def depends(self, column: str, *on: str) -> bool:
        """Whether a column has one value for each value of the others, which come again: the school of a student, say,
        is not a score."""
        cells, rows = self.cells(*on), self.rows(*on, column)
        often = rows >= cells + 5 and (cells >= 5 or rows >= 6 * cells)
        return often and cells == self.cells(*on, column) and self.cells(column) > 1

    def numbers(self, name: str) -> NDArray[np.float64]:
        """A column as numbers, NaN where it holds something else."""
        if name not in self._numbers:
            text = stripped(self.frame[name]).str.replace(",", ".")
            self._numbers[name] = text.cast(pl.Float64, strict=False).fill_null(math.nan).to_numpy()
        return self._numbers[name]

    def _counts(self, names: tuple[str, ...]) -> tuple[int, int]:
        chosen = tuple(sorted({*names}))
        if chosen not in self._cells:
            codes = self._codes(chosen)
            self._cells[chosen] = int((codes >= 0).sum()), int(codes.max(initial=-1)) + 1
        return self._cells[chosen]

    def _codes(self, names: tuple[str, ...]) -> NDArray[np.int64]:
        """A number for each combination of values, from 0; -1 where one is missing."""
        if names in self._coded:
            return self._coded[names]
        if len(names) < 2:
            column = self.frame[names[0]] if names else pl.zeros(self.frame.height, eager=True)
            codes = column.rank("dense").cast(pl.Int64).fill_null(0).to_numpy() - 1
        else:
            first, last = self._codes(names[:-1]), self._codes(names[-1:])
            codes = np.where((first >= 0) & (last >= 0), first * (last.max(initial=0) + 1) + last, -1)
            present, places = np.unique(codes, return_inverse=True)
            codes = places - int(present[:1].sum() < 0)
        self._coded[names] = codes
        return codes


def is_function(frame: pl.DataFrame, column: str, of: str) -> bool:
    """Whether each value of one column has one value of another beside it."""
    pairs = frame.select(column, of).drop_nulls().unique()
    return pairs.height > 1 and pairs[of].n_unique() == pairs.height
