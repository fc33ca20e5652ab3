"""Text tables (csv, tsv). Every field is read as the text that stands there; nothing is guessed.

polars reads the rows. Where it refuses, pads a short row without saying so, or would guess at a misplaced quote,
Python's csv module reads them again, slowly, and names the line at fault.
"""

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import NoReturn

import numpy as np
import polars as pl
from polars.exceptions import PolarsError

from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option, counted, listed, shortened
from raterlens.config import ReadConfig
from raterlens.reading.formats.headers import is_upper, joined, named, survey_names
from raterlens.reading.formats.lazy_table import Rows, Table
from raterlens.reading.formats.quotes import has_quotes, swallowed, well_quoted
from raterlens.reading.formats.surroundings import Text, separator_of, trimmed
from raterlens.reading.formats.text_encodings import encoding_of
from raterlens.reading.proposals.role_words import is_identifier, is_other, usual_role

PEEK = 1 << 16
LONGEST = 1 << 30
"""Bytes in a field: polars has no limit, and the rest of a file after a quote that is never closed is no surprise."""
Record = tuple[int, list[str]]
"""The line that a row begins on, and its fields."""


def read_delimited(path: Path, config: ReadConfig) -> Table:
    """Open a text table: encoding, separator and header are settled here."""
    encoding, findings = (config.encoding, []) if config.encoding else encoding_of(path)
    text = _as_utf8(path, encoding)
    try:
        separator = separator_of(text, prefer="\t" if path.suffix.lower() == ".tsv" else "")
        text, around = trimmed(text, separator)
        header, upper = _header(text, path, separator)
    except UnicodeDecodeError:
        _refuse_encoding(path, encoding)

    @cache
    def whole() -> pl.DataFrame:
        try:
            return _read(text, path.name, separator, len(header))
        except UnicodeDecodeError:
            _refuse_encoding(path, encoding)

    def take(wanted: Sequence[str]) -> Rows:
        # Blank lines are not rows; the others keep their number, to name the line of a bad value.
        frame = whole()
        row = np.arange(len(frame))[upper:]
        frame = frame.slice(upper)

        def place(i: int) -> str:
            return f"line {_line(text, separator, int(row[i])):,}"

        notes = _swallowed_rows(frame, header, wanted, separator, place) if has_quotes(text) else ()
        chosen = frame.select(pl.nth(header.index(name)).alias(name) for name in wanted)
        if frame.to_series(-1).null_count():
            filled = ~frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
            chosen, row = chosen.filter(filled), row[filled.to_numpy()]
        return Rows(chosen, place, notes)

    return Table(path.name, tuple(header), take, findings=(*findings, *around), two_headers=upper == 1)


def _as_utf8(path: Path, encoding: str) -> Text:
    """Return the path of a UTF-8 file, or what is in it made UTF-8."""
    codec = codecs.lookup(encoding).name
    with path.open("rb") as file:
        start = file.read(PEEK)
    if not start.removeprefix(codecs.BOM_UTF8).strip():
        raise _empty(path.name)
    if codec in ("utf-8", "utf-8-sig") and start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError(
            f"{path.name!r} is UTF-16, not UTF-8",
            Message("save it as UTF-8, or give ", Option("encoding", "utf-16")),
            value=encoding,
            option="encoding",
        )
    if b"\0" in start and not codec.startswith(("utf-16", "utf-32")):
        raise InputError(
            f"{path.name!r} is not a text table: byte {start.index(0):,} is NUL, as in a binary file",
            "save the table as csv and give that file",
        )
    if codec in ("utf-8", "utf-8-sig"):
        return path
    try:
        return path.read_bytes().decode(encoding).encode()
    except UnicodeDecodeError:
        _refuse_encoding(path, encoding)


def _refuse_encoding(path: Path, encoding: str) -> NoReturn:
    data = path.read_bytes()
    try:
        data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path.name!r} is not {encoding}: byte 0x{data[error.start]:02x} at position {error.start:,} "
            f"(line {line:,}) does not belong there",
            Message(
                "save the file as UTF-8, or give its encoding (",
                Option("encoding", "cp1252"),
                " for most files from Excel)",
            ),
            value=encoding,
            option="encoding",
        ) from None
    raise InputError(f"{path.name!r} changed while it was read", "try again")


