"""Packed ratings are the same ratings: whichever way they were read, and from parts as from the whole."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import InputError, OptionError
from raterlens.config import ReadConfig
from raterlens.reading.packing import pack_ratings
from tests.support.packed_tables import assert_same, table

KEEP = {"duplicates": "keep"}


def labelled(kind: str) -> pl.DataFrame:
    """Students whose labels are of another type."""
    frame = table()
    as_text = "s" + pl.col("student").cast(pl.String)
    change = {
        "integer": pl.col("student"),
        "text": as_text,
        "digits": pl.col("student").cast(pl.String),
        "float": pl.when(pl.col("student") != 3).then(pl.col("student") / 2).otherwise(float("nan")),
        "boolean": pl.col("student") % 2 == 0,
        "date": dt.date(2024, 1, 1) + pl.duration(days=pl.col("student")),
        "categorical": as_text.cast(pl.Categorical),
    }
    return frame.with_columns(student=change[kind])


def in_chunks(source, out, **columns):
    """As `pack`, however small the file."""
    return pack_ratings(source, out, ReadConfig(**columns), large=0, chunk=100)


@pytest.fixture(params=[rl.pack, in_chunks], ids=["whole", "in chunks"])
def pack(request):
    return request.param


@pytest.mark.parametrize("kind", ["integer", "text", "digits", "float", "boolean", "date", "categorical"])
def test_labels_of_every_type(kind, pack, tmp_path):
    labelled(kind).write_parquet(tmp_path / "table.parquet")
    expected = rl.read(tmp_path / "table.parquet", **KEEP)
    assert_same(rl.read(pack(tmp_path / "table.parquet", tmp_path / "x.rlpack", **KEEP)), expected)


@pytest.mark.parametrize(
    "columns",
    [
        {"cut": 2},
        {"rater": ["rater", "topic"], "facets": ["when"]},
        {"facets": ["topic", "when"], "cut": 1},
    ],
)
def test_cuts_combinations_and_facets(columns, pack, tmp_path):
    table().write_parquet(tmp_path / "table.parquet")
    expected = rl.read(tmp_path / "table.parquet", **columns, **KEEP)
    assert_same(rl.read(pack(tmp_path / "table.parquet", tmp_path / "x.rlpack", **columns, **KEEP)), expected)


def test_wide_tables(pack, tmp_path):
    wide = table().with_columns(style=pl.col("score").cast(pl.String), plot=pl.col("score").shift(3) > 1)
    wide = wide.with_columns(style=pl.col("style").replace("2.0", "NA")).drop("score", "item")
    wide.write_parquet(tmp_path / "wide.parquet")
    columns = {"items": ["style", "plot"], "cut": 1}
    expected = rl.read(tmp_path / "wide.parquet", **columns, **KEEP)
    assert_same(rl.read(pack(tmp_path / "wide.parquet", tmp_path / "x.rlpack", **columns, **KEEP)), expected)


def test_a_table_without_items_and_one_from_csv(pack, tmp_path):
    frame = table().drop("item")
    frame.write_parquet(tmp_path / "table.parquet")
    frame.write_csv(tmp_path / "table.csv")
    for source in ("table.parquet", "table.csv"):
        path = pack(tmp_path / source, tmp_path / "x.rlpack", **KEEP)
        assert_same(rl.read(path), rl.read(tmp_path / source, **KEEP))


def test_a_bad_score_is_answered_as_reading_does(pack, tmp_path):
    frame = table().with_columns(
        score=pl.when(pl.int_range(pl.len()) % 301 == 300).then(-1.0).otherwise("score")
    )
    frame.write_parquet(tmp_path / "table.parquet")
    with pytest.raises(InputError) as expected:
        rl.read(tmp_path / "table.parquet", **KEEP)
    with pytest.raises(InputError) as found:
        pack(tmp_path / "table.parquet", tmp_path / "x.rlpack", **KEEP)
    assert str(found.value) == str(expected.value)
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]


def test_nothing_is_written_where_nothing_can_be_estimated(pack, tmp_path):
    table().with_columns(score=pl.lit(1)).write_parquet(tmp_path / "table.parquet")
    with pytest.raises(InputError, match="so nothing can be estimated"):
        pack(tmp_path / "table.parquet", tmp_path / "x.rlpack", **KEEP)
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]


def test_a_cut_can_be_given_when_reading(tmp_path):
    whole = rl.read(table(), cut=2)
    path = rl.pack(table(), tmp_path / "x.rlpack")
    order = np.argsort(whole.student, kind="stable")
    np.testing.assert_array_equal(rl.read(path, cut=2).score, whole.score[order])
    rl.pack(table(), path, cut=2)
    np.testing.assert_array_equal(rl.read(path, cut=2).score, whole.score[order])
    with pytest.raises(OptionError, match=r"cut=1, but 'x.rlpack' was packed with cut=2"):
        rl.read(path, cut=1)
    with pytest.raises(OptionError, match="read when it was packed"):
        rl.read(path, student="pid")


def test_where_packed_ratings_go(tmp_path):
    with pytest.raises(OptionError, match=r"NAME.rlpack, not 'x.csv'"):
        rl.pack(table(), tmp_path / "x.csv")
    with pytest.raises(InputError, match="no such folder"):
        rl.pack(table(), tmp_path / "missing" / "x.rlpack")
