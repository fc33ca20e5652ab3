"""Roles of columns, and patterns of their names."""

import datetime as dt

import polars as pl
import pytest

from raterlens.config import pattern_fields
from raterlens.reading.read import read
from raterlens.reading.reshape import FIELDS, is_grid, likely_pattern, split_names
from tests.support.reading_tables import LONG, assert_same, by_rows


@pytest.mark.parametrize("separator", ["_", " ", ".", "-", ":", "/", "|"])
def test_a_grid_of_raters_and_items_is_seen(separator: str) -> None:
    columns = ["student", *(f"{r}{separator}{i}" for r in ("Ann", "Bob") for i in ("style", "plot"))]
    assert likely_pattern(columns) == f"{{rater}}{separator}{{item}}"
    assert likely_pattern(["student", f"Ann{separator}style", f"Bob{separator}plot"]) is None


def test_the_split_with_fewest_labels_is_taken() -> None:
    columns = ["Ann Lee style", "Ann Lee plot", "Bob Ray style"]
    found = split_names("{rater} {item}", FIELDS, columns)
    assert found == {
        "Ann Lee style": ("Ann Lee", "style"),
        "Ann Lee plot": ("Ann Lee", "plot"),
        "Bob Ray style": ("Bob Ray", "style"),
    }
    assert is_grid(found)


def test_characters_of_regular_expressions_are_plain() -> None:
    pattern = "{item} (by {rater}.)"
    assert split_names(pattern, pattern_fields(pattern), ["plot (by Ann.)", "plot by Ann"]) == {
        "plot (by Ann.)": ("plot", "Ann")
    }


@pytest.mark.parametrize(
    ("student", "rater", "item", "score"),
    [
        ("student", "rater", "item", "score"),
        ("Student ID", "Rater.Name", "Item_No", "SCORE"),
        ("person", "judge", "criterion", "rating"),
        ("pid", "annotator", "task", "label"),
        ("examineeId", "marker", "question", "y"),
        ("candidate_number", "grader", "trait", "verdict"),
        ("response_id", "scorer", "dimension", "mark"),
        ("subject", "examiner", "aspect", "Passed"),
    ],
)
def test_usual_names_are_recognised_and_said(student: str, rater: str, item: str, score: str) -> None:
    names = dict(zip(LONG.columns, (student, rater, item, score), strict=True))
    ratings = read(LONG.rename(names).with_columns(comment=pl.lit("")), duplicates="keep")
    assert_same(ratings, read(LONG, duplicates="keep"))
    assert ratings.notes == tuple(f"{role} column: {name!r} (recognised)" for role, name in names.items())


def test_a_usual_name_goes_before_a_less_usual_one() -> None:
    notes = read(LONG.with_columns(response=pl.lit("an essay"), grade=pl.lit("B"))).notes
    assert "student column: 'student' (recognised)" in notes
    assert "score column: 'score' (recognised)" in notes


def test_columns_given_are_not_noted_nor_recognised_for_another_role() -> None:
    frame = LONG.rename({"item": "task"})
    ratings = read(frame, student="student", rater=["rater", "task"], score="score", duplicates="keep")
    assert ratings.items.to_list() == ["all"]
    assert ratings.notes == ("no item column: all ratings are of one item, 'all'",)


def test_several_columns_are_their_combination() -> None:
    ratings = read(LONG, rater=["rater", "item"])
    pairs = {f"{rater}:{item}" for rater, item in zip(LONG["rater"], LONG["item"], strict=True)}
    assert ratings.raters.to_list() == sorted(pairs)
    assert by_rows(ratings) == sorted((s, f"{r}:{i}", "all", y) for s, r, i, y in LONG.rows())


def test_a_combination_of_other_types_is_their_text_and_lacks_a_label_where_a_part_does() -> None:
    frame = pl.DataFrame(
        {
            "student": [1, 2, 3, 4],
            "judge": [10, 9, 10, 9],
            "day": [dt.date(2026, 1, 1), None, dt.date(2026, 1, 2), dt.date(2026, 1, 1)],
            "score": [0, 1, 0, 1],
        }
    )
    ratings = read(frame, rater=["judge", "day"])
    assert ratings.raters.to_list() == ["10:2026-01-01", "10:2026-01-02", "9:2026-01-01"]
    assert ratings.students.to_list() == [1, 3, 4]
    assert read(frame, rater=["judge"]).raters.to_list() == [9, 10]


def test_a_combination_that_lacks_a_part_is_left_out_and_said() -> None:
    """People have no prompt version: without this note they would seem to have been read."""
    prompts = pl.Series(["v1", "v1", None, None])
    frame = pl.DataFrame({"student": [1, 2, 1, 2], "judge": ["a", "a", "Ann", "Ann"], "score": [0, 1, 1, 0]})
    notes = read(frame.with_columns(prompt=prompts), rater=["judge", "prompt"]).notes
    assert "2 of 4 rows left out: no student or rater label; a label takes each of 'judge', 'prompt'" in notes
