"""Sheets of Excel and OpenDocument workbooks. Every cell is read as text, as in a csv file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option, counted, listed
from raterlens.config import ReadConfig
from raterlens.reading.formats.headers import header_row, is_upper, joined, named
from raterlens.reading.formats.lazy_table import Rows, Table, choice
from raterlens.reading.formats.optional_packages import require
from raterlens.reading.formats.sheet_choice import ALL_SHEETS, chosen_sheet, joined_sheets
from raterlens.reading.formats.sheet_size import check_size
from raterlens.reading.proposals.findings import Finding

PEEK = 20
"""Rows among which the header is looked for."""


WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


def sheet_names(path: Path) -> list[str]:
    """The sheets of a workbook, in their order."""
    fastexcel = require("fastexcel", "excel", path.name)
    try:
        return list(fastexcel.read_excel(path).sheet_names)
    except fastexcel.FastExcelError as error:
        raise _damaged(path, error) from error


def read_workbook(path: Path, config: ReadConfig) -> Table:
    """Open a sheet: the one asked for, else the one that looks like ratings, or all that are laid out alike, each with
    the marks of one rater. Titles above the table are left out, two header rows joined."""
    fastexcel = require("fastexcel", "excel", path.name)
    try:
        book = fastexcel.read_excel(path)
        names = list(book.sheet_names)
        if config.table == ALL_SHEETS:
            return joined_sheets(_sheets(book, path, names), path.name)
        if config.table is not None or len(names) < 2:
            name = (
                names[0]
                if names and config.table is None
                else choice("sheet", config.table, names, path.name)
            )
            return _sheet(book, path, name)
        return chosen_sheet(_sheets(book, path, names), names, path.name)
    except fastexcel.FastExcelError as error:
        raise _damaged(path, error) from error


def _sheets(book: Any, path: Path, names: Sequence[str]) -> dict[str, Table]:
    """Every sheet with a table on it."""
    found: dict[str, Table] = {}
    first: InputError | None = None
    for name in names:
        try:
            table = _sheet(book, path, name)
        except InputError as error:
            first = first or error
            continue
        if len(table.columns) > 1:
            found[name] = table
    if not found and first is not None:
        raise first
    return found or {names[0]: _sheet(book, path, names[0])}


def _sheet(book: Any, path: Path, name: str) -> Table:
    check_size(path, name)
    # Counted from the first row of the sheet, so that a row has the number that Excel shows beside it.
    cells = book.load_sheet(name, header_row=None, skip_rows=0, dtypes="string").to_polars()
    where = f"sheet {name!r} of {path.name!r}"
    if cells.is_empty():
        raise InputError(f"{where} is empty", _others(book.sheet_names, name), option="table")
    first = header_row(cells.head(PEEK).rows())
    titles, cells = cells.head(first), cells.slice(first)
    cells = cells.select(column for column in cells if column.null_count() < len(column))
    top = cells.head(3).rows()
    two = len(top) == 3 and is_upper(*top)
    header = named(joined(top[0], top[1]) if two else [(cell or "").strip() for cell in top[0]])
    body = cells.slice(1 + two).with_row_index("\0row", first + 2 + two)
    body = body.filter(pl.any_horizontal(pl.exclude("\0row").is_not_null()))
    numbers = body["\0row"].to_list()
    columns = body.drop("\0row").get_columns()

    def take(wanted: Sequence[str]) -> Rows:
        chosen = pl.DataFrame([columns[header.index(column)].alias(column) for column in wanted])
        return Rows(chosen, lambda row: f"row {numbers[row]:,}")

    skipped = [" ".join(cell for cell in row if cell) for row in titles.rows()]
    said = [text for text in skipped if text.strip()]
    findings = (
        [Finding(f"{counted(len(said), 'row')} above the header ({listed(said, 3)})", "left out")]
        if said
        else []
    )
    return Table(where, tuple(header), take, findings=tuple(findings), two_headers=two)


def _damaged(path: Path, error: Exception) -> InputError:
    reason = str(error).splitlines()[0].removeprefix("calamine error: ")
    return InputError(f"{path.name!r} is damaged or cut short ({reason})", "copy it or save it again")


def _others(names: Sequence[str], name: str) -> str:
    others = [other for other in names if other != name]
    if not others:
        return "add the ratings, with a header"
    return Message("choose another with ", Option("table"), f": {listed(others)}")
