"""Text tables (csv, tsv). Every field is read as the text that stands there; nothing is guessed.

polars reads the rows. Where it refuses, pads a short row without saying so, or would guess at a misplaced quote,
Python's csv module reads them again, slowly, and names the line at fault.
"""

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice, pairwise
from pathlib import Path
from typing import NoReturn

import numpy as np
import polars as pl
from polars.exceptions import PolarsError

from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option, counted, listed, shortened
from raterlens.config import ReadConfig
from raterlens.config.limits import READ_AT_ONCE
from raterlens.reading.formats.header_rows import (
    Text,
    is_upper,
    joined,
    named,
    pivot_names,
    separator_of,
    survey_names,
    trimmed,
)
from raterlens.reading.formats.table import Rows, Table, read_text, read_whole, refuse_changes
from raterlens.reading.read_plan import Finding
from raterlens.reading.vocabulary import is_identifier, is_other, usual_role

DECODED_PIECE = 1 << 20
WINDOWS = "cp1252"
_MARKS = ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def encoding_of(path: Path) -> tuple[str, list[Finding]]:
    """The encoding of a file, and what to say where it is not UTF-8; where nothing fits it is UTF-8, to be refused."""
    with path.open("rb") as file:
        start = file.read(DECODED_PIECE)
    if (
        name := next((name for mark, name in _MARKS if start.startswith(mark)), None) or _sixteen(start)
    ) is not None:
        return name, [_found(name)]
    if b"\0" in start or is_utf8(path):
        return "utf-8", []
    data = path.read_bytes()
    guess = _by_header(data) or _east_asian(data) or _european(data)
    return ("utf-8", []) if guess is None else (guess[0], [_found(*guess)])


_EUROPEAN = (WINDOWS, "iso8859_2", "cp1250", "cp1251", "koi8_r", "cp1253", "cp1254", "cp1257")


def _by_header(data: bytes) -> tuple[str, bool] | None:
    """The encoding in which most names of columns beyond ASCII are usual ones, where it is a single one."""
    header = next((line for line in data[:PEEK].splitlines() if len(line.strip()) > 0), b"")
    usual: dict[str, int] = {}
    for name in (*_COMMON, *_EUROPEAN):
        with suppress(UnicodeDecodeError):
            data.decode(name)
            cells = re.split(r'[,;\t|"]+', header.decode(name))
            usual[name] = sum(not cell.isascii() and usual_role(cell) is not None for cell in cells)
    best = [name for name, times in usual.items() if times == max(usual.values())]
    return (best[0], True) if len(best) == 1 and usual[best[0]] > 1 else None


_COMMON: dict[str, tuple[tuple[int, int], tuple[int, ...]]] = {
    # Leading bytes of the characters in common use, and the least of the bytes that follow them.
    "gb18030": ((0xB0, 0xD7), (0xA1,)),
    "big5": ((0xA4, 0xC6), (0x40,)),
    "shift_jis": ((0x82, 0x97), (0x40,)),
    "euc_jp": ((0xB0, 0xCF), (0xA1,)),
    "euc_kr": ((0xB0, 0xC8), (0xA1,)),
}
CERTAIN = 0.9
"""Share of characters in common use that a text has in the encoding that it is written in."""


def _east_asian(data: bytes) -> tuple[str, bool] | None:
    """The encoding of a Chinese, Japanese or Korean text, and whether no other would do."""
    shares: dict[str, float] = {}
    for name, ((first, last), (least,)) in _COMMON.items():
        try:
            text = data.decode(name)
        except UnicodeDecodeError:
            continue
        wide = [letter for letter in text if ord(letter) > 0x7F]
        beside = sum(ord(a) > 0x2E80 and ord(b) > 0x2E80 for a, b in pairwise(text))
        if not wide or 2 * beside < len(wide) or any(0xFF61 <= ord(letter) <= 0xFF9F for letter in wide):
            continue
        codes = [letter.encode(name) for letter in wide if ord(letter) > 0x2E80]
        common = sum(len(code) == 2 and first <= code[0] <= last and code[1] >= least for code in codes)
        kana = sum(0x3040 <= ord(letter) <= 0x30FF for letter in wide)
        hangul = sum(0xAC00 <= ord(letter) <= 0xD7A3 for letter in wide)
        if (name == "euc_kr" and hangul < CERTAIN * len(wide)) or (name == "euc_jp" and not kana):
            continue
        shares[name] = (common + (kana if name == "euc_jp" else 0)) / len(wide)
    if not shares or max(shares.values()) < 0.7:
        return None
    # Korean syllables and Japanese kana stand where Chinese characters do, which are seldom all from that stretch.
    order = sorted(shares, key=lambda name: (-round(shares[name], 1), list(_COMMON)[::-1].index(name)))
    distinct = len({letter for letter in data.decode(order[0]) if ord(letter) > 0x2E80})
    rival = len(order) > 1 and shares[order[1]] > CERTAIN and distinct < 8
    return order[0], shares[order[0]] >= CERTAIN and not rival


FEWEST = 8
"""Letters beyond ASCII from which on an encoding is guessed that is not the usual one."""


