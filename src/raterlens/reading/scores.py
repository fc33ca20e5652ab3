"""A column of scores to whole numbers, or to pass and fail by a cut."""

from collections.abc import Callable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.errors import InputError
from raterlens.text import Message, Option, shortened

MISSING = ("", "na", "n/a", "nan", "null", "none", ".")
VERDICTS = {
    **dict.fromkeys(("true", "pass", "passed", "yes", "correct"), 1.0),
    **dict.fromkeys(("false", "fail", "failed", "no", "incorrect"), 0.0),
}
HIGHEST = 50
NEED = "scores are 0/1, or whole numbers from 0"
CUT = Message("give the lowest passing score, for example ", Option("cut", 3))
Place = Callable[[int], str]


def parse_scores(column: pl.Series, cut: float | None, place: Place) -> NDArray[np.int16]:
    """Return whole numbers, -1 where missing; an error names the first bad value and its place."""
    if column.dtype.is_integer() and (cut is not None or column.is_between(0, HIGHEST).all()):
        # Nothing to refuse, which takes a dozen passes over the column to see otherwise.
        values = column if cut is None else column >= cut
        return values.cast(pl.Int16).fill_null(-1).to_numpy()
    values = _numbers(column, place)
    _refuse(column, values.is_infinite(), "is infinite", f"{NEED}: correct it, or leave it blank", place)
    if cut is None:
        _refuse(column, values < 0, "is negative", Message(f"{NEED}; ", CUT), place)
        _refuse(column, values != values.floor(), "is a fraction", Message(f"{NEED}; ", CUT), place)
        _refuse(column, values > HIGHEST, f"is above {HIGHEST}, too many categories to model", CUT, place)
    else:
        values = values >= cut
    return values.cast(pl.Int16).fill_null(-1).to_numpy()


def _numbers(column: pl.Series, place: Place) -> pl.Series:
    """Return the column as Float64, null where missing."""
    if column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null):
        return column.cast(pl.Float64).fill_nan(None)
    text = column.cast(pl.String).str.strip_chars()
    values = text.cast(pl.Float64, strict=False).fill_nan(None)
    unread = text.filter(values.is_null()).drop_nulls().unique().to_list()
    bad = [word for word in unread if word.lower() not in (*MISSING, *VERDICTS)]
    if bad:
        advice = f"{NEED}: write numbers (or pass and fail), and leave a missing score blank"
        _refuse(column, text.is_in(bad), "is not a number", advice, place)
    verdicts = {word: VERDICTS[word.lower()] for word in unread if word.lower() in VERDICTS}
    if not verdicts:
        return values
    if not values.drop_nulls().is_in([0.0, 1.0]).all():
        _refuse(
            column, text.is_in([*verdicts]), "stands among numbers", f"{NEED}: write one or the other", place
        )
    return values.fill_null(text.replace_strict(verdicts, default=None, return_dtype=pl.Float64))


def _refuse(column: pl.Series, bad: pl.Series, what: str, advice: str, place: Place) -> None:
    where = bad.arg_true()
    if len(where) == 0:
        return
    first = where[0]
    others = f" (the first of {len(where):,})" if len(where) > 1 else ""
    raise InputError(
        f"score {shortened(column[first])} in column {shortened(column.name)}, {place(first)}, {what}{others}",
        advice,
        value=column[first],
        option="score",
    )
