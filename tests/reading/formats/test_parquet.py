"""Parquet files and what they say of themselves."""

import datetime as dt
import io
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from raterlens.base.errors import InputError
from raterlens.config import ReadConfig
from raterlens.reading.formats.parquet import DEEPEST, Fields, check_pages, read_folder, read_parquet
from raterlens.reading.read import read

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
        (b"PAR1" + b"\7" * 50 + b"PAR1", "is damaged or cut short"),
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
    monkeypatch.setattr("raterlens.reading.formats.parquet.LARGE_FILE", 2)
    assert read_parquet(tmp_path / "x.parquet", ReadConfig()).large
    large = read(tmp_path / "x.parquet")
    assert large.table().equals(small.table())
    assert large.notes == small.notes


ROWS = 48
PAGES = pl.DataFrame(
    {
        "student": [f"s{i % 8}" for i in range(ROWS)],
        "rater": [None if i % 5 == 0 else f"r{i % 3}" for i in range(ROWS)],
        "score": [i % 2 for i in range(ROWS)],
    }
)
NESTED = pa.table(
    {
        "list": [[1, 2, None] if i % 3 else None for i in range(99)],
        "record": [{"a": 1, "b": "x"}] * 99,
        "nothing": pa.nulls(99),
        "empty": pa.array([[]] * 99, pa.list_(pa.int8())),
        "flag": [True, False, None] * 33,
    }
)


def written(table: pa.Table, **how: Any) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(table, file, **how)
    return file.getvalue()


def by_polars(**how: Any) -> bytes:
    file = io.BytesIO()
    PAGES.write_parquet(file, **how)
    return file.getvalue()


HEALTHY: dict[str, Callable[[], bytes]] = {
    "polars": by_polars,
    "polars, many pages": lambda: by_polars(row_group_size=10, data_page_size=8, compression="uncompressed"),
    "pyarrow": lambda: written(PAGES.to_arrow()),
    "without dictionaries": lambda: written(PAGES.to_arrow(), use_dictionary=False, compression="none"),
    "pages of the second kind": lambda: written(PAGES.to_arrow(), data_page_version="2.0"),
    "checksums and indexes": lambda: written(NESTED, write_page_checksum=True, write_page_index=True),
    "nested, many pages": lambda: written(NESTED, row_group_size=30, data_page_size=10),
    "nested, second kind": lambda: written(NESTED, data_page_version="2.0", data_page_size=10),
    "no rows": lambda: written(NESTED.slice(0, 0)),
    "no columns": lambda: written(pa.table({})),
}


