"""Sheets, titles above the table, and row numbers as Excel shows them."""

from pathlib import Path
from typing import Any

import openpyxl
import pytest

import raterlens as rl
from raterlens.reading.formats.workbook import sheet_names
from raterlens.reading.reader import read


@pytest.fixture
def workbook(tmp_path: Path) -> Path:
    book = openpyxl.Workbook()
    book.active.title = "June"
    row: list[Any]
    for row in (["student", "rater", "score"], [1, "a", 0], [2, "b", 1]):
        book.active.append(row)
    july = book.create_sheet("July")
    for row in (
        ["Marks of July"],
        [],
        [None, "student", "rater", "score"],
        [None, 3, "c", 0],
        [],
        [None, 4, "d", 1],
    ):
        july.append(row)
    book.create_sheet("Notes")
    book.save(tmp_path / "marks.xlsx")
    return tmp_path / "marks.xlsx"


def test_the_first_sheet_and_another(workbook: Path) -> None:
    june, july, all_ = (read(workbook, table=table) for table in ("June", "July", "*"))
    assert june.raters.to_list() == ["a", "b"]
    assert july.raters.to_list() == ["c", "d"]
    assert all_.raters.to_list() == ["a", "b", "c", "d"]
    assert "1 row above the header ('Marks of July'): left out" in july.notes
    with pytest.raises(
        rl.RaterlensError, match=r"2 sheets laid out alike \('June', 'July'\).*accept it with table='\*'"
    ):
        read(workbook)
    with pytest.raises(rl.RaterlensError, match="did you mean 'July'"):
        read(workbook, table="july")
    with pytest.raises(rl.RaterlensError, match=r"sheet 'Notes' of 'marks.xlsx' is empty; choose another"):
        read(workbook, table="Notes")


def test_a_bad_score_has_the_row_number_that_excel_shows(workbook: Path) -> None:
    book = openpyxl.load_workbook(workbook)
    book["July"]["D6"] = "nice"
    book.save(workbook)
    with pytest.raises(rl.RaterlensError, match=r"score 'nice' in column 'score', row 6, is not a number"):
        read(workbook, table="July")


def test_sheets_are_listed_in_their_order(workbook: Path) -> None:
    assert sheet_names(workbook) == ["June", "July", "Notes"]
