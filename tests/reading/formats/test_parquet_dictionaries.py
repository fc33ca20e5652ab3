"""Texts by the places that a parquet file has them at: the same as polars reads, or left to it."""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from raterlens.base.errors import InputError
from raterlens.reading.formats import parquet_dictionaries
from raterlens.reading.formats.parquet_dictionaries import numbered_texts
from raterlens.reading.reader import read

ROWS = 2_000
random = np.random.default_rng(3)
NAMES = [f"rater {i}" for i in range(300)]
WHO = random.integers(290, size=ROWS)
TEXTS = pa.array([NAMES[i] for i in WHO])
RUNS = pa.array([NAMES[i // 50] for i in range(ROWS)])


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """These files are small: they would be left to polars."""
    monkeypatch.setattr(parquet_dictionaries, "compiled_code_pays", lambda _: True)


def numbered(path: Path) -> pl.Series | None:
    found = numbered_texts(path, "rater", ROWS)
    if found is None:
        return None
    assert np.array_equal(np.unique(found.numbers), found.present)
    return found.texts.gather(found.numbers)


def table(rater: pa.Array, **field: Any) -> pa.Table:
    schema = pa.schema([pa.field("n", pa.int32()), pa.field("rater", rater.type, **field)])
    return pa.table([pa.array(range(len(rater)), pa.int32()), rater], schema=schema)


def coded(order: list[str]) -> pa.Array:
    places = pa.array([order.index(NAMES[i]) for i in WHO], pa.int32())
    return pa.DictionaryArray.from_arrays(places, pa.array(order))


UNDERSTOOD: dict[str, Callable[[Path], None]] = {
    "texts": lambda path: pq.write_table(table(TEXTS), path),
    "not packed": lambda path: pq.write_table(table(TEXTS), path, compression="none"),
    "runs": lambda path: pq.write_table(table(RUNS), path),
    "one text": lambda path: pq.write_table(table(pa.array(["only"] * ROWS)), path),
    "never missing": lambda path: pq.write_table(table(TEXTS, nullable=False), path),
    "categories, some of which do not occur": lambda path: pq.write_table(table(coded(NAMES)), path),
    "a dictionary for each group": lambda path: pq.write_table(table(TEXTS), path, row_group_size=130),
    "small pages": lambda path: pq.write_table(table(RUNS), path, data_page_size=64, write_batch_size=7),
    "by polars": lambda path: pl.DataFrame({"rater": TEXTS.to_pylist()}).write_parquet(
        path, compression="snappy", use_pyarrow=True
    ),
}
LEFT: dict[str, Callable[[Path], None]] = {
    "packed otherwise": lambda path: pq.write_table(table(TEXTS), path, compression="zstd"),
    "no dictionaries": lambda path: pq.write_table(table(TEXTS), path, use_dictionary=False),
    "a dictionary that grew too long": lambda path: pq.write_table(
        table(TEXTS), path, dictionary_pagesize_limit=512, write_batch_size=64
    ),
    "a missing text": lambda path: pq.write_table(table(pa.array([*TEXTS.to_pylist()[1:], None])), path),
    "pages of the second kind": lambda path: pq.write_table(table(TEXTS), path, data_page_version="2.0"),
    "numbers": lambda path: pq.write_table(table(pa.array(WHO)), path),
    "bytes": lambda path: pq.write_table(table(TEXTS.cast(pa.binary())), path),
    "nested": lambda path: pq.write_table(
        pa.table({"rater": TEXTS, "more": pa.array([{"rater": "x"}] * ROWS)}), path
    ),
}


@pytest.mark.parametrize("kind", UNDERSTOOD)
def test_the_same_as_polars_reads(kind: str, tmp_path: Path) -> None:
    UNDERSTOOD[kind](path := tmp_path / "x.parquet")
    found = numbered(path)
    assert found is not None
    assert found.to_list() == pl.read_parquet(path)["rater"].cast(pl.String).to_list()


@pytest.mark.parametrize("kind", LEFT)
def test_what_is_left_to_polars(kind: str, tmp_path: Path) -> None:
    LEFT[kind](path := tmp_path / "x.parquet")
    assert numbered(path) is None


def test_very_many_texts_are_left_to_polars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    UNDERSTOOD["texts"](path := tmp_path / "x.parquet")
    monkeypatch.setattr(parquet_dictionaries, "MOST", 100)
    assert numbered(path) is None


@pytest.mark.parametrize("kind", ["texts", "not packed", "runs", "small pages"])
def test_damaged_pages_never_lead_out_of_the_dictionary(kind: str, tmp_path: Path) -> None:
    UNDERSTOOD[kind](path := tmp_path / "x.parquet")
    whole, column = path.read_bytes(), pq.ParquetFile(path).metadata.row_group(0).column(1)
    begin, outcomes = column.dictionary_page_offset, set()
    for _ in range(600):
        damaged = bytearray(whole)
        for place in random.integers(begin, begin + column.total_compressed_size, size=3):
            damaged[place] = random.integers(256)
        path.write_bytes(damaged)
        try:
            outcomes.add(numbered(path) is None)
        except (ValueError, LookupError, TypeError, struct.error):
            outcomes.add(True)
    assert outcomes == {False, True}


@pytest.mark.parametrize("kind", ["texts", "categories, some of which do not occur", "a missing text"])
def test_ratings_of_a_large_file_are_those_of_a_small_one(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (UNDERSTOOD | LEFT)[kind](path := tmp_path / "x.parquet")
    rows = pq.read_table(path)
    for name, numbers in (("student", np.arange(ROWS) // 4), ("score", random.integers(2, size=ROWS))):
        rows = rows.append_column(name, pa.array(numbers))
    pq.write_table(rows, path)
    small = read(path, "student", "rater", score="score", duplicates="keep")
    monkeypatch.setattr("raterlens.reading.formats.parquet.LARGE", 0)
    large = read(path, "student", "rater", score="score", duplicates="keep")
    assert large.raters.equals(small.raters)
    assert large.raters.dtype == small.raters.dtype
    assert np.array_equal(large.rater, small.rater)
    assert large.notes == small.notes


def test_a_damaged_dictionary_is_an_error_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = table(TEXTS).append_column("score", pa.array(random.integers(2, size=ROWS)))
    pq.write_table(rows, path := tmp_path / "x.parquet", compression="none")
    damaged = path.read_bytes().replace(b"rater 17", b"rater \xff7", 1)
    path.write_bytes(damaged)
    monkeypatch.setattr("raterlens.reading.formats.parquet.LARGE", 0)
    with pytest.raises(InputError, match="damaged parquet file"):
        read(path, "n", "rater", score="score", duplicates="keep")
