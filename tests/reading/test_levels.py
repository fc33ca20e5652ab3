"""Labels stay as they are written; those that look alike are told."""

import datetime as dt
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from raterlens.reading.levels import code
from raterlens.reading.reader import read
from tests.support.reading_tables import LONG


@pytest.mark.parametrize(
    "students",
    [
        ["007", "7", "08"],
        ["1.0", "1", "1e3"],
        ["123456789012345678901234567890", "1"],
        ["true", "1"],
    ],
)
def test_labels_in_text_files_stay_as_written(students: list[str], tmp_path: Path) -> None:
    lines = [f"{student},AM,{i % 2}" for i, student in enumerate(students)]
    (tmp_path / "x.csv").write_text("\n".join(["student,rater,score", *lines]))
    assert sorted(read(tmp_path / "x.csv").students) == sorted(students)


def test_all_digit_text_is_sorted_as_numbers_and_other_text_plainly() -> None:
    frame = pl.DataFrame(
        {"student": ["10", "9", "010", "100000000000000000000", "0"], "rater": list("b1a2_")}
    )
    ratings = read(frame.with_columns(score=pl.Series([0, 1, 0, 1, 0])))
    assert ratings.students.to_list() == ["0", "9", "010", "10", "100000000000000000000"]
    assert ratings.raters.to_list() == ["1", "2", "_", "a", "b"]


@pytest.mark.parametrize(
    "labels",
    [
        pl.Series([3, 1, 2], dtype=pl.Int8),
        pl.Series([2.5, 0.5, 1.0]),
        pl.Series([dt.date(2026, 1, 2), dt.date(2025, 1, 1), dt.date(2026, 1, 1)]),
        pl.Series([dt.datetime(2026, 1, 2), dt.datetime(2025, 1, 1), dt.datetime(2026, 1, 1)]),
        pl.Series([True, False, True]),
        pl.Series(["c", "a", "b"], dtype=pl.Categorical),
        pl.Series(["c", "a", "b"], dtype=pl.Enum(["c", "b", "a"])),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_of_any_type_keep_it(labels: pl.Series) -> None:
    ratings = read(pl.DataFrame({"student": labels, "rater": labels, "item": labels, "score": [0, 1, 1]}))
    assert ratings.students.dtype == ratings.raters.dtype == ratings.items.dtype == labels.dtype
    assert ratings.students.to_list() == sorted(set(labels.to_list()))
    assert ratings.students.gather(ratings.student).to_list() == labels.to_list()


def test_codes_are_small_and_cannot_be_changed() -> None:
    ratings = read(LONG)
    assert [a.dtype for a in (ratings.student, ratings.rater, ratings.item)] == [np.int32] * 3
    assert ratings.score.dtype == np.int16
    with pytest.raises(ValueError, match="read-only"):
        ratings.score[0] = 1
    with pytest.raises(AttributeError):
        ratings.score = ratings.score  # type: ignore[misc]


def test_labels_that_look_alike_are_noted_where_they_are_kept_apart() -> None:
    frame = pl.DataFrame({"student": ["s", "t", "S "], "rater": ["AM", "am ", "BE"], "score": [0, 1, 1]})
    ratings = read(frame, as_written=True)
    assert ratings.raters.to_list() == ["AM", "BE", "am "]
    assert any(note.startswith("'AM' and 'am ' look like the same rater;") for note in ratings.notes)
    assert any(note.startswith("'S ' and 's' look like the same student;") for note in ratings.notes)
    assert not any("same item" in note for note in ratings.notes)


@pytest.mark.parametrize("first", ["b", None])
def test_labels_in_runs_get_the_codes_of_labels_one_by_one(first):
    """A long table in order is coded by its runs."""
    labels = pl.Series("rater", [first] * 40 + ["b"] * 35 + ["a", None] * 2 + [" "] * 30 + ["c"] * 50)
    expected, found = code(labels), code(labels, many=10)
    assert found.codes.tolist() == expected.codes.tolist()
    assert found.labels.to_list() == expected.labels.to_list() == ["a", "b", "c"]
