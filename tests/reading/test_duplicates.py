"""Several ratings of a student by the same rater on the same item: told, asked about, or kept as meant."""

import numpy as np
import polars as pl
import pytest

from raterlens.app.cli.main import main
from raterlens.base.errors import InputError
from raterlens.reading.assemble import duplicated_rows
from raterlens.reading.read import read
from raterlens.reading.read_plan import UncertainError

TABLE = pl.DataFrame(
    {
        "student": ["s1", "s1", "s2", "s2", "s3", None, None],
        "rater": ["Ann", "Bob", "Ann", "Bob", "Ann", "Ann", "Ann"],
        "item": ["plot", "plot", "plot", "plot", "plot", "plot", "plot"],
        "score": [0, 3, 2, 1, 1, 1, 1],
        "date": ["May 4", "May 4", "May 4", "May 5", "May 5", "May 5", "May 5"],
    }
)


def about(table: pl.DataFrame, **arguments: object) -> list[str]:
    return [note for note in read(table, **arguments).notes if "of an earlier one" in note]


def again(table: pl.DataFrame, *rows: int) -> pl.DataFrame:
    return pl.concat([table, *(table[row] for row in rows)])


def many(n: int = 30) -> pl.DataFrame:
    """Two raters each of n students."""
    students = [f"s{k // 2:02}" for k in range(2 * n)]
    return pl.DataFrame(
        {"student": students, "rater": ["Ann", "Bob"] * n, "score": [k * 7 % 5 for k in range(2 * n)]}
    )


def test_a_program_is_told_of_repeats_and_keeps_them():
    (note,) = about(again(many(), 2))
    assert note.startswith(
        "1 row with the student, rater and item of an earlier one (the first: row 61, which repeats row 3)"
    )
    assert "1 with the same score: all kept" in note
    assert read(again(many(), 2)).n_ratings == 61
    assert read(again(many(), 2), duplicates="first").n_ratings == 60


def test_copies_in_a_file_are_a_question_whose_answer_leaves_them_out(tmp_path):
    again(many(), 2, 5).write_csv(tmp_path / "r.csv")
    with pytest.raises(
        UncertainError, match=r"2 rows with .*line 62, which repeats line 4.*2 with the same score"
    ) as caught:
        read(tmp_path / "r.csv")
    assert read(tmp_path / "r.csv", **caught.value.proposal.config.given()).n_ratings == 60
    assert read(tmp_path / "r.csv", duplicates="keep").n_ratings == 62
    with pytest.raises(InputError, match="2 rows with"):
        read(tmp_path / "r.csv", duplicates="refuse")


def test_conflicting_copies_are_counted_apart_and_kept_unless_told_otherwise(tmp_path):
    other = many()[[2, 5]].with_columns(score=(pl.col("score") + 1) % 5)
    pl.concat([many(), other, many()[7]]).write_csv(tmp_path / "r.csv")
    with pytest.raises(
        UncertainError, match="1 with the same score, 2 with another; proposal: all kept"
    ) as caught:
        read(tmp_path / "r.csv")
    assert caught.value.proposal.config.duplicates == "keep"
    first = read(tmp_path / "r.csv", duplicates="first")
    assert first.table().sort("student", "rater")["score"].to_list() == many()["score"].to_list()


@pytest.mark.parametrize("column", ["date", "topic", "session"])
def test_repeats_that_an_occasion_tells_apart_are_meant(column, tmp_path):
    table = many().with_columns(pl.lit("first").alias(column))
    later = table[[2, 5]].with_columns(pl.lit("second").alias(column))
    pl.concat([table, later]).write_csv(tmp_path / "r.csv")
    assert read(tmp_path / "r.csv").n_ratings == 62


def test_even_repeats_are_draws_in_the_order_of_the_rows(tmp_path):
    pl.concat([many()] * 3).write_csv(tmp_path / "r.csv")
    ratings = read(tmp_path / "r.csv")
    assert ratings.n_ratings == 180
    assert any("read as draws" in note for note in ratings.notes)
    assert ratings.table()["draw"].to_list() == [1] * 60 + [2] * 60 + [3] * 60


def test_repeats_of_one_rater_alone_are_draws():
    ann = many().filter(rater="Ann")
    ratings = read(pl.concat([many(), ann, ann]))
    per_rater = ratings.table().group_by("rater").agg(pl.col("draw").max()).sort("rater")
    assert per_rater["draw"].to_list() == [3, 1]


