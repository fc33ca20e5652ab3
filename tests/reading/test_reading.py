"""Reading: the same ratings from every format, labels as written, nothing dropped in silence."""

import datetime as dt
import subprocess
import sys
import uuid
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raterlens.ratings import Ratings
from raterlens.reading import read

WRITING = Path(__file__).parents[3] / "shared" / "data" / "writing.csv"

LONG = pl.DataFrame(
    {
        "student": ["10", "10", "9", "9", "9", "11", "11", "11", "10"],
        "rater": ["Zoë", "AM", "AM", "Zoë", "AM", "AM", "Zoë", "BE, Ms", "AM"],
        "item": ["style", "style", "style", "plot", "plot", "plot", "style", "plot", "style"],
        "score": [1, 0, 1, 0, 1, 1, 0, 0, 1],
    }
)
WIDE = pl.DataFrame(
    {
        "pid": ["10", "9", "11", "9"],
        "judge": ["AM", "Zoë", "AM", "AM"],
        "style": [3, 0, 2, None],
        "plot": [1, 3, 3, 2],
    }
)


def by_rows(ratings: Ratings) -> list[tuple[str, str, str, int]]:
    """Ratings as the user would write them, in a fixed order."""
    labels = zip(
        ratings.students.cast(pl.String).gather(ratings.student),
        ratings.raters.cast(pl.String).gather(ratings.rater),
        ratings.items.cast(pl.String).gather(ratings.item),
        ratings.score.tolist(),
        strict=True,
    )
    return sorted(labels)


def assert_same(one: Ratings, other: Ratings) -> None:
    for name in ("student", "rater", "item", "score"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for name in ("students", "raters", "items"):
        assert getattr(one, name).cast(pl.String).to_list() == getattr(other, name).cast(pl.String).to_list()


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
    "long": (LONG, {"student": "student", "rater": "rater", "item": "item", "score": "score"}),
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
    assert_same(read(tmp_path / "x.csv", encoding=encoding), read(LONG))


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
    one = read(pl.DataFrame(certain + rows, schema=schema, orient="row"))
    order = list(range(len(rows) + 2))
    shuffled.shuffle(order)
    other = read(pl.DataFrame([(certain + rows)[i] for i in order], schema=schema, orient="row"))
    for name in ("students", "raters", "items"):
        assert getattr(one, name).to_list() == getattr(other, name).to_list()
    codes = [np.column_stack([r.student, r.rater, r.item, r.score]) for r in (one, other)]
    assert sorted(map(tuple, codes[0])) == sorted(map(tuple, codes[1]))
    assert one.notes == other.notes
    assert by_rows(one) == sorted(row for row in certain + rows if row[1] and row[2] and row[3] is not None)


# Labels


@pytest.mark.parametrize(
    "students",
    [
        ["007", "7", "08"],
        ["1.0", "1", "1e3"],
        ["123456789012345678901234567890", "1"],
        [" 7", "7"],
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


def test_mixed_types_in_a_pandas_column_become_text_and_are_noted() -> None:
    frame = pd.DataFrame(
        {"student": [1, 2, 3], "rater": pd.Series([1, "1", "2"], dtype=object), "score": [0, 1, 1]}
    )
    ratings = read(frame)
    assert ratings.raters.to_list() == ["1", "2"]
    assert "column 'rater' holds values of type int and str: taken as text" in ratings.notes


def test_integers_that_pandas_made_floats_are_integers_again() -> None:
    ratings = read(pd.DataFrame({"student": [7, None, 8], "rater": [1, 2, 1], "score": [0, 1, 1]}))
    assert ratings.students.to_list() == [7, 8]
    assert ratings.students.dtype == pl.Int64
    assert "1 of 3 rows left out: no student or rater label" in ratings.notes


def test_pandas_text_is_read_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_pyarrow(*_: object) -> None:
        raise ModuleNotFoundError("pyarrow")

    frame = LONG.to_pandas()
    monkeypatch.setattr("narwhals.Series.to_polars", no_pyarrow)
    assert_same(read(frame), read(LONG))


def test_column_names_need_not_be_text() -> None:
    frame = pd.DataFrame([[1, 5, 0], [2, 5, 1]])
    assert read(frame, student="0", rater="1", score="2").students.to_list() == [1, 2]
    assert read(frame, student=0, rater=1, items=[2]).students.to_list() == [1, 2]  # type: ignore[arg-type, list-item]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([uuid.UUID(int=1), uuid.UUID(int=2)], [str(uuid.UUID(int=1)), str(uuid.UUID(int=2))]),
        (pd.period_range("2026-01", periods=2, freq="M"), ["2026-01", "2026-02"]),
        ([(1, 2), (1, 3)], ["(1, 2)", "(1, 3)"]),
    ],
)
def test_labels_that_no_column_type_fits_become_text_and_are_noted(values: object, text: list[str]) -> None:
    ratings = read(pd.DataFrame({"student": values, "rater": ["a", "b"], "score": [0, 1]}))
    assert ratings.students.to_list() == text
    assert any(note.endswith("taken as text") for note in ratings.notes)


def test_durations_and_lists_in_parquet_become_text(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"student": [[1], [2]], "rater": [dt.timedelta(1), dt.timedelta(2)], "score": [0, 1]}
    )
    frame.write_parquet(tmp_path / "x.parquet")
    ratings = read(tmp_path / "x.parquet")
    assert ratings.students.to_list() == ["[1]", "[2]"]
    assert ratings.raters.to_list() == ["1 day, 0:00:00", "2 days, 0:00:00"]


