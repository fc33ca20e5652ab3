"""Excel and OpenDocument workbooks: the sheet with the ratings, and how far its cells reach."""

import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path
from posixpath import join, normpath
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

import polars as pl

from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option, counted, listed
from raterlens.config import ReadConfig
from raterlens.config.limits import FAR_CELLS
from raterlens.reading.formats.header_rows import TOP, column_names, header_row, titles_left_out
from raterlens.reading.formats.sources import ALL_SHEETS, chosen_sheet, joined_sheets
from raterlens.reading.formats.table import Rows, Table, check_archive, choice, refusing, require

SPARSE = 1 / 20
"""A sheet in which more of them are filled may be larger."""
PIECE = 1 << 24
DAMAGES = (
    *(zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, LookupError, ValueError),
    *(struct.error, ElementTree.ParseError, expat.ExpatError),
)

_COLUMN = re.compile(rb""" r=["']([A-Z]{2,3})\d""")
_ROW = re.compile(rb""" r=["'][A-Z]{0,3}(\d{1,7})["']""")
_END = re.compile(rb"</(?:\w+:)?c>")
_TABLE = "urn:oasis:names:tc:opendocument:xmlns:table:1.0"
_BINARY = "xl/workbook.bin"
# Kinds of records in a binary workbook: a sheet of it; how far a sheet reaches; a cell, blank or not.
_BUNDLED, _REACH, _CELLS = 156, 148, range(1, 12)
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"

Size = tuple[int, int, int]
"""Rows, columns, and cells that are there."""


def check_size(path: Path, sheet: str, most: int = FAR_CELLS) -> None:
    """Raise where a sheet reaches so far that its blank cells alone would fill the memory."""
    try:
        with zipfile.ZipFile(path) as book:
            names = book.namelist()
            if "content.xml" in names:
                sizes = [_opendocument(book, sheet)]
            else:
                size = _binary_size if _BINARY in names else _xlsx_size
                own = _part(book, sheet, "bin" if _BINARY in names else "xml")
                sheets = [name for name in names if name.startswith("xl/worksheets/")]
                sizes = [size(book, part) for part in ([own] if own else sheets)]
    except DAMAGES:
        return  # an old workbook, or a damaged one: the reader says what is wrong
    for rows, columns, cells in sizes:
        if rows * columns > most and cells < SPARSE * rows * columns:
            reach = f"sheet {sheet!r} of {path.name!r} reaches to row {rows:,} and column {columns:,}"
            what = f"{reach}, and has only {counted(cells, 'cell')}"
            stray = "delete the stray cells far from the table, or choose another sheet with "
            raise InputError(what, Message(stray, Option("table")), value=(rows, columns))


def _part(book: zipfile.ZipFile, sheet: str, kind: str) -> str | None:
    """The file of a sheet within an Excel workbook, where the workbook says."""
    named = _binary_sheets(book) if kind == "bin" else _xml_sheets(book)
    relation = next((relation for name, relation in named if name == sheet), None)
    targets = {
        found.get("Id"): normpath(join("/xl", found.get("Target", ""))).lstrip("/")
        for found in ElementTree.fromstring(book.read(f"xl/_rels/workbook.{kind}.rels"))
    }
    return None if relation is None else targets[relation]


def _xml_sheets(book: zipfile.ZipFile) -> Iterator[tuple[str | None, str]]:
    for element in ElementTree.fromstring(book.read("xl/workbook.xml")).iter():
        if element.tag.endswith("}sheet"):
            yield element.get("name"), element.get(_RELATION, "")


def _binary_sheets(book: zipfile.ZipFile) -> Iterator[tuple[str, str]]:
    for kind, content in _records(book.read(_BINARY)):
        if kind == _BUNDLED:
            relation, rest = _wide_text(content[8:])
            yield _wide_text(rest)[0], relation


def _xlsx_size(book: zipfile.ZipFile, part: str) -> Size:
    """Size of a sheet in XML. Rows and cells are examined only if there is a column beyond Z: fewer do not matter."""
    columns = max([26, *map(column_number, _all(_COLUMN, book, part))])
    if columns == 26:
        return 0, columns, 0
    rows = max([0, *map(int, _all(_ROW, book, part))])
    return rows, columns, _all(_END, book, part).total()


def _all(pattern: re.Pattern[bytes], book: zipfile.ZipFile, part: str, piece: int = PIECE) -> Counter[bytes]:
    """Find a pattern, and how often; a piece ends where an element does."""
    found: Counter[bytes] = Counter()
    rest = b""
    with book.open(part) as file:
        while data := file.read(piece):
            ended, end, rest = (rest + data).rpartition(b">")
            found.update(pattern.findall(ended + end))
    return found


def column_number(letters: bytes) -> int:
    """AA is 27.

    >>> column_number(b"AA"), column_number(b"XFD")
    (27, 16384)
    """
    return reduce(lambda number, letter: 26 * number + letter - ord("A") + 1, letters, 0)