@pytest.mark.parametrize("told", [{}, {"topic": ["A", "B"]}, {"script": ["A", "B"]}])
def test_other_work_of_the_same_student_is_no_draw(told):
    """Repeats that are uneven, or that a topic or a piece of work which several raters saw tells apart."""
    some = many() if told else many()[:20]
    once, again = ({name: pl.lit(values[which]) for name, values in told.items()} for which in (0, 1))
    table = pl.concat([many().with_columns(**once), some.with_columns(**again)])
    ratings = read(table, student="student")
    assert ratings.draw is None
    assert any("kept as repeated ratings" in note for note in ratings.notes)


def test_the_text_of_a_judge_does_not_make_its_draws_pieces_of_work():
    table = pl.concat([many().with_columns(draft=pl.lit(k)) for k in range(3)])
    texts = [f"verdict {n}" for n in range(table.height)]
    ratings = read(table.drop("draft").with_columns(response=pl.Series(texts)), student="student")
    assert ratings.draw is not None


def test_a_column_of_draws_is_carried_and_no_facet():
    table = pl.concat([many().with_columns(epoch=pl.lit(k)) for k in (1, 2)])
    for ratings in (read(table), read(table.rename({"epoch": "e"}), draw="e")):
        assert ratings.facets == ()
        assert ratings.draw is not None
        assert ratings.draw.labels.to_list() == [1, 2]
        assert ratings.subset(slice(0, 60)).draw.labels.to_list() == [1]


def test_groups_are_one_per_student_and_carried_by_student():
    table = many(4).with_columns(school=pl.Series([10, 10, 20, 20, 10, 10, 30, 30]))
    ratings = read(table, group="school")
    assert ratings.facets == ()
    assert ratings.group.labels.to_list() == [10, 20, 30]
    assert ratings.student_groups.tolist() == [0, 1, 0, 2]
    assert ratings.subset(ratings.student > 0).student_groups.tolist() == [1, 0, 2]
    torn = table.with_columns(school=pl.Series([10, 10, 20, 30, 10, 10, 30, 30]))
    with pytest.raises(
        InputError, match="student 's01' is in group 20 at row 3, but in 30 at row 4"
    ) as caught:
        read(torn, group="school")
    assert caught.value.option == "group"


def test_rows_without_a_label_or_a_score_are_no_repeats():
    unscored = TABLE.with_columns(score=pl.when(pl.col("student") != "s2").then("score"))
    assert about(again(unscored, 2, 5)) == []


@pytest.mark.parametrize("row", [None, 0, 17, 39])
@pytest.mark.parametrize("in_order", [True, False])
def test_a_table_in_order_is_searched_by_stretches(row, in_order):
    """Stretches are of whole students: a copy may be the last of its student."""
    rows = np.column_stack([np.repeat(np.arange(10), 4), np.tile(np.arange(4), 10)])
    if row is not None:
        rows = np.vstack([rows, rows[row]])
    rows = rows[np.argsort(rows[:, 0], kind="stable")] if in_order else rows[::-1]
    pairs = list(map(tuple, rows.tolist()))
    expected = [pairs.count(pair) > 1 for pair in pairs]
    assert duplicated_rows([rows[:, 0], rows[:, 1]], block=7).tolist() == expected


def test_a_rating_that_the_file_itself_counts_several_times(tmp_path):
    control = tmp_path / "panel.facets"
    control.write_text(
        "Facets = 2\nPositive = 1\nInter-rater = 2\nModels = ?,?,D\n*\n"
        "Labels =\n1, Student\n1 = s1\n2 = s2\n*\n2, Rater\n1 = Ann\n2 = Bob\n*\n"
        "Data =\nR3,1,1,0\n1,2,1\n2,1,1\n2,2,0\n"
    )
    ratings = read(control)
    assert ratings.n_ratings == 6
    assert not any("of an earlier one" in note for note in ratings.notes)


def test_the_command_asks(tmp_path, capsys):
    path = tmp_path / "ratings.csv"
    again(many(), 2).write_csv(path)
    assert main(["check", str(path)]) == 2
    shown = " ".join(capsys.readouterr().out.split())
    assert "copies left out (otherwise: --duplicates keep)" in shown
    assert "--duplicates first" in shown
