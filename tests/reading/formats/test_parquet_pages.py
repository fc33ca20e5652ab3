"""Pages of parquet files: whatever healthy writers write passes, and every impossible size is refused by name.

Most of these sizes, given to polars, end the process: "memory allocation of 2305843009213693944 bytes failed".
"""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from raterlens.base.errors import InputError
from raterlens.config import ReadConfig
from raterlens.reading.formats.parquet import read_parquet
from raterlens.reading.formats.parquet_pages import check_pages

ROWS = 48
FRAME = pl.DataFrame(
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


@pytest.fixture(autouse=True, params=["readable", "compiled"])
def twin(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """These files are small: readable code would read all of them."""
    pays = request.param == "compiled"
    monkeypatch.setattr("raterlens.reading.formats.parquet_pages.compiled_code_pays", lambda _: pays)


def written(table: pa.Table, **how: Any) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(table, file, **how)
    return file.getvalue()


def by_polars(**how: Any) -> bytes:
    file = io.BytesIO()
    FRAME.write_parquet(file, **how)
    return file.getvalue()


HEALTHY: dict[str, Callable[[], bytes]] = {
    "polars": by_polars,
    "polars, many pages": lambda: by_polars(row_group_size=10, data_page_size=8, compression="uncompressed"),
    "pyarrow": lambda: written(FRAME.to_arrow()),
    "without dictionaries": lambda: written(FRAME.to_arrow(), use_dictionary=False, compression="none"),
    "pages of the second kind": lambda: written(FRAME.to_arrow(), data_page_version="2.0"),
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
    check_pages(path)


def damaged(version: str, old: str, new: str) -> bytes:
    """A column of 48 numbers as one page, with another number in its head or in the footer."""
    how = {"use_dictionary": False, "compression": "none", "write_statistics": False}
    content = written(FRAME.select("score").to_arrow(), data_page_version=version, **how)
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
        ("1.0", FIRST, "158c06 158e06 2c 1560", "a page up to byte 416, but its column ends at 415"),
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
            "which there is not|cannot be read",
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
    with pytest.raises(InputError, match=rf"'x.parquet' is a damaged parquet file \(.*({why})"):
        read_parquet(path, ReadConfig())


def test_levels_longer_than_their_page(tmp_path: Path) -> None:
    content = damaged("2.0", SECOND, "158406 158406 5c 1560 1500 1560 1500 157e 1500")
    (tmp_path / "x.parquet").write_bytes(content)
    check_pages(tmp_path / "x.parquet")
    # The levels of 63 bytes are within a page of 386, but not within one of 40.
    short = content.replace(bytes.fromhex("158406 158406 5c"), bytes.fromhex("15d000 15d000 5c"), 1)
    (tmp_path / "x.parquet").write_bytes(short)
    with pytest.raises(ValueError, match="more bytes of levels than the page has"):
        check_pages(tmp_path / "x.parquet")


def test_a_footer_longer_than_the_file(tmp_path: Path) -> None:
    content = by_polars()
    (tmp_path / "x.parquet").write_bytes(content[:-8] + b"\xff\xff\0\0PAR1")
    with pytest.raises(InputError, match="a footer of 65,535 bytes in a file of"):
        read_parquet(tmp_path / "x.parquet", ReadConfig())