def _european(data: bytes) -> tuple[str, bool] | None:
    """The encoding of a European text: cp1252, unless letters then stand beside signs; and whether that is certain."""
    readings = {}
    for name in _EUROPEAN:
        with suppress(UnicodeDecodeError):
            readings[name] = data.decode(name)
    if not readings:
        return None
    high = sum(byte > 0x7F for byte in data)
    if WINDOWS not in readings and high < FEWEST:
        return None
    odd = {name: _oddity(text) for name, text in readings.items()}
    western = readings.get(WINDOWS)
    if western is not None and not odd[WINDOWS]:
        czech = bool(set("øØ") & set(western)) and bool(set("ìùïòèÈ") & set(western))
        hungarian = (
            bool(set("õûÕÛ") & set(western))
            and bool(set("áéíóú") & set(western))
            and not set("ãçâêà") & set(western)
        )
        turkish = bool(set("ðþÐÞ") & set(western)) and not set("æÆ") & set(western)
        runs = sum(len(run) for run in re.findall(r"[^\W\d_a-zA-Z]{3,}", western))
        if runs < high / 2:
            if czech or hungarian or turkish:
                return "cp1250" if czech or hungarian else "cp1254", False
            return WINDOWS, True
        likely = ["cp1251", "koi8_r", "cp1253"]
    else:
        likely = [name for name in _EUROPEAN if name in odd]
    best = min(
        (name for name in likely if name in odd), key=lambda name: (odd[name], _capitals(readings[name]))
    )
    if odd[best] > 0.1 * high:
        return (WINDOWS, True) if western is not None else None
    return best, False


def _oddity(text: str) -> int:
    """How many signs stand within words, where letters should, or are no signs at all."""
    return sum("\x80" <= letter <= "\x9f" for letter in text) + len(
        re.findall(r"(?<=[^\W\d_])[^\w\s\x00-\x7f’‘“”–—…«»°²³]|[¡-¿](?=[^\W\d_])|(?<=[^\W\d_])[¡-¿]", text)
    )


def _capitals(text: str) -> int:
    """How many capitals stand within words."""
    return sum(a.islower() and b.isupper() and ord(b) > 0x7F for a, b in pairwise(text)) + sum(
        letter in "ÐðÞþ" for letter in text
    )


def is_utf8(path: Path) -> bool:
    """Whether a whole file is UTF-8, looked at piece by piece."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with path.open("rb") as file:
            while piece := file.read(DECODED_PIECE):
                if not piece.isascii() or decoder.getstate()[0]:
                    decoder.decode(piece)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _sixteen(start: bytes) -> str | None:
    """UTF-16 without a mark: in text of European languages every other byte is zero."""
    half = len(start) // 2
    if half < 4:
        return None
    even, odd = start[: 2 * half : 2].count(0), start[1 : 2 * half : 2].count(0)
    if odd > 0.7 * half and even < 0.05 * half:
        return "utf-16-le"
    return "utf-16-be" if even > 0.7 * half and odd < 0.05 * half else None


def _found(name: str, certain: bool = True) -> Finding:
    option = Option("encoding", name)
    if name == WINDOWS:
        return Finding(
            "text that is not UTF-8", f"read as {name}, as older Windows programs write", (option,)
        )
    seen = "text in UTF-16" if name.startswith("utf-16") else "text that is not UTF-8"
    return Finding(seen, f"read as {name}", (option,), certain=certain)


QUOTE = ord('"')
LINE_ENDS = (ord("\n"), ord("\r"))
PIECE = 1 << 20
"""Bytes looked at in one go: few enough for the processor's cache."""


def has_quotes(text: Path | bytes, piece: int = PIECE) -> bool:
    """Whether there is any quote at all."""
    return any(b'"' in found for found in _pieces(text, piece))


def well_quoted(text: Path | bytes, separator: str, piece: int = PIECE) -> bool:
    """Whether every quote opens a field, closes one, or is one of two that stand for one.

    Of quotes in their places the 1st, 3rd, ... open a field or are the second of a pair, and the others close it or are
    the first of a pair.
    """
    # Past both ends of the text a line ends; a byte order mark is no part of it.
    edge = np.zeros(256, dtype=bool)
    edge[[ord(separator), *LINE_ENDS, QUOTE]] = True
    seen, before, closed = 0, LINE_ENDS[0], False
    for found in _pieces(text, piece):
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


def _pieces(text: Path | bytes, size: int) -> Iterator[bytes]:
    """A text piece by piece, without a byte order mark."""
    with io.BytesIO(text) if isinstance(text, bytes) else text.open("rb") as file:
        piece = file.read(size).removeprefix(codecs.BOM_UTF8)
        while piece:
            yield piece
            piece = file.read(size)


PEEK = 1 << 16
LONGEST = 1 << 24
"""Characters in a field: no text that was judged has more, but what follows a quote that is never closed may have."""
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
            with refuse_changes(path):
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
    """Return the content of a file as UTF-8, or the path of a large file that is UTF-8."""
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
        )
    if b"\0" in start and not codec.startswith(("utf-16", "utf-32")):
        raise InputError(
            f"{path.name!r} is not a text table: byte {start.index(0):,} is NUL, as in a binary file",
            "save the table as csv and give that file",
        )
    if codec in ("utf-8", "utf-8-sig"):
        return read_whole(path) if path.stat().st_size <= READ_AT_ONCE else path
    return read_text(path, encoding).encode()


def _refuse_encoding(path: Path, encoding: str) -> NoReturn:
    read_text(path, encoding)
    raise InputError(f"{path.name!r} changed while it was read", "try again once it is written")


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
    if len(top) > 1 and (pivot := pivot_names(top)) is not None:
        return pivot
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
            if "field limit" in why:
                why = f"a field has more than {LONGEST:,} characters, or a quote is not closed"
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
    except (PolarsError, OSError):
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
