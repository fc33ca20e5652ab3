"""A column of scores to whole numbers: as they stand, by what words are worth, in bands, or by a cut."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option, shortened
from raterlens.base.threads import in_threads
from raterlens.reading.detection.vocabulary import VERDICTS, is_missing
from raterlens.score_options import OPEN

HIGHEST = 50
NEED = "scores are 0/1, or whole numbers from 0"
CUT = Message("give the lowest passing score, for example ", Option("cut", 3))
WORDS = Message(
    f"{NEED}: write numbers, leave a missing score blank, or say what the words are worth, for example ",
    Option("map", "good=1,bad=0,absent="),
)
FEW_WORDS = 20
"""Up to so many words, and characters of one, are listed with what they could be worth."""
Place = Callable[[int], str]


@dataclass(frozen=True, slots=True)
class ScoreCoding:
    """How what stands in a column becomes a score."""

    words: Mapping[str, float | None] = field(default_factory=dict)
    """Scores of texts other than numbers, stripped of blanks; None for a missing score."""
    numbers: Mapping[float, float | None] = field(default_factory=dict)
    """The same of numbers that stand for others."""
    turned: float | None = None
    """The highest score, where low ones are best: scores are taken from it."""
    factor: int = 1
    """By which scores are multiplied: half points are doubled."""
    edges: tuple[float, ...] = ()
    """Lowest score of each band but the first."""
    cut: float | None = None


def parse_scores(column: pl.Series, coding: ScoreCoding, place: Place) -> NDArray[np.int16]:
    """Return whole numbers, -1 where missing; an error names the first bad value and its place."""
    cut = coding.cut
    simple = not (
        coding.words or coding.numbers or coding.edges or coding.factor != 1 or coding.turned is not None
    )
    if simple and column.dtype.is_integer() and (cut is not None or column.is_between(0, HIGHEST).all()):
        # Nothing to refuse, which takes a dozen passes over the column to see otherwise.
        values = column if cut is None else column >= cut
        return values.cast(pl.Int16).fill_null(-1).to_numpy() if column.null_count() else _shorts(values)
    values = _numbers(column, coding, place)
    _refuse(column, values.is_infinite(), "is infinite", f"{NEED}: correct it, or leave it blank", place)
    if coding.turned is not None:
        values, cut = coding.turned - values, None if cut is None else coding.turned - cut
    if cut is not None:
        return (values >= cut).cast(pl.Int16).fill_null(-1).to_numpy()
    if coding.edges:
        bands = sum(
            ((values >= edge).cast(pl.Int16) for edge in coding.edges[1:]),
            (values >= coding.edges[0]).cast(pl.Int16),
        )
        return bands.fill_null(-1).to_numpy()
    values = values * coding.factor
    _refuse(column, values < 0, "is negative", Message(f"{NEED}; ", CUT), place)
    _refuse(column, values != values.floor(), "is a fraction", Message(f"{NEED}; ", CUT), place)
    _refuse(column, values > HIGHEST, f"is above {HIGHEST}, too many categories to model", CUT, place)
    return values.cast(pl.Int16).fill_null(-1).to_numpy()


def _shorts(column: pl.Series) -> NDArray[np.int16]:
    """Whole numbers, none of them missing, without a copy of them all in between."""
    found, chunks = np.empty(len(column), dtype=np.int16), column.get_chunks()

    def fill(part: tuple[int, pl.Series]) -> None:
        at, chunk = part
        found[at : at + len(chunk)] = chunk.to_numpy()

    in_threads(fill, list(zip(accumulate(map(len, chunks), initial=0), chunks, strict=False)))
    return found


def _numbers(column: pl.Series, coding: ScoreCoding, place: Place) -> pl.Series:
    """Return the column as Float64, null where missing."""
    if column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null):
        values = column.cast(pl.Float64).fill_nan(None)
    else:
        text = stripped(column)
        values = text.cast(pl.Float64, strict=False).fill_nan(None)
        unread = text.filter(values.is_null()).drop_nulls().unique().to_list()
        bad = [word for word in unread if word not in coding.words and not is_missing(word)]
        if bad and values.is_not_null().any() and all(word.casefold() in VERDICTS for word in bad):
            _refuse(column, text.is_in(bad), "stands among numbers", f"{NEED}: write one or the other", place)
        if bad:
            _refuse(column, text.is_in(bad), "is not a number", _words_advice(bad), place)
        worth = {word: coding.words[word] for word in unread if coding.words.get(word) is not None}
        if worth:
            values = values.fill_null(text.replace_strict(worth, default=None, return_dtype=pl.Float64))
    if not coding.numbers:
        return values
    return values.replace(list(coding.numbers), list(coding.numbers.values()))


def _words_advice(words: list[str]) -> Message:
    """How to say what these words are worth."""
    if len(words) > FEW_WORDS or max(map(len, words)) > FEW_WORDS:
        return WORDS
    return Message(
        f"{NEED}: leave a missing score blank, or say what each word is worth with ",
        Option("map", ",".join(f"{word}={OPEN}" for word in sorted(words))),
        f", a number in place of each {OPEN}; classes without an order are not scores",
    )


def stripped(column: pl.Series) -> pl.Series:
    """Text without blanks around it, and without the apostrophe that spreadsheets put before numbers kept as text."""
    return column.cast(pl.String).str.strip_chars().str.strip_prefix("'")


def _refuse(column: pl.Series, bad: pl.Series, what: str, advice: str, place: Place) -> None:
    where = bad.arg_true()
    if len(where) == 0:
        return
    first = where[0]
    others = f" (the first of {len(where):,})" if len(where) > 1 else ""
    name = "" if column.name.startswith("{") else f" in column {shortened(column.name)}"
    raise InputError(
        f"score {shortened(column[first])}{name}, {place(first)}, {what}{others}",
        advice,
        value=column[first],
        option="score",
    )
