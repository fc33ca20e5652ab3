"""Parquet files and folders: columns of any type, partitions, and files that are not whole."""

import datetime as dt
from pathlib import Path

import polars as pl
import pytest

from raterlens.base.errors import InputError
from raterlens.config import ReadConfig
from raterlens.reading.formats.parquet import read_folder, read_parquet
from raterlens.reading.reader import read

FRAME = pl.DataFrame({"student": [1, 2], "rater": ["a", "b"], "score": [0, 1]})


def test_durations_and_lists_in_parquet_become_text(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"student": [[1], [2]], "rater": [dt.timedelta(1), dt.timedelta(2)], "score": [0, 1]}
    )
    frame.write_parquet(tmp_path / "x.parquet")
    ratings = read(tmp_path / "x.parquet")
    assert ratings.students.to_list() == ["[1]", "[2]"]
    assert ratings.raters.to_list() == ["1 day, 0:00:00", "2 days, 0:00:00"]


def test_partitions_are_columns_and_hidden_files_are_left_out(tmp_path: Path) -> None:
    for year in (2024, 2025):
        (tmp_path / f"year={year}").mkdir()
        FRAME.write_parquet(tmp_path / f"year={year}" / "part.parquet")
    (tmp_path / "_temporary.parquet").write_bytes(b"nothing")
    table = read_folder(tmp_path, ReadConfig())
    assert table.columns == ("student", "rater", "score", "year")
    assert table.take(["year"]).frame["year"].to_list() == [2024, 2024, 2025, 2025]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"stud", "is not a parquet file: it begins with b'stud'"),
        (b"PAR1....", r"is cut short: it ends with b'\.\.\.\.', not b'PAR1'"),
        (b"PAR1" + b"\7" * 50 + b"PAR1", "is a damaged parquet file"),
    ],
)
def test_files_that_are_not_whole(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_parquet(tmp_path / "x.parquet", ReadConfig())


def test_a_folder_without_parquet_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder without parquet files; give the path of one file"):
        read_folder(tmp_path, ReadConfig())


@pytest.mark.parametrize("more", ["nothing", "a copy", "a total", "a missing label", "a missing score"])
def test_a_large_file_is_read_column_by_column_as_a_small_one(
    more: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    further: dict[str, list[tuple[object, ...]]] = {
        "nothing": [],
        "a copy": [(1, "a", "x", 0)],
        "a total": [(1, "Total", "x", 1)],
        "a missing label": [(None, "a", "x", 1)],
        "a missing score": [(3, "a", "x", None)],
    }
    rows = [(1, "a", "x", 0), (1, "b", "x", 1), (2, "a", "x", 1), (2, "b", "x", 1), *further[more]]
    frame = pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row")
    frame.write_parquet(tmp_path / "x.parquet")
    small = read(tmp_path / "x.parquet")
    monkeypatch.setattr("raterlens.reading.formats.parquet.LARGE", 2)
    assert read_parquet(tmp_path / "x.parquet", ReadConfig()).large
    large = read(tmp_path / "x.parquet")
    assert large.table().equals(small.table())
    assert large.notes == small.notes