# Columns


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
    ratings = read(LONG.rename(names).with_columns(comment=pl.lit("")))
    assert_same(ratings, read(LONG))
    assert ratings.notes == tuple(f"{role} column: {name!r} (recognised)" for role, name in names.items())


def test_a_usual_name_goes_before_a_less_usual_one() -> None:
    notes = read(LONG.with_columns(response=pl.lit("an essay"), grade=pl.lit("B"))).notes
    assert "student column: 'student' (recognised)" in notes
    assert "score column: 'score' (recognised)" in notes


def test_columns_given_are_not_noted_nor_recognised_for_another_role() -> None:
    frame = LONG.rename({"item": "task"})
    ratings = read(frame, student="student", rater=["rater", "task"], score="score")
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


# Scores


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([True, False, None], [1, 0]),
        ([1.0, 0.0, float("nan")], [1, 0]),
        (["1", " 0 ", ""], [1, 0]),
        (["1.0", "+0", "NA"], [1, 0]),
        (["TRUE", "False", "null"], [1, 0]),
        (["0", "50", "."], [0, 50]),
        ([2, 1, None], [2, 1]),
    ],
)
def test_scores_that_are_whole_numbers(scores: list, expected: list[int]) -> None:
    ratings = read(pl.DataFrame({"student": [1, 2, 3], "rater": [1, 2, 1], "score": scores}))
    assert ratings.score.tolist() == expected
    assert ratings.notes[-1] == "1 of 3 ratings left out: no score"


@pytest.mark.parametrize(
    "missing", ["", "  ", "NA", "na", "N/A", "NaN", "nan", "null", "NULL", "None", ".", None]
)
def test_missing_scores_are_left_out_and_counted(missing: str | None) -> None:
    scores = pl.Series(["1", missing, "0", missing], dtype=pl.String)
    frame = pl.DataFrame({"student": [1, 2, 3, 4], "rater": ["a", "gone", "b", "a"], "score": scores})
    ratings = read(frame)
    assert ratings.score.tolist() == [1, 0]
    assert ratings.students.to_list() == [1, 3]
    assert ratings.raters.to_list() == ["a", "b"]
    assert ratings.rater.tolist() == [0, 1]
    assert "2 of 4 ratings left out: no score" in ratings.notes


@pytest.mark.parametrize("missing", ["", " \t", None])
def test_rows_without_a_label_are_left_out_and_counted_apart(missing: str | None) -> None:
    frame = pl.DataFrame(
        {"student": ["a", "b", missing, "c"], "rater": ["x", "y", "x", "NA"], "score": [1, 0, None, None]}
    )
    ratings = read(frame)
    assert ratings.students.to_list() == ["a", "b"]
    assert ratings.notes[-2:] == (
        "1 of 4 rows left out: no student or rater label",
        "1 of 4 ratings left out: no score",
    )


def test_a_rater_called_na_is_a_rater() -> None:
    assert read(
        pl.DataFrame({"student": [1, 2], "rater": ["NA", "."], "score": [0, 1]})
    ).raters.to_list() == [".", "NA"]


