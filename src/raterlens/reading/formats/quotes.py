"""Quotes in text tables: whether each is in its place (RFC 4180), and rows that a misplaced one may have swallowed."""

from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

QUOTE = ord('"')
LINE_ENDS = (ord("\n"), ord("\r"))
PIECE = 1 << 26
"""Bytes looked at in one go."""


def has_quotes(text: Path | bytes, piece: int = PIECE) -> bool:
    """Whether there is any quote at all."""
    data = _bytes(text)
    return any((data[begin : begin + piece] == QUOTE).any() for begin in range(0, len(data), piece))


def well_quoted(text: Path | bytes, separator: str, piece: int = PIECE) -> bool:
    """Whether every quote opens a field, closes one, or is one of two that stand for one.

    Of quotes in their places the 1st, 3rd, ... open a field or are the second of a pair, and the others close it or are
    the first of a pair.
    """
    data = _bytes(text)
    # Past both ends of the text a line ends; a byte order mark is no part of it.
    edge = np.zeros(256, dtype=bool)
    edge[[ord(separator), *LINE_ENDS, QUOTE]] = True
    first = 3 if bytes(data[:3]) == b"\xef\xbb\xbf" else 0
    seen = 0
    for begin in range(first, len(data), piece):
        places = np.flatnonzero(data[begin : begin + piece] == QUOTE) + begin
        opening = places[seen % 2 :: 2]
        closing = places[1 - seen % 2 :: 2]
        before = data[opening[opening > first] - 1]
        after = data[closing[closing < len(data) - 1] + 1]
        if not (edge[before].all() and edge[after].all()):
            return False
        seen += len(places)
    return seen % 2 == 0


def swallowed(column: pl.Series, place: int, width: int, separator: str) -> int | None:
    """The first row whose field reads as the end of one row, whole rows, and the start of another: a quote that was
    opened by mistake and closed by the next mistake."""
    several = column.is_not_null() & column.str.contains(r"[\r\n]")
    for row in several.arg_true():
        first, *between, last = str(column[row]).splitlines() or [""]
        cells = [line.count(separator) for line in (first, *between, last)]
        if len(cells) > 1 and cells == [width - 1 - place, *[width - 1] * len(between), place]:
            return int(row)
    return None


def _bytes(text: Path | bytes) -> NDArray[np.uint8]:
    return np.frombuffer(text, np.uint8) if isinstance(text, bytes) else np.memmap(text, np.uint8, "r")
