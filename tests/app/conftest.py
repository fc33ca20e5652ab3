"""A small table of ratings for the commands."""

from pathlib import Path

import polars as pl
import pytest

from tests.support.command_line import small_table


@pytest.fixture(scope="session")
def ratings() -> pl.DataFrame:
    return small_table()


@pytest.fixture
def table(ratings: pl.DataFrame, tmp_path: Path) -> Path:
    path = tmp_path / "ratings.csv"
    ratings.write_csv(path)
    return path