def _opendocument(book: zipfile.ZipFile, sheet: str) -> Size:
    """Size of a sheet in OpenDocument, which counts blank cells and rows as repeated."""
    name, row, column, rows, columns, cells = "", 0, 0, 0, 0, 0

    def start(tag: str, given: dict[str, str]) -> None:
        nonlocal name, row, column, rows, columns, cells
        kind = tag.removeprefix(f"{_TABLE} ")
        if kind == "table":
            name = given.get(f"{_TABLE} name", "")
        elif name == sheet and kind == "table-row":
            row, column = row + int(given.get(f"{_TABLE} number-rows-repeated", 1)), 0
        elif name == sheet and kind in ("table-cell", "covered-table-cell"):
            repeated = int(given.get(f"{_TABLE} number-columns-repeated", 1))
            column += repeated
            if any("value" in attribute for attribute in given):
                cells, rows, columns = cells + repeated, max(rows, row), max(columns, column)

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = start
    with book.open("content.xml") as file:
        parser.ParseFile(file)
    return rows, columns, cells


def _binary_size(book: zipfile.ZipFile, part: str) -> Size:
    """Size of a binary sheet, as it says itself."""
    content = book.read(part)
    for kind, reach in _records(content):
        if kind == _REACH:
            rows, columns = (last + 1 for last in struct.unpack_from("<4I", reach)[1::2])
            far = rows * columns > FAR_CELLS  # counting cells takes longer than reading them
            cells = sum(kind in _CELLS for kind, _ in _records(content)) if far else 0
            return rows, columns, cells
    return 0, 0, 0


def _records(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and content of each record; both lengths have seven bits per byte."""
    at = 0
    while at < len(content):
        kind = content[at] & 0x7F
        if content[at] & 0x80:
            at += 1
            kind |= (content[at] & 0x7F) << 7
        size = shift = 0
        more = True
        while more and shift < 28:
            at += 1
            size |= (content[at] & 0x7F) << shift
            more, shift = bool(content[at] & 0x80), shift + 7
        yield kind, content[at + 1 : at + 1 + size]
        at += 1 + size


def _wide_text(content: bytes) -> tuple[str, bytes]:
    """A text with its length before it, and what comes after."""
    end = 4 + 2 * int.from_bytes(content[:4], "little")
    return content[4:end].decode("utf-16-le"), content[end:]


WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


def sheet_names(path: Path) -> list[str]:
    """The sheets of a workbook, in their order."""
    return list(_book(path).sheet_names)


def _book(path: Path) -> Any:
    fastexcel = require("fastexcel", "excel", path.name)
    check_archive(path)
    with refusing(path.name, fastexcel.FastExcelError):
        return fastexcel.read_excel(path)


def read_workbook(path: Path, config: ReadConfig) -> Table:
    """Open a sheet: the one asked for, else the one that looks like ratings, or all that are laid out alike, each with
    the marks of one rater. Titles above the table are left out, header rows joined."""
    book = _book(path)
    names = list(book.sheet_names)
    if config.table == ALL_SHEETS:
        return joined_sheets(_sheets(book, path, names, config), path.name)
    if config.table is not None or len(names) < 2:
        return _sheet(book, path, choice("sheet", config.table, names, path.name), config)
    return chosen_sheet(_sheets(book, path, names, config), names, path.name)


def _sheets(book: Any, path: Path, names: Sequence[str], config: ReadConfig) -> dict[str, Table]:
    """Every sheet with a table on it."""
    found: dict[str, Table] = {}
    first: InputError | None = None
    for name in names:
        try:
            table = _sheet(book, path, name, config)
        except InputError as error:
            first = first or error
            continue
        if len(table.columns) > 1:
            found[name] = table
    if not found and first is not None:
        raise first
    return found or {names[0]: _sheet(book, path, names[0], config)}


def _sheet(book: Any, path: Path, name: str, config: ReadConfig) -> Table:
    check_size(path, name)
    where = f"sheet {name!r} of {path.name!r}"
    # Counted from the first row of the sheet, so that a row has the number that Excel shows beside it.
    with refusing(path.name, require("fastexcel", "excel", path.name).FastExcelError):
        cells = book.load_sheet(name, header_row=None, skip_rows=0, dtypes="string").to_polars()
    if cells.is_empty():
        others = [other for other in book.sheet_names if other != name]
        advice = Message("choose another with ", Option("table"), f": {listed(others)}")
        advice = advice if others else Message("add the ratings, with a header")
        raise InputError(f"{where} is empty", advice, option="table")
    first = header_row(cells.head(TOP).rows())
    titles, cells = cells.head(first), cells.slice(first)
    cells = cells.select(column for column in cells if column.null_count() < len(column))
    top = cells.head(TOP).rows()
    header = column_names(top, config)
    body = cells.slice(header.rows).with_row_index("\0row", first + header.rows + 1)
    body = body.filter(pl.any_horizontal(pl.exclude("\0row").is_not_null()))
    numbers = body["\0row"].to_list()
    columns = dict(zip(header.names, body.drop("\0row").get_columns(), strict=True))

    def take(wanted: Sequence[str]) -> Rows:
        chosen = pl.DataFrame([columns[name].alias(name) for name in wanted])
        return Rows(chosen, lambda row: f"row {numbers[row]:,}")

    left_out, said = titles_left_out(titles.rows())
    return Table(
        where,
        tuple(header.names),
        take,
        findings=(*left_out, *header.findings),
        two_headers=header.joined,
        titles=said,
        top=tuple(dict(zip(header.names, row, strict=True)) for row in top[header.rows :]),
    )
