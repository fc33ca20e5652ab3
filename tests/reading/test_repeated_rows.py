"""Rows that stand in a table twice are kept, counted and shown."""

import numpy as np
import polars as pl
import pytest

from raterlens.app.cli.main import main
from raterlens.reading.reader import read
from raterlens.reading.repeated_rows import rows_alike

TABLE = pl.DataFrame(
    {
        "student": ["s1", "s1", "s2", "s2", "s3", None, None],
        "rater": ["Ann", "Bob", "Ann", "Bob", "Ann", "Ann", "Ann"],
        "item": ["plot", "plot", "plot", "plot", "plot", "plot", "plot"],
        "score": [0, 3, 2, 1, 1, 1, 1],
        "date": ["May 4", "May 4", "May 4", "May 5", "May 5", "May 5", "May 5"],
    }
)
ADVICE = "All are kept, as a rating may be repeated on purpose; if it was by mistake, remove the copies"


def about_copies(table: pl.DataFrame, **arguments: object) -> list[str]:
    return [note for note in read(table, **arguments).notes if "cop" in note]


def again(table: pl.DataFrame, *rows: int) -> pl.DataFrame:
    return pl.concat([table, *(table[row] for row in rows)])


def test_a_copy_is_kept_and_shown():
    (note,) = about_copies(again(TABLE, 2))
    assert note.startswith(f"1 of 8 ratings is a copy: row 8 repeats row 3 in every column. {ADVICE}")
    assert read(again(TABLE, 2)).n_ratings == 6


@pytest.mark.parametrize("row", [None, 0, 17, 39])
@pytest.mark.parametrize("in_order", [True, False])
def test_a_table_in_order_is_searched_by_stretches(row, in_order):
    """Of whole students: a copy may be the last of its student, across what would be the end of a stretch."""
    rows = np.column_stack([np.repeat(np.arange(10), 4), np.tile(np.arange(4), 10)])
    if row is not None:
        rows = np.vstack([rows, rows[row]])
    rows = rows[np.argsort(rows[:, 0], kind="stable")] if in_order else rows[::-1]
    pairs = list(map(tuple, rows.tolist()))
    expected = [pairs.count(pair) > 1 for pair in pairs]
    assert rows_alike([rows[:, 0], rows[:, 1]], block=7).tolist() == expected


def test_every_copy_counts():
    (note,) = about_copies(again(TABLE, 1, 1, 3))
    assert note.startswith("3 of 10 ratings are copies: row 8 repeats row 2 ")


@pytest.mark.parametrize(
    "row",
    [
        {"date": "June 1"},  # rated again on another day, though nobody asked for the date
        {"score": 3},  # another score, though the same verdict after the cut
        {"rater": "Cid"},
        {"student": "s4"},
        {"item": "style"},
    ],
)
def test_a_row_that_differs_anywhere_is_no_copy(row):
    other = pl.DataFrame([TABLE.row(2, named=True) | row])
    assert about_copies(pl.concat([TABLE, other]), cut=2) == []


def test_rows_without_a_label_or_a_score_are_left_out_anyway():
    unscored = TABLE.with_columns(score=pl.when(pl.col("student") != "s2").then("score"))
    assert about_copies(again(unscored, 2, 5)) == []


def test_one_row_an_essay_is_a_copy_where_every_item_is_alike():
    essays = pl.DataFrame(
        {
            "student": [1, 2, 1, 1],
            "rater": ["Ann", "Bob", "Ann", "Ann"],
            "plot": [0, 1, 0, 0],
            "style": [1, None, 1, 0],
        }
    )
    (note,) = about_copies(essays, items=["plot", "style"])
    assert note.startswith("1 of 4 rows is a copy: row 3 repeats row 1 ")


def test_a_column_for_each_rater():
    marks = pl.DataFrame({"student": [1, 2, 1], "Mark Ann": [0, 1, 0], "Mark Bob": [1, 1, 1]})
    (note,) = about_copies(marks, student="student", wide="Mark {rater}")
    assert note.startswith(
        "2 of 6 ratings are copies: row 3, column 'Mark Ann' repeats row 1, column 'Mark Ann' "
    )


def test_a_rating_that_the_file_itself_counts_several_times(tmp_path):
    control = tmp_path / "panel.facets"
    control.write_text(
        "Facets = 2\nPositive = 1\nInter-rater = 2\nModels = ?,?,D\n*\n"
        "Labels =\n1, Student\n1 = s1\n2 = s2\n*\n2, Rater\n1 = Ann\n2 = Bob\n*\n"
        "Data =\nR3,1,1,0\n1,2,1\n2,1,1\n2,2,0\n"
    )
    ratings = read(control)
    assert ratings.n_ratings == 6
    assert not any("cop" in note for note in ratings.notes)


def test_the_commands_say_so(tmp_path, capsys):
    path = tmp_path / "ratings.csv"
    again(TABLE, 2).write_csv(path)
    main(["check", str(path), "--cut", "2"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "1 of 8 ratings is a copy: line 9 repeats line 4 in every column." in shown
