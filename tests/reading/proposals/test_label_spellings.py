"""Spellings of one label."""

import polars as pl
import pytest

from raterlens.reading.levels import code
from raterlens.reading.proposals.label_spellings import merged
from raterlens.reading.reader import read


def test_blanks_and_case_make_no_difference_and_the_usual_spelling_stays() -> None:
    levels, (finding,) = merged(
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
    levels, found = merged(code(pl.Series(labels)), "student", None)
    assert (len(levels.labels), found) == (2, [])


def test_read_as_written_or_as_one() -> None:
    frame = pl.DataFrame({"student": ["s", "t", "S "], "rater": ["AM", "am ", "BE"], "score": [0, 1, 1]})
    assert read(frame).raters.to_list() == ["AM", "BE"]
    assert read(frame, as_written=True).raters.to_list() == ["AM", "BE", "am "]
