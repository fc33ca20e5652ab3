"""What every format gives."""

import datetime as dt
from pathlib import Path

import polars as pl
import pytest

from raterlens.base.errors import InputError, OptionError
from raterlens.config import ReadConfig
from raterlens.reading.formats.lazy_table import (
    Table,
    choice,
    is_plain,
    rows_of,
    series_of,
    suffix_of,
    table_of,
)


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
