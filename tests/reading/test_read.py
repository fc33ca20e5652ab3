"""From a path or a dataframe to ratings."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyreadstat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raterlens.app.cli.main import main
from raterlens.base.errors import InputError, RaterlensError
from raterlens.base.text import Option, worded
from raterlens.config import ReadConfig
from raterlens.ratings.coded import Ratings
from raterlens.reading.assemble import RowCounts, assemble, dropped_notes, duplicated_rows
from raterlens.reading.columns import Roles, resolve_layout
from raterlens.reading.formats.table import table_of
from raterlens.reading.read import read, read_rater_table
from raterlens.reading.read_plan import Finding, ReadPlan, UncertainError
from tests.support.reading_tables import LONG, WIDE, assert_same, by_rows

# -- From a path or a dataframe to ratings --

WRITING = Path(__file__).parents[3] / "shared" / "data" / "writing.csv"


def as_csv(frame: pl.DataFrame, separator: str = ",") -> str:
    return frame.write_csv(separator=separator)


# How each source is made from a polars frame: (file name, write) for files, or a function for dataframes.
FILES = {
    "csv": ("x.csv", lambda f: as_csv(f).encode()),
    "csv with BOM": ("x.csv", lambda f: b"\xef\xbb\xbf" + as_csv(f).encode()),
    "csv, Windows lines": ("x.csv", lambda f: as_csv(f).replace("\n", "\r\n").encode()),
    "csv, old Mac lines": ("x.csv", lambda f: as_csv(f).replace("\n", "\r").encode()),
    "csv, no last newline": ("x.CSV", lambda f: as_csv(f).rstrip("\n").encode()),
    "csv, blank lines": ("x.csv", lambda f: ("\n" + as_csv(f).replace("\n", "\n\n")).encode()),
    "csv, blanks in header": (
        "x.csv",
        lambda f: as_csv(f).replace(f.columns[1], f" {f.columns[1]} ", 1).encode(),
    ),
    "semicolon": ("x.csv", lambda f: as_csv(f, ";").encode()),
    "bar": ("x.csv", lambda f: as_csv(f, "|").encode()),
    "tsv": ("x.tsv", lambda f: as_csv(f, "\t").encode()),
    "tab in txt": ("x.txt", lambda f: as_csv(f, "\t").encode()),
    "all quoted": ("x.csv", lambda f: f.write_csv(quote_style="always").encode()),
}
FRAMES = {
    "polars": lambda f: f,
    "polars lazy": lambda f: f.lazy(),
    "pandas": lambda f: f.to_pandas(),
    "pandas object": lambda f: f.to_pandas().astype(object),
    "pandas category": lambda f: f.to_pandas().astype({f.columns[1]: "category"}),
    "pandas integer ids": lambda f: f.to_pandas().astype({f.columns[0]: int}),
    "pyarrow": lambda f: f.to_arrow(),
    "pyarrow dictionary": lambda f: f.with_columns(pl.col(f.columns[1]).cast(pl.Categorical)).to_arrow(),
}
SHAPES = {
    "long": (
        LONG,
        {"student": "student", "rater": "rater", "item": "item", "score": "score", "duplicates": "keep"},
    ),
    "wide": (WIDE, {"student": "pid", "rater": "judge", "items": ["style", "plot"], "cut": 3}),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", FILES)
def test_every_text_table_gives_the_same_ratings(kind: str, shape: str, tmp_path: Path) -> None:
    frame, arguments = SHAPES[shape]
    name, write = FILES[kind]
    (tmp_path / name).write_bytes(write(frame))
    for source in (tmp_path / name, str(tmp_path / name)):
        ratings = read(source, **arguments)
        assert_same(ratings, read(frame, **arguments))
        assert ratings.backend == "polars"


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", FRAMES)
def test_every_dataframe_gives_the_same_ratings(kind: str, shape: str) -> None:
    frame, arguments = SHAPES[shape]
    ratings = read(FRAMES[kind](frame), **arguments)
    assert_same(ratings, read(frame, **arguments))
    assert ratings.backend == kind.split()[0]


@pytest.mark.parametrize("shape", SHAPES)
def test_parquet_gives_the_same_ratings(shape: str, tmp_path: Path) -> None:
    frame, arguments = SHAPES[shape]
    frame.write_parquet(tmp_path / "x [1].parquet")
    assert_same(read(tmp_path / "x [1].parquet", **arguments), read(frame, **arguments))


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8-sig", "latin-1"])
def test_other_encodings(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(as_csv(LONG).encode(encoding))
    assert_same(read(tmp_path / "x.csv", encoding=encoding, duplicates="keep"), read(LONG, duplicates="keep"))


def test_what_is_read_is_what_was_written() -> None:
    assert by_rows(read(LONG)) == sorted(LONG.rows())
    assert by_rows(read(WIDE, items=["style", "plot"], cut=3)) == [
        ("10", "AM", "plot", 0),
        ("10", "AM", "style", 1),
        ("11", "AM", "plot", 1),
        ("11", "AM", "style", 0),
        ("9", "AM", "plot", 0),
        ("9", "Zoë", "plot", 1),
        ("9", "Zoë", "style", 0),
    ]


def test_long_and_wide_are_the_same_ratings() -> None:
    long = WIDE.unpivot(["style", "plot"], index=["pid", "judge"], variable_name="item", value_name="score")
    assert by_rows(read(long, cut=3)) == by_rows(read(WIDE, items=["style", "plot"], cut=3))


@settings(deadline=None, max_examples=60)
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(["1", "2", "10", "007", "x"]),
            st.sampled_from(["AM", "am", "BE", "", "10", "9"]),
            st.sampled_from(["a", "b", None]),
            st.sampled_from([0, 1, 2, None]),
        ),
        max_size=30,
    ),
    shuffled=st.randoms(use_true_random=False),
)
def test_the_order_of_rows_never_matters(rows: list[tuple], shuffled) -> None:
    certain = [("1", "AM", "a", 0), ("2", "BE", "b", 1)]
    schema = {"student": pl.String, "rater": pl.String, "item": pl.String, "score": pl.Int64}
    table = pl.DataFrame(certain + rows, schema=schema, orient="row").with_row_index("entry")
    roles = {role: role for role in ("student", "rater", "item", "score")}
    one = read(table, **roles, as_written=True, duplicates="keep")
    order = list(range(len(rows) + 2))
    shuffled.shuffle(order)
    other = read(table[order], **roles, as_written=True, duplicates="keep")
    for name in ("students", "raters", "items"):
        assert getattr(one, name).to_list() == getattr(other, name).to_list()
    codes = [np.column_stack([r.student, r.rater, r.item, r.score]) for r in (one, other)]
    assert sorted(map(tuple, codes[0])) == sorted(map(tuple, codes[1]))
    assert one.notes == other.notes
    assert by_rows(one) == sorted(row for row in certain + rows if row[1] and row[2] and row[3] is not None)


def test_importing_brings_no_other_dataframe_library() -> None:
    code = (
        "import sys, raterlens.reading.read; print(*({'pandas', 'pyarrow', 'narwhals'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.skipif(not WRITING.exists(), reason="../shared/data/writing.csv is not on this machine")
def test_the_writing_data() -> None:
    ratings = read(
        WRITING, student="pid", rater=["rater", "topic"], items=["spe", "coh", "str", "gra", "con"], cut=3
    )
    assert (ratings.n_students, ratings.n_raters, ratings.n_items, ratings.n_ratings) == (363, 16, 5, 7260)
    assert ratings.raters[0] == "AM:Family"
    (note,) = ratings.notes
    assert note.startswith("381 rows with the student, rater and item of an earlier one (the first: line 4, ")
    assert "kept as repeated ratings" in note


def test_a_line_of_totals_is_no_rating():
    table = pl.DataFrame(
        {
            "student": ["a", "b", "a", "b", "Total"],
            "rater": ["R", "R", "S", "S", None],
            "score": [1, 0, 0, 1, 482],
        }
    )
    ratings = read(table)
    assert ratings.n_ratings == 4
    assert any(
        note.startswith("row 5 looks like a total (student 'Total'): left out") for note in ratings.notes
    )


def test_messages_quote_the_beginning_of_a_value_of_megabytes(tmp_path: Path) -> None:
    long = "x" * 2_000_000
    lines = ["student,rater,score", f"1,{long},0", "1,b,1", f"2,{long.upper()},1", "2,b,0"]
    (tmp_path / "x.csv").write_text("\n".join(lines))
    assert all(len(note) < 1000 for note in read(tmp_path / "x.csv").notes)
    (tmp_path / "x.csv").write_text("\n".join([*lines, f"3,b,{long}"]))
    with pytest.raises(
        RaterlensError, match=r"^score 'x{80}…' \(2,000,000 characters\) in column 'score', line 6, is"
    ):
        read(tmp_path / "x.csv")


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
def test_labels_stay_text_and_numbers_are_numbers(ending: str, tmp_path: Path) -> None:
    table = pl.DataFrame(
        {"rater": ["007", "12"], "years": [1.5, None], "trained": [1, 0], "team": ["a", "b"]}
    )
    path = tmp_path / f"raters.{ending}"
    getattr(table, {"csv": "write_csv", "parquet": "write_parquet", "xlsx": "write_excel"}[ending])(path)
    found = read_rater_table(path)
    assert found.equals(read_rater_table(table.to_pandas()))
    assert found["rater"].to_list() == ["007", "12"]
    assert found["years"].to_list() == [1.5, None]
    assert found["trained"].to_list() == [1.0, 0.0]
    assert found["team"].to_list() == ["a", "b"]


# -- Findings as notes and as questions --

SURE = Finding("4 sheets", "read together", (Option("table", "*"),))
ASKED = Finding(
    "marks from 0 to 100", "put into bands", (Option("bands", "50"),), Option("cut", 60), certain=False
)


def test_what_is_certain_is_noted_and_asks_nothing() -> None:
    plan = ReadPlan.of(ReadConfig()).add([SURE])
    plan.raise_questions()
    assert plan.config == ReadConfig(table="*")
    assert [finding.note for finding in plan.findings] == ["4 sheets: read together"]


def test_a_question_is_refused_with_an_answer_that_says_everything() -> None:
    plan = ReadPlan.of(ReadConfig(student="name")).add([SURE, ASKED])
    with pytest.raises(UncertainError) as caught:
        plan.raise_questions()
    error = caught.value
    assert str(error) == (
        "marks from 0 to 100; proposal: put into bands; accept it with bands='50', "
        "or choose otherwise, for example cut=60"
    )
    assert error.proposal is not None
    assert error.proposal.config == ReadConfig(student="name", table="*", bands="50")
    assert error.proposal.questions == (ASKED,)
    assert error.option == "bands"
    assert str(pickle.loads(pickle.dumps(error))) == str(error), "it may come from another process"


def test_notes_are_worded_for_each_surface() -> None:
    assert worded(ASKED.note, lambda option: f"--{option.name} {option.value}") == (
        "marks from 0 to 100: put into bands (otherwise: --cut 60)"
    )


# -- Ratings put together from columns --


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


# -- Several ratings of a student by the same rater on the same item --

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
