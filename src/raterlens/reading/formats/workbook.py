"""Sheets of Excel and OpenDocument workbooks. Every cell is read as text, as in a csv file."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from raterlens.config import ReadConfig
from raterlens.errors import InputError
from raterlens.reading.formats.headers import is_upper, joined, title_rows
from raterlens.reading.formats.lazy_table import Rows, Table, choice
from raterlens.reading.formats.optional_packages import require
from raterlens.reading.formats.sheet_size import check_size
from raterlens.text import Message, Option, counted, listed

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
    """Open a sheet: the one asked for, else the first. Titles above the table are left out, two header rows joined."""
    fastexcel = require("fastexcel", "excel", path.name)
    try:
        book = fastexcel.read_excel(path)
        names = book.sheet_names
        name = names[0] if names and config.table is None else choice("sheet", config.table, names, path.name)
        check_size(path, name)
        # Counted from the first row of the sheet, so that a row has the number that Excel shows beside it.
        cells = book.load_sheet(name, header_row=None, skip_rows=0, dtypes="string").to_polars()
    except fastexcel.FastExcelError as error:
        raise _damaged(path, error) from error
    where = f"sheet {name!r} of {path.name!r}"
    if cells.is_empty():
        raise InputError(f"{where} is empty", _others(names, name), option="table")
    first = title_rows(cells.head(PEEK).rows())
    titles, cells = cells.head(first), cells.slice(first)
    cells = cells.select(column for column in cells if column.null_count() < len(column))
    top = cells.head(3).rows()
    two = len(top) == 3 and is_upper(*top)
    header = joined(top[0], top[1]) if two else [(cell or "").strip() for cell in top[0]]
    body = cells.slice(1 + two).with_row_index("\0row", first + 2 + two)
    body = body.filter(pl.any_horizontal(pl.exclude("\0row").is_not_null()))
    numbers = body["\0row"].to_list()
    columns = body.drop("\0row").get_columns()

    def take(wanted: Sequence[str]) -> Rows:
        chosen = pl.DataFrame([columns[header.index(column)].alias(column) for column in wanted])
        return Rows(chosen, lambda row: f"row {numbers[row]:,}")

    notes: list[str] = []
    if config.table is None and len(names) > 1:
        notes.append(
            Message(
                f"sheet {name!r}, the first of {len(names)} ({listed(names)}); choose another with ",
                Option("table"),
            )
        )
    skipped = [next((cell for cell in row if cell), None) for row in titles.rows()]
    if any(skipped):
        notes.append(f"{counted(first, 'row')} above the header left out: {listed(filter(None, skipped))}")
    return Table(where, tuple(header), take, notes=tuple(notes), two_headers=two)


def _damaged(path: Path, error: Exception) -> InputError:
    reason = str(error).splitlines()[0].removeprefix("calamine error: ")
    return InputError(f"{path.name!r} is damaged or cut short ({reason})", "copy it or save it again")


def _others(names: Sequence[str], name: str) -> str:
    others = [other for other in names if other != name]
    if not others:
        return "add the ratings, with a header"
    return Message("choose another with ", Option("table"), f": {listed(others)}")