def _header(text: Text, path: Path, separator: str) -> tuple[list[str], int]:
    """The names, and how many rows below the first they are made from."""
    header = [name.strip() for name in _first(text, path.name, separator, strict=True)]
    if len(header) < 2:
        raise InputError(
            f"{path.name!r} is not a table of ratings: its first line, {header[0][:60]!r}, has no comma, "
            "semicolon, tab or | between columns",
            "the first line must name the columns",
            value=header[0],
        )
    _refuse_data(header, path.name)
    top = [fields for _, fields in islice(_records(text, path.name, separator, strict=False), 3)]
    if (survey := survey_names(top)) is not None:
        return survey, 2
    # Gaps or names again: merged cells of a spreadsheet, with a second header row under them?
    if len({*header} - {""}) < len(header) and len(top) == 3 and is_upper(*top):
        return named(joined(top[0], top[1])), 1
    return named(header), 0


def _refuse_data(header: Sequence[str], name: str) -> None:
    """Raise where the first line has numbers and no name that says anything: it is a row."""
    spoken = any(usual_role(cell) or is_identifier(cell) or is_other(cell) for cell in header)
    if not spoken and any(re.fullmatch(r"[+-]?\d+([.,]\d+)?", cell) for cell in header):
        raise InputError(
            f"the first line of {name!r}, {listed(header)}, looks like a row, not like names of columns",
            "add a header line, for example student,rater,score",
            value=list(header),
        )


def _first(text: Text, name: str, separator: str, *, strict: bool) -> list[str]:
    for _, fields in _records(text, name, separator, strict=strict):
        return fields
    raise _empty(name)


def _empty(name: str) -> InputError:
    return InputError(f"{name!r} is an empty file", "a table needs a header line and rows under it")


def _records(text: Text, name: str, separator: str, *, strict: bool = True) -> Iterator[Record]:
    """Read the header and the rows under it as RFC 4180 has it; a blank line is a row without fields."""
    file = io.BytesIO(text) if isinstance(text, bytes) else text.open("rb")
    with io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as lines:
        csv.field_size_limit(LONGEST)
        reader = csv.reader(lines, delimiter=separator, strict=strict)
        started, line = False, 1
        try:
            for fields in reader:
                started = started or bool(fields)
                if started:
                    yield line, fields
                line = reader.line_num + 1
        except csv.Error as error:
            why = "a quote is not closed" if "end of data" in str(error) else str(error)
            raise InputError(
                f"{name!r} cannot be read from line {line:,} on: {why}",
                "close every quote that is opened, and write a quote inside quotes twice",
            ) from error


def _read(text: Text, name: str, separator: str, width: int) -> pl.DataFrame:
    """Read all rows as text, columns named by position; a row too long or too short is an error."""
    names = [str(position) for position in range(width)]
    try:
        # Without this, polars takes a misplaced quote for part of a field, which then swallows lines.
        certain = well_quoted(text, separator)
        frame = (
            pl.read_csv(text, separator=separator, infer_schema=False, new_columns=names, glob=False)
            if certain
            else None
        )
    except PolarsError:
        frame = None
    if frame is None or frame.width != width:
        # Stray quotes, old Mac line ends, or a row at fault, which is named here.
        rows = [fields or [""] * width for _, fields in _even_records(text, name, separator, width)]
        frame = pl.DataFrame(rows[1:], schema=dict.fromkeys(names, pl.String), orient="row")
        return frame.with_columns(pl.all().replace("", None))
    if frame.to_series(-1).null_count():
        for _ in _even_records(text, name, separator, width):
            pass
    return frame


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


def _even_records(text: Text, name: str, separator: str, width: int) -> Iterator[Record]:
    for line, fields in _records(text, name, separator):
        if len(fields) != width and any(field.strip() for field in fields):
            raise InputError(
                f"{name!r}, line {line:,}: {counted(len(fields), 'field')} where the header has {width}",
                "put quotes around a field that contains the separator, and fill or remove the row",
                value=fields,
            )
        yield line, fields if len(fields) == width else []


def _line(text: Text, separator: str, row: int) -> int:
    for number, (line, _) in enumerate(_records(text, "", separator)):
        if number == row + 1:
            return line
    raise IndexError(row)
