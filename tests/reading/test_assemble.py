"""Ratings put together from columns."""

from pathlib import Path

import pandas as pd
import polars as pl
import pyreadstat
import pytest

from raterlens.base.errors import InputError
from raterlens.config import ReadConfig
from raterlens.ratings.coded import Ratings
from raterlens.reading.assemble import RowCounts, assemble, dropped_notes
from raterlens.reading.columns import Roles, resolve_layout
from raterlens.reading.formats.table import table_of
from raterlens.reading.read import read
from raterlens.reading.read_plan import ReadPlan
from tests.support.reading_tables import LONG


def assembled(frame: pl.DataFrame, **options: object) -> Ratings:
    plan = ReadPlan.of(ReadConfig(**options))  # type: ignore[arg-type]
    return assemble(*resolve_layout(table_of("t", frame), plan))[0]


def test_incomplete_rows_are_left_out_and_counted() -> None:
    frame = pl.DataFrame(
        {
            "student": ["s", "t", None, "s", "u"],
            "rater": ["a", "a", "b", "b", "c"],
            "style": [1, 0, 1, None, None],
            "plot": [0, 2, 1, 1, None],
        }
    )
    ratings = assembled(frame, items=["style", "plot"])
    assert ratings.table().rows() == [
        ("s", "a", "style", 1),
        ("s", "a", "plot", 0),
        ("t", "a", "style", 0),
        ("t", "a", "plot", 2),
        ("s", "b", "plot", 1),
    ]
    # Rater c and student u have no rating.
    assert (ratings.students.to_list(), ratings.raters.to_list()) == (["s", "t"], ["a", "b"])
    assert "1 of 5 rows left out: no student or rater label" in ratings.notes
    assert "3 of 10 ratings left out: no score" in ratings.notes


def test_counts_add_up() -> None:
    assert RowCounts(4, 3, 8, 7, 5) + RowCounts(1, 1, 2, 2, 2) == RowCounts(5, 4, 10, 9, 7)


def test_nothing_of_use() -> None:
    roles = Roles(("student",), ("rater",), (), ("score",), (), False, ())
    with pytest.raises(InputError, match="all 3 scores in 'score' are missing") as refused:
        dropped_notes(roles, RowCounts(rows=3, labelled=3, scores=3, scored=0, kept=0))
    assert refused.value.option == "score"
    with pytest.raises(InputError, match="none of the 3 rows has a score and a label"):
        dropped_notes(roles, RowCounts(rows=3, labelled=1, scores=3, scored=2, kept=0))


def test_a_table_without_rows() -> None:
    with pytest.raises(InputError, match=r"t has a header \('student', 'rater', 'score'\) but no rows"):
        assembled(pl.DataFrame(schema=["student", "rater", "score"]))


def test_one_rater_is_read_with_a_note() -> None:
    notes = assembled(LONG.with_columns(rater=pl.lit("AM"))).notes
    assert notes[-1] == "one rater, 'AM': with no other to compare, capability is relative to itself"
    assert not any("one rater" in note for note in assembled(LONG).notes)


def test_value_labels_name_people_and_scores_stay_numbers(tmp_path: Path) -> None:
    frame = pd.DataFrame({"student": [1.0, 2, 3], "rater": [1.0, 2, 7], "score": [0.0, 1, 9]})
    words = {"rater": {1: "Ann", 2: "Bob"}, "score": {0: "fail", 1: "pass", 9: "absent"}}
    pyreadstat.write_sav(
        frame, tmp_path / "x.sav", variable_value_labels=words, missing_ranges={"score": [9]}
    )
    ratings = read(tmp_path / "x.sav")
    assert ratings.raters.to_list() == ["Ann", "Bob"]
    assert ratings.students.to_list() == [1, 2]
    assert ratings.score.tolist() == [0, 1]
    assert "1 of 3 ratings left out: no score" in ratings.notes
    assert "column 'rater': value labels of the file are used ('1 = Ann', '2 = Bob')" in ratings.notes

    pyreadstat.write_dta(frame.replace(9, 2), tmp_path / "x.dta", variable_value_labels=words)
    assert read(tmp_path / "x.dta").raters.to_list() == ["7", "Ann", "Bob"]


def test_two_people_with_the_same_label_stay_two(tmp_path: Path) -> None:
    frame = pd.DataFrame({"student": [1.0, 2, 3], "rater": [1.0, 2, 3], "score": [0.0, 1, 1]})
    pyreadstat.write_sav(
        frame, tmp_path / "x.sav", variable_value_labels={"rater": {1: "Ann", 2: "Ann", 3: "Bob"}}
    )
    assert read(tmp_path / "x.sav").raters.to_list() == ["Ann (1)", "Ann (2)", "Bob"]