@pytest.mark.parametrize("kind", HEALTHY)
def test_healthy_files(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(HEALTHY[kind]())
    check_pages(io.BytesIO(path.read_bytes()))


def damaged(version: str, old: str, new: str) -> bytes:
    """A column of 48 numbers as one page, with another number in its head or in the footer."""
    how = {"use_dictionary": False, "compression": "none", "write_statistics": False}
    content = written(PAGES.select("score").to_arrow(), data_page_version=version, **how)
    found = content.replace(bytes.fromhex(old), bytes.fromhex(new), 1)
    assert found != content
    return found


# Numbers are doubled, odd ones negative, seven bits per byte: 60 is 48, 61 is -49. A field begins with 15 (or 16).
FIRST = "158c06 158c06 2c 1560"
SECOND = "158406 158406 5c 1560 1500 1560 1500 1504 1500"


@pytest.mark.parametrize(
    ("version", "old", "new", "why"),
    [
        ("1.0", FIRST, "158c06 158c06 2c 1561", "-49 values of a page"),
        ("1.0", FIRST, "158c06 158c06 2c 155e", "48 values in a column, but 47 in its pages"),
        ("1.0", FIRST, "158d06 158c06 2c 1560", "-391 bytes of a page"),
        ("1.0", FIRST, "158c7f 158c06 2c 1560", "8,134 bytes in a page, 411 in its column"),
        ("1.0", FIRST, "158c06 158d06 2c 1560", "-391 bytes of a page"),
        ("1.0", FIRST, "158c06 158e06 2c 1560", "a page up to byte 412 of a column of 411"),
        ("1.0", FIRST, "1e8c06 158c06 2c 1560", "a value of kind 14"),
        ("2.0", SECOND, "158406 158406 5c 1561 1500 1560 1500 1504 1500", "-49 values of a page"),
        ("2.0", SECOND, "158406 158406 5c 1560 1501 1560 1500 1504 1500", "-1 values of a page"),
        ("2.0", SECOND, "158406 158406 5c 1560 1562 1560 1500 1504 1500", "49 of 48 values in a page"),
        ("2.0", SECOND, "158406 158406 5c 1560 1500 1562 1500 1504 1500", "49 of 48 values in a page"),
        ("2.0", SECOND, "158406 158406 5c 1560 1500 1560 1500 1505 1500", "-3 bytes of levels"),
        (
            "2.0",
            SECOND,
            "158404 158404 5c 1560 1500 1560 1500 1504 1500",
            "which does not exist|cannot be read",
        ),
        ("1.0", "1660 16b606 16b606 2608", "1661 16b606 16b606 2608", "-49 values"),
        ("1.0", "1660 16b606 16b606 2608", "1660 16b606 16b706 2608", "-412 bytes of a column"),
        ("1.0", "1660 16b606 16b606 2608", "1660 16b606 16b67f 2608", "a column from byte 4 to 8,159"),
        ("1.0", "1660 16b606 16b606 2608", "1660 16b606 16b606 2609", "a column from byte -5 to 406"),
        ("1.0", "1660 191c", "1662 191c", "49 rows, but 48 in its groups"),
        ("1.0", "1660 191c", "1860 191c", "cannot be read|text of|kind"),
        ("1.0", "1660 191c", "1660 1500", "cannot be read|kind"),
    ],
)
def test_impossible_sizes(version: str, old: str, new: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(damaged(version, old, new))
    with pytest.raises(InputError, match=rf"'x.parquet' is damaged or cut short \(.*({why})"):
        read_parquet(path, ReadConfig())


def test_levels_longer_than_their_page(tmp_path: Path) -> None:
    content = damaged("2.0", SECOND, "158406 158406 5c 1560 1500 1560 1500 157e 1500")
    (tmp_path / "x.parquet").write_bytes(content)
    check_pages(io.BytesIO((tmp_path / "x.parquet").read_bytes()))
    # The levels of 63 bytes are within a page of 386, but not within one of 40.
    short = content.replace(bytes.fromhex("158406 158406 5c"), bytes.fromhex("15d000 15d000 5c"), 1)
    (tmp_path / "x.parquet").write_bytes(short)
    with pytest.raises(ValueError, match="more bytes of levels than the page has"):
        check_pages(io.BytesIO((tmp_path / "x.parquet").read_bytes()))


def test_a_footer_longer_than_the_file(tmp_path: Path) -> None:
    content = by_polars()
    (tmp_path / "x.parquet").write_bytes(content[:-8] + b"\xff\xff\0\0PAR1")
    with pytest.raises(InputError, match="a footer of 65,535 bytes in a file of"):
        read_parquet(tmp_path / "x.parquet", ReadConfig())


def test_a_footer_says_what_pyarrow_says() -> None:
    file = io.BytesIO()
    frame = pl.DataFrame({"student": ["a", None, "b"] * 50, "score": [0, 1, 200] * 50})
    pyarrow.parquet.write_table(frame.to_arrow(), file, row_group_size=70)
    content = file.getvalue()
    length = struct.unpack("<I", content[-8:-4])[0]
    found = Fields(content, len(content) - 8 - length).record()
    expected = pyarrow.parquet.read_metadata(file)
    assert found[3] == expected.num_rows
    assert found[6].decode() == expected.created_by
    assert [element[4].decode() for element in found[2][1:]] == expected.schema.names
    for i, group in enumerate(found[4]):
        assert group[3] == expected.row_group(i).num_rows
        for j, column in enumerate(group[1]):
            theirs, ours = expected.row_group(i).column(j), column[3]
            assert (ours[5], ours[6], ours[7], ours[9], ours.get(11)) == (
                *(theirs.num_values, theirs.total_uncompressed_size, theirs.total_compressed_size),
                *(theirs.data_page_offset, theirs.dictionary_page_offset),
            )
            assert ours[12][3] == theirs.statistics.null_count


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\0", {}),
        (b"\x15\x60\x15\x5f\0", {1: 48, 2: -48}),
        (b"\x15\xac\x02\0", {1: 150}),
        (b"\x05\x40\x06\0", {32: 3}),  # a number too far off for the short form
        (b"\x11\x12\0", {1: True, 2: False}),
        (b"\x13\x07\x18\x02hi\0", {1: 7, 2: b"hi"}),
        (b"\x17" + struct.pack("<d", 1.5) + b"\0", {1: 1.5}),
        (b"\x19\x25\x02\x04\0", {1: [1, 2]}),
        (b"\x19\xf3\x0f" + bytes(range(15)) + b"\0", {1: list(range(15))}),
        (b"\x1b\x01\x85\x01k\x06\0", {1: {b"k": 3}}),
        (b"\x1b\0\0", {1: {}}),
        (b"\x1c\x15\x02\0\0", {1: {1: 1}}),
    ],
)
def test_kinds_of_fields(content: bytes, expected: dict) -> None:
    fields = Fields(content, 0)
    assert fields.record() == expected
    assert fields.place == len(content)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\x1e\0", "a value of kind 14"),
        (b"\x15" + b"\xff" * 11, "a number of more than 10 bytes"),
        (b"\x18\x7fhi", "text of 127 bytes, of which 2 are there"),
        (b"\x19\xf5\xff\x7f", "16,383 values in 0 bytes"),
        (b"\x1b\xff\x7f", "16,383 values in 0 bytes"),
        (b"\x1c" * 99, f"more than {DEEPEST} deep"),
        (b"\x19" * 20 + bytes(20), f"more than {DEEPEST} deep"),
    ],
)
def test_no_record(content: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Fields(content, 0).record()


def test_a_record_without_an_end() -> None:
    with pytest.raises(IndexError):
        Fields(b"\x15\x60", 0).record()
