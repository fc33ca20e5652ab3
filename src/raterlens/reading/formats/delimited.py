"""Text tables (csv, tsv). Every field is read as the text that stands there; nothing is guessed.

polars reads the rows. Where it refuses, pads a short row without saying so, or would guess at a misplaced quote,
Python's csv module reads them again, slowly, and names the line at fault.
"""

import csv
import io
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
import polars as pl
from polars.exceptions import PolarsError

from raterlens.base.errors import InputError
from raterlens.base.text import counted, shortened
from raterlens.config import ReadConfig
from raterlens.reading.formats.encodings import PIECE, Text, pieces, utf8_text
from raterlens.reading.formats.header_rows import TOP, Header, column_names, separator_of, trimmed
from raterlens.reading.formats.table import Rows, Table, refuse_changes, refusing

QUOTE = ord('"')
LINE_ENDS = (ord("\n"), ord("\r"))


def has_quotes(text: Text, piece: int = PIECE) -> bool:
    """Whether there is any quote at all."""
    return any(b'"' in found for found in pieces(text, piece))


def well_quoted(text: Text, separator: str, piece: int = PIECE) -> bool:
    """Whether every quote opens a field, closes one, or is one of two that stand for one.

    Of quotes in their places the 1st, 3rd, ... open a field or are the second of a pair, and the others close it or are
    the first of a pair.
    """
    # Past both ends of the text a line ends; a byte order mark is no part of it.
    edge = np.zeros(256, dtype=bool)
    edge[[ord(separator), *LINE_ENDS, QUOTE]] = True
    seen, before, closed = 0, LINE_ENDS[0], False
    for found in pieces(text, piece):
        data = np.frombuffer(found, np.uint8)
        places = np.flatnonzero(data == QUOTE)
        opening, closing = places[seen % 2 :: 2], places[1 - seen % 2 :: 2]
        ahead = np.where(opening > 0, data[opening - 1], before)
        after = data[closing[closing < len(data) - 1] + 1]
        if (closed and not edge[data[0]]) or not (edge[ahead].all() and edge[after].all()):
            return False
        seen, before, closed = seen + len(places), int(data[-1]), bool((closing == len(data) - 1).any())
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


LONGEST = 1 << 24
"""Characters in a field: no text that was judged has more, but what follows a quote that is never closed may have."""
Record = tuple[int, list[str]]
"""The line that a row begins on, and its fields."""


def read_delimited(path: Path, config: ReadConfig) -> Table:
    """Open a text table: encoding, separator and header are settled here."""
    text, findings = utf8_text(path, config.encoding)
    separator = separator_of(text, prefer="\t" if path.suffix.lower() == ".tsv" else "")
    text, around, titles = trimmed(text, separator)
    top = [fields for _, fields in islice(_records(text, path.name, separator), TOP)]
    header = _header(top, path.name, config)

    @cache
    def whole() -> pl.DataFrame:
        with refuse_changes(path), refusing(path.name, UnicodeDecodeError):
            return _read(text, path.name, separator, header)

    def take(wanted: Sequence[str]) -> Rows:
        # Blank lines are not rows; the others keep their number, to name the line of a bad value.
        frame = whole()
        row = np.arange(header.rows, header.rows + frame.height)

        def place(i: int) -> str:
            return f"line {_line(text, separator, int(row[i])):,}"

        notes = _swallowed_rows(frame, header.names, wanted, separator, place) if has_quotes(text) else ()
        chosen = frame.select(pl.nth(header.names.index(name)).alias(name) for name in wanted)
        if frame.to_series(-1).null_count():
            filled = ~frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
            chosen, row = chosen.filter(filled), row[filled.to_numpy()]
        return Rows(chosen, place, notes)

    return Table(
        path.name,
        tuple(header.names),
        take,
        findings=(*findings, *around, *header.findings),
        two_headers=header.joined,
        titles=titles,
        top=tuple(dict(zip(header.names, fields, strict=False)) for fields in top[header.rows :]),
    )


