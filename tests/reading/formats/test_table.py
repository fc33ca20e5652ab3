"""Tables that are open, and dataframes."""

import datetime as dt
import uuid
from decimal import Decimal
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from raterlens.base.errors import InputError, OptionError
from raterlens.config import ReadConfig
from raterlens.reading.formats.table import (
    Table,
    choice,
    is_plain,
    rows_of,
    series_of,
    suffix_of,
    table_of,
)
from raterlens.reading.read import read
from tests.support.reading_tables import LONG, assert_same


def test_rows_of_other_types_are_text_and_noted() -> None:
    rows = rows_of([pl.Series("a", [1, 2]), pl.Series("b", [[1], None])])
    assert rows.frame.rows() == [(1, "[1]"), (2, None)]
    assert rows.notes == ("column 'b' holds values of type list: taken as text",)
    assert rows.place(1_233) == "row 1,234"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2], True),
        (["a"], True),
        ([dt.date(2026, 1, 1)], True),
        ([dt.timedelta(1)], False),
        ([[1]], False),
    ],
)
def test_plain_types(values: list, expected: bool) -> None:
    assert is_plain(pl.Series(values).dtype) is expected


def test_values_of_several_types_stay_what_they_are() -> None:
    assert series_of("x", [1, None]).dtype == pl.Int64
    mixed = series_of("x", [1, "a"])
    assert mixed.dtype == pl.Object
    assert mixed.to_list() == [1, "a"]


def test_a_table_takes_the_columns_asked_for() -> None:
    table = table_of("t", pl.DataFrame({"a": [1], "b": [2], "c": [3]}))
    assert table.columns == ("a", "b", "c")
    assert table.take(["c", "a"]).frame.rows() == [(3, 1)]
    with pytest.raises(InputError, match="t has more than one column named 'a'; give each column a name"):
        Table("t", ("a", "b", "a"), table.take)


def test_one_name_of_several() -> None:
    assert choice("sheet", None, ["June"], "x.xlsx") == "June"
    with pytest.raises(InputError, match=r"'x.db' has no table in it"):
        choice("table", None, [], "x.db")
    with pytest.raises(InputError, match="2 tables: 'a', 'b'; say which, for example table='a'") as several:
        choice("table", None, ["a", "b"], "x.db")
    with pytest.raises(OptionError, match=r"unknown table in 'x.db' 'aa'") as unknown:
        choice("table", "aa", ["a", "b"], "x.db")
    assert several.value.option == unknown.value.option == "table"


def test_the_user_says_what_a_file_is() -> None:
    assert suffix_of(Path("x.CSV"), ReadConfig()) == ".csv"
    assert suffix_of(Path("x.log"), ReadConfig(format=".JSONL")) == ".jsonl"


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


def test_pyarrow_strings_are_plain_text() -> None:
    table = pa.table({"student": ["1", "2"], "rater": ["a", "b"], "score": [0, 1]})
    assert read(table).students.dtype == pl.String


@pytest.mark.parametrize("kind", [pa.decimal128(20, 2), pa.decimal256(60, 2)])
def test_decimals_are_numbers_and_no_library_complains(
    kind: pa.DataType, capfd: pytest.CaptureFixture[str]
) -> None:
    table = pa.table(
        {"student": ["1", "2"], "rater": ["a", "b"], "score": pa.array([Decimal(0), Decimal(1)], kind)}
    )
    assert read(table).score.tolist() == [0, 1]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "broken",
    [
        LONG.lazy().select("nothing"),
        LONG.lazy().with_columns(score=pl.lit("x").cast(pl.Int64)),
        pl.scan_csv("no such file.csv"),
    ],
)
def test_a_broken_lazy_frame(broken: pl.LazyFrame) -> None:
    with pytest.raises(InputError, match=r"the lazy table cannot be read .*; collect it yourself"):
        read(broken)