@pytest.mark.parametrize(
    "scores", [[3, 2.5, -1, None], ["3", "2.5", "-1", "NA"], [3.0, 2.9, -7.5, float("nan")]]
)
def test_cut_makes_pass_and_fail_and_keeps_missing_missing(scores: list) -> None:
    frame = pl.DataFrame(
        {"student": [1, 2, 3, 4], "rater": [1, 1, 2, 2], "score": pl.Series(scores, strict=False)}
    )
    ratings = read(frame, cut=3)
    assert ratings.score.tolist() == [1, 0, 0]
    assert ratings.n_categories == 2
    assert read(frame, cut=2.5).score.tolist() == [1, int(scores[1] in (2.5, "2.5", 2.9)), 0]


def test_repeated_ratings_are_kept() -> None:
    assert read(pl.concat([LONG, LONG])).n_ratings == 2 * len(LONG)


# Notes


def test_labels_that_look_alike_are_kept_and_noted() -> None:
    frame = pl.DataFrame({"student": ["s", "t", "S "], "rater": ["AM", "am ", "BE"], "score": [0, 1, 1]})
    ratings = read(frame)
    assert ratings.raters.to_list() == ["AM", "BE", "am "]
    assert any(note.startswith("'AM' and 'am ' look like the same rater;") for note in ratings.notes)
    assert any(note.startswith("'S ' and 's' look like the same student;") for note in ratings.notes)
    assert not any("same item" in note for note in ratings.notes)


def test_one_rater_is_read_with_a_note() -> None:
    notes = read(LONG.with_columns(rater=pl.lit("AM"))).notes
    assert notes[-1] == "one rater, 'AM': with no other to compare, capability is relative to itself"
    assert not any("one rater" in note for note in read(LONG).notes)


# Text tables that polars alone would refuse or misread


def test_quotes_and_line_breaks_inside_fields(tmp_path: Path) -> None:
    text = 'student,rater,score,remark\n1,"BE, Ms",0,"two\nlines"\n2,"say ""AM""",1,x\n'
    (tmp_path / "x.csv").write_text(text)
    assert read(tmp_path / "x.csv").raters.to_list() == ["BE, Ms", 'say "AM"']


def test_a_stray_quote_is_part_of_the_label(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text('student,rater,score\n1,O"Neill,0\n\n2,5" nail,1\n3,,1\n')
    ratings = read(tmp_path / "x.csv")
    assert ratings.raters.to_list() == ['5" nail', 'O"Neill']
    assert "1 of 3 rows left out: no student or rater label" in ratings.notes


def test_blank_lines_are_not_rows(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("student,rater,score\n1,a,0\n\n2,b,1\n,,\n\n")
    assert not any("left out" in note for note in read(tmp_path / "x.csv").notes)


def test_empty_column_names_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(",student,rater,score,,\n0,1,a,0,,\n1,2,b,1,,\n")
    assert read(tmp_path / "x.csv").n_ratings == 2


def test_importing_brings_no_other_dataframe_library() -> None:
    code = "import sys, raterlens.reading; print(*({'pandas', 'pyarrow', 'narwhals'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.skipif(not WRITING.exists(), reason="../shared/data/writing.csv is not on this machine")
def test_the_writing_data() -> None:
    ratings = read(
        WRITING, student="pid", rater=["rater", "topic"], items=["spe", "coh", "str", "gra", "con"], cut=3
    )
    assert (ratings.n_students, ratings.n_raters, ratings.n_items, ratings.n_ratings) == (363, 16, 5, 7260)
    assert ratings.raters[0] == "AM:Family"
    assert ratings.notes == ()


def test_pyarrow_strings_are_plain_text() -> None:
    table = pa.table({"student": ["1", "2"], "rater": ["a", "b"], "score": [0, 1]})
    assert read(table).students.dtype == pl.String


@pytest.mark.parametrize("first", ["b", None])
def test_labels_in_runs_get_the_codes_of_labels_one_by_one(monkeypatch, first):
    """A long table in order is coded by its runs."""
    from raterlens.reading import levels

    labels = pl.Series("rater", [first] * 40 + ["b"] * 35 + ["a", None] * 2 + [" "] * 30 + ["c"] * 50)
    expected = levels.code(labels)
    monkeypatch.setattr(levels, "_MANY", 10)
    found = levels.code(labels)
    assert found.codes.tolist() == expected.codes.tolist()
    assert found.labels.to_list() == expected.labels.to_list() == ["a", "b", "c"]