def _header(top: Sequence[Sequence[str]], name: str, config: ReadConfig) -> Header:
    """The names of the columns, of which there are two at least."""
    if not any(any(map(str.strip, fields)) for fields in top):
        raise InputError(f"{name!r} is an empty file", "a table needs a header line and rows under it")
    if len(top[0]) < 2:
        what = f"{name!r} is not a table of ratings: its first line, {top[0][0].strip()[:60]!r}, has no comma"
        remedy = "the first line must name the columns"
        raise InputError(f"{what}, semicolon, tab or | between columns", remedy, value=top[0][0])
    return column_names(top, config)


def _records(text: Text, name: str, separator: str) -> Iterator[Record]:
    """Read the header and the rows under it as RFC 4180 has it; a blank line is a row without fields."""
    file = io.BytesIO(text) if isinstance(text, bytes) else text.open("rb")
    with io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as lines:
        csv.field_size_limit(LONGEST)
        reader = csv.reader(lines, delimiter=separator, strict=True)
        started, line = False, 1
        try:
            for fields in reader:
                started = started or bool(fields)
                if started:
                    yield line, fields
                line = reader.line_num + 1
        except csv.Error as error:
            why = "a quote is not closed" if "end of data" in str(error) else str(error)
            if "field limit" in why:
                why = f"a field has more than {LONGEST:,} characters, or a quote is not closed"
            raise InputError(
                f"{name!r} cannot be read from line {line:,} on: {why}",
                "close every quote that is opened, and write a quote inside quotes twice",
            ) from error


def _even_records(text: Text, name: str, separator: str, width: int) -> Iterator[list[str]]:
    """All rows; raises at one that is too long or too short."""
    for line, fields in _records(text, name, separator):
        if len(fields) != width and any(field.strip() for field in fields):
            what = f"{name!r}, line {line:,}: {counted(len(fields), 'field')} where the header has {width}"
            remedy = "put quotes around a field that contains the separator, and fill or remove the row"
            raise InputError(what, remedy, value=fields)
        yield fields if len(fields) == width else [""] * width


def _read(text: Text, name: str, separator: str, header: Header) -> pl.DataFrame:
    """Read all rows below the header as text, columns named by position; a row too long or too short is an error."""
    width, frame = len(header.names), None
    names = [str(position) for position in range(width)]
    # Without this, polars takes a misplaced quote for part of a field, which then swallows lines.
    if well_quoted(text, separator):
        with suppress(PolarsError, OSError):
            frame = pl.read_csv(
                text,
                separator=separator,
                has_header=header.rows > 0,
                infer_schema=False,
                new_columns=names,
                glob=False,
            )
    if frame is None or frame.width != width:
        # Stray quotes, old Mac line ends, or a row at fault, which is named here.
        rows = list(_even_records(text, name, separator, width))[header.rows :]
        frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
        return frame.with_columns(pl.all().replace("", None))
    if frame.to_series(-1).null_count():
        deque(_even_records(text, name, separator, width), maxlen=0)
    return frame.slice(max(header.rows - 1, 0))


def _swallowed_rows(
    frame: pl.DataFrame,
    header: Sequence[str],
    wanted: Sequence[str],
    separator: str,
    place: Callable[[int], str],
) -> tuple[str, ...]:
    """Raise where a field that is asked for has swallowed rows; a note where another one may have."""
    notes = []
    for position, name in enumerate(header):
        row = swallowed(frame.to_series(position), position, len(header), separator)
        if row is None:
            continue
        field = frame.to_series(position)[row]
        fact = f"column {name!r}, {place(row)}: a quoted field holds what looks like rows of the table"
        remedy = "look for a quote that is opened there by mistake"
        if name in wanted:
            raise InputError(f"{fact}, {shortened(field)}", remedy, value=field)
        notes.append(f"{fact}; if they are, {remedy}")
    return tuple(notes)


def _line(text: Text, separator: str, row: int) -> int:
    """The line that a row begins on; the header is row 0."""
    return next(islice(_records(text, "", separator), row, None))[0]
