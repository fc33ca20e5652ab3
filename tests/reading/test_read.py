"""From a path or a dataframe to ratings."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raterlens.base.errors import RaterlensError
from raterlens.reading.read import read, read_rater_table
from tests.support.reading_tables import LONG, WIDE, assert_same, by_rows

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
    one = read(table, as_written=True, duplicates="keep")
    order = list(range(len(rows) + 2))
    shuffled.shuffle(order)
    other = read(table[order], as_written=True, duplicates="keep")
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
