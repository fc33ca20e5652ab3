"""Labels to codes, spellings of the same label, rows of totals."""

import datetime as dt
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from raterlens.reading.labels import code, merge_spellings, total_rows
from raterlens.reading.read import read
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


@pytest.mark.parametrize(
    "labels",
    [
        pl.Series([30, -12, 5, 5, 30, 7] * 9, dtype=pl.Int16),
        pl.Series([-128, 127, 0] * 90, dtype=pl.Int8),
        pl.Series([2**64 - 1, 2**64 - 2] * 20, dtype=pl.UInt64),
        pl.Series([2**62, 2**62 + 3] * 20),
        pl.Series([1, None, 2] * 20),
        pl.Series(["10", "9", "010", "9"] * 10, dtype=pl.Categorical),
        pl.Series(["b", " ", "a", "b"] * 10, dtype=pl.Categorical),
        pl.Series(["b", "a", "b"] * 10, dtype=pl.Enum(["c", "b", "a"])),
    ],
    ids=str,
)
def test_numbers_get_the_codes_of_other_labels(labels):
    """A table of all numbers between the lowest and the highest, where it is small."""
    expected = code(labels)
    found = code(labels, many=10, block=7)
    assert found.codes.tolist() == expected.codes.tolist()
    assert found.labels.to_list() == expected.labels.to_list()
    assert found.labels.dtype == expected.labels.dtype


def test_blanks_and_case_make_no_difference_and_the_usual_spelling_stays() -> None:
    levels, (finding,) = merge_spellings(
        code(pl.Series(["Anna", "anna", "Anna ", "Anna", "Bob", None])), "rater", lambda row: f"row {row + 1}"
    )
    assert levels.labels.to_list() == ["Anna", "Bob"]
    assert levels.codes.tolist() == [0, 0, 0, 0, 1, -1]
    assert finding.note == (
        "'Anna' and 'Anna ' and 'anna' look like the same rater, first at row 2: taken for one "
        "(otherwise: as_written=True)"
    )


@pytest.mark.parametrize("labels", [["aB3x", "Ab3x"], ["007", "7"], ["Anna", "Ana"], ["a", "b"]])
def test_labels_that_differ_stay_apart(labels: list[str]) -> None:
    levels, found = merge_spellings(code(pl.Series(labels)), "student", None)
    assert (len(levels.labels), found) == (2, [])


def test_read_as_written_or_as_one() -> None:
    frame = pl.DataFrame({"student": ["s", "t", "S "], "rater": ["AM", "am ", "BE"], "score": [0, 1, 1]})
    assert read(frame).raters.to_list() == ["AM", "BE"]
    assert read(frame, as_written=True).raters.to_list() == ["AM", "BE", "am "]


def test_rows_of_totals_by_their_labels() -> None:
    levels = {"student": code(pl.Series(["a", "Total", "b", "Average", "Max"]))}
    rows, (finding,) = total_rows(levels, lambda row: f"row {row + 1}")
    assert rows is not None
    assert rows.tolist() == [False, True, False, True, False]
    assert finding.note == (
        "2 rows, the first row 2, look like a total (student 'Average', 'Total'): left out (otherwise: as_written=True)"
    )


def test_numbers_are_no_totals_and_all_totals_are_none() -> None:
    assert total_rows({"student": code(pl.Series([1, 2]))}, str)[0] is None
    assert total_rows({"item": code(pl.Series(["Total", "Total"]))}, str)[0] is None


def test_as_written_they_stay() -> None:
    frame = pl.DataFrame({"student": ["a", "b", "Total"], "rater": ["x", "y", "x"], "score": [1, 0, 1]})
    assert read(frame).n_ratings == 2
    assert read(frame, as_written=True).n_ratings == 3


@pytest.mark.parametrize(
    "kind", [pl.Int8, pl.Int16, pl.Int32, pl.UInt32, pl.Int64, pl.UInt64, pl.Categorical]
)
def test_a_long_column_in_chunks_is_coded_as_a_short_one(kind):
    signed = kind in (pl.Int8, pl.Int16, pl.Int32)
    numbers = np.random.default_rng(0).integers(-128 if signed else 2, 128, size=900)
    column = pl.Series("student", numbers)
    column = column.cast(pl.String).cast(kind) if kind == pl.Categorical else column.cast(kind)
    chunks = pl.concat([column[:300], column[300:450], column[450:]], rechunk=False)
    short, long = code(column), code(chunks, many=10, block=64)
    np.testing.assert_array_equal(long.codes, short.codes)
    assert long.labels.to_list() == short.labels.to_list()
    assert long.labels.dtype == kind
