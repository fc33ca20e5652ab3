"""A table of a database, by its name or the only one."""

import sqlite3
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import InputError
from raterlens.reading.read import read
from tests.support.reading_files import FILES


@pytest.fixture(scope="module")
def essays(small: rl.Ratings) -> pl.DataFrame:
    return small.table().with_columns(pl.col("score").cast(pl.Int64))


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_table_among_others(kind: str, essays: pl.DataFrame, tmp_path: Path) -> None:
    path = FILES[kind](essays, tmp_path)
    statement = "CREATE TABLE authors (id INTEGER, name TEXT)"
    if kind == "sqlite":
        with closing(sqlite3.connect(path)) as database:
            database.execute(statement)
    else:
        import duckdb

        with duckdb.connect(str(path)) as database:
            database.execute(statement)
    with pytest.raises(rl.RaterlensError, match=r"2 tables: .*'authors'.*; say which.*table='essays'"):
        read(path)
    assert read(path, table="essays").n_ratings == len(essays)
    assert read(f"{path}::essays").n_ratings == len(essays)
    with pytest.raises(rl.RaterlensError, match=r"unknown table in .*did you mean 'essays'"):
        read(f"{path}::esays")


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_names_with_quotes_are_safe(kind: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"student": [1, 2], "rater": ["a", "b"], "score": [0, 1]})
    path = FILES[kind](frame, tmp_path)
    statement = 'ALTER TABLE essays RENAME TO "my ""essays"""'
    if kind == "sqlite":
        with closing(sqlite3.connect(path)) as database:
            database.execute(statement)
    else:
        import duckdb

        with duckdb.connect(str(path)) as database:
            database.execute(statement)
    assert read(path, table='my "essays"').raters.to_list() == ["a", "b"]


def test_a_database_that_is_cut_short_or_damaged_is_refused(tmp_path: Path) -> None:
    frame = pl.DataFrame({"student": range(3000), "rater": ["a", "b", "c"] * 1000, "score": [0, 1, 1] * 1000})
    path = FILES["sqlite"](frame, tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1000])  # within the last page, which SQLite would fill with zeros
    with pytest.raises(InputError, match=rf"cut short \({len(whole) - 1000:,} of {len(whole):,} bytes"):
        read(path)
    path.write_bytes(whole[:8192] + bytes(4096) + whole[12288:])
    with pytest.raises(InputError, match="is damaged or cut short"):
        read(path)
    # SQLite quotes what it does not understand, and Python cannot decode the quotation.
    path.write_bytes(whole.replace(b"CREATE TABLE", b"CREATE T\xe5BLE"))
    with pytest.raises(InputError, match="is damaged or cut short"):
        read(path)
