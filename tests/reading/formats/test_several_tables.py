"""Which sheets hold the ratings."""

from pathlib import Path
from typing import Any

import pytest

from raterlens.base.errors import InputError
from raterlens.reading.read import read
from raterlens.reading.read_plan import UncertainError
from tests.reading.corpus.truth import workbook

MARKS: list[list[Any]] = [["Student", "content", "style"], ["a", 1, 2], ["b", 0, 1], ["c", 2, 2]]


def test_one_sheet_per_rater_is_said_with_the_place_of_a_bad_score(tmp_path: Path) -> None:
    workbook(tmp_path / "x.xlsx", {"Ann": MARKS, "Bob": MARKS})
    ratings = read(tmp_path / "x.xlsx")
    assert ratings.raters.to_list() == ["Ann", "Bob"]
    assert (
        "2 sheets laid out alike ('Ann', 'Bob'): read together, the sheet name is the rater" in ratings.notes
    )
    bad: list[list[Any]] = [*MARKS[:3], ["c", "nice", 1]]
    workbook(tmp_path / "x.xlsx", {"Ann": MARKS, "Bob": bad})
    with pytest.raises(InputError, match="'nice' in column 'content', sheet 'Bob', row 4"):
        read(tmp_path / "x.xlsx", items=["content", "style"], table="*", rater="sheet")


def test_sheets_that_may_be_classes_are_asked_about(tmp_path: Path) -> None:
    rows: list[list[Any]] = [["student", "rater", "score"], ["a", "x", 1], ["b", "y", 0]]
    workbook(tmp_path / "x.xlsx", {"A": rows, "B": rows})
    with pytest.raises(UncertainError, match="2 sheets laid out alike"):
        read(tmp_path / "x.xlsx")
    assert read(tmp_path / "x.xlsx", table="*").n_ratings == 4
    assert read(tmp_path / "x.xlsx", table="A").n_ratings == 2


def test_sheets_about_other_people_are_not_put_together(tmp_path: Path) -> None:
    other: list[list[Any]] = [["Student", "content", "style"], ["k", 1, 2], ["l", 0, 1]]
    workbook(tmp_path / "x.xlsx", {"Ann": MARKS, "Bob": other})
    with pytest.raises(InputError, match="no rater column"):
        read(tmp_path / "x.xlsx")


def test_a_column_called_sheet_is_in_the_way(tmp_path: Path) -> None:
    rows: list[list[Any]] = [["sheet", "Student", "score"], ["1", "a", 1], ["1", "b", 0]]
    workbook(tmp_path / "x.xlsx", {"A": rows, "B": rows})
    with pytest.raises(InputError, match="have a column 'sheet' of their own"):
        read(tmp_path / "x.xlsx", table="*")
