"""Totals are nobody's scores."""

import polars as pl

from raterlens.reading.levels import code
from raterlens.reading.proposals.total_rows import total_rows
from raterlens.reading.reader import read


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
