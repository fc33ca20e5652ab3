"""Ratings packed, whole or streamed."""

import datetime as dt
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import InputError, OptionError
from raterlens.config import ReadConfig
from raterlens.ratings.packed import StoredRatings, open_packed
from raterlens.reading.pack import pack_ratings
from tests.support.packed_tables import assert_same, table, told

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


@pytest.mark.parametrize(
    "columns",
    [
        {"piece": "essay"},
        {"draw": "epoch", "facets": ["when"]},
        {"group": "school", "facets": ["topic"], "cut": 2},
        {"known": "gold"},
        {"trusted_column": "trust"},
        {"piece": "essay", "draw": "epoch", "group": "school", "trusted_column": "trust"},
        {"group": "school", "known": "gold", "trusted_column": "trust"},
    ],
    ids=lambda columns: ", ".join(columns),
)
def test_pieces_draws_groups_known_answers_and_whom_to_trust(columns, pack, tmp_path):
    table = told()
    if "known" in columns:  # one answer per student and item, which a table without items has
        table = table.drop("item")
    table.write_parquet(tmp_path / "table.parquet")
    expected = rl.read(tmp_path / "table.parquet", **columns, **KEEP)
    path = pack(tmp_path / "table.parquet", tmp_path / "x.rlpack", **columns, **KEEP)
    assert_same(rl.read(path), expected)
    assert_same(StoredRatings(open_packed(path)), expected)


def test_known_answers_of_a_second_table_and_half_marks(pack, tmp_path):
    table = told().drop("item").with_columns(score=pl.col("score") / 2, gold=pl.col("gold") / 2)
    table.write_parquet(tmp_path / "table.parquet")
    answers = table.select("student", "gold").unique().drop_nulls().filter(pl.col("gold") != 0.5)
    answers.write_csv(tmp_path / "answers.csv")
    columns = {"known": str(tmp_path / "answers.csv")} | KEEP
    expected = rl.read(tmp_path / "table.parquet", **columns)
    assert expected.score_step == 0.5
    found = rl.read(pack(tmp_path / "table.parquet", tmp_path / "x.rlpack", **columns))
    # Chunks know which scores there are, not their median, at which the notes suggest a cut.
    assert_same(replace(found, notes=expected.notes), expected)


@pytest.mark.parametrize(
    ("columns", "change", "message"),
    [
        (
            {"group": "school"},
            {"school": pl.when(pl.col("entry") != 371).then("school").otherwise(9)},
            "is in .*group",
        ),
        (
            {"known": "gold"},
            {"gold": pl.when(pl.col("entry") != 371).then("gold").otherwise(9)},
            "known answer",
        ),
        ({"trusted_column": "trust"}, {"trust": pl.lit("perhaps")}, "neither yes nor no"),
        ({"trusted_column": "trust"}, {"trust": pl.lit("no")}, "marks nobody as trusted"),
    ],
)
def test_what_these_columns_contradict_is_refused(columns, change, message, pack, tmp_path):
    told().drop("item").with_columns(**change).write_parquet(tmp_path / "table.parquet")
    with pytest.raises(InputError, match=message):
        pack(tmp_path / "table.parquet", tmp_path / "x.rlpack", **columns, **KEEP)
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]


def test_repeats_that_a_draw_tells_apart_are_no_repeats(tmp_path):
    again = pl.concat([TABLE.with_columns(of=pl.lit(1)), TABLE.with_columns(of=pl.lit(2))])
    again.drop("of").write_parquet(tmp_path / "x.parquet")
    with pytest.raises(InputError, match="4 rows with the student, rater and item of an earlier one"):
        pack_ratings(tmp_path / "x.parquet", tmp_path / "x.rlpack", ReadConfig(), large=0)
    again.write_parquet(tmp_path / "x.parquet")
    told = ReadConfig(draw="of", duplicates="refuse")
    packed = rl.read(pack_ratings(tmp_path / "x.parquet", tmp_path / "x.rlpack", told, large=0))
    assert packed.n_ratings == 8
    assert packed.draw is not None


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


TABLE = pl.DataFrame({"student": [1, 1, 2, 2], "rater": ["a", "b", "a", "b"], "score": [0, 3, 2, 1]})


@pytest.mark.parametrize(
    "options",
    [
        {"bands": [2]},
        {"map": "3=1"},
        {"wide": "{rater}"},
        {"as_written": True},
        {"table": "x"},
        {"encoding": "cp1252"},
        {"format": "csv"},
        {"draw": "epoch"},
    ],
    ids=lambda options: next(iter(options)),
)
def test_what_was_settled_when_packing_is_refused_afterwards(
    options: dict[str, object], tmp_path: Path
) -> None:
    path = rl.pack(TABLE, tmp_path / "x.rlpack")
    with pytest.raises(OptionError, match="when it was packed"):
        rl.read(path, **options)


def test_labels_that_differ_in_blanks_within_are_one_rater() -> None:
    raters = ["Ann  Lee", "ann lee", "Bob"] * 4
    table = pl.DataFrame(
        {"student": [n // 3 for n in range(12)], "rater": raters, "score": [n % 2 for n in range(12)]}
    )
    ratings = rl.read(table, duplicates="keep")
    assert ratings.n_raters == 2
    assert any("look like the same rater" in note for note in ratings.notes)


def test_repeats_of_a_streamed_file_are_refused_or_kept(tmp_path):
    again = pl.concat([TABLE, TABLE[1:3]])
    again.write_parquet(tmp_path / "x.parquet")
    for given in ({}, {"duplicates": "refuse"}, {"duplicates": "first"}):
        with pytest.raises(InputError, match="2 rows with the student, rater and item of an earlier one"):
            pack_ratings(tmp_path / "x.parquet", tmp_path / "x.rlpack", ReadConfig(**given), large=0)
        assert not (tmp_path / "x.rlpack").exists()
    kept = ReadConfig(duplicates="keep")
    packed = pack_ratings(tmp_path / "x.parquet", tmp_path / "x.rlpack", kept, large=0, chunk=2)
    assert rl.read(packed).n_ratings == 6


def test_ranks_in_a_streamed_file_are_asked_about(tmp_path):
    rows = [(s, r, 1 + (s + k) % 6) for k, r in enumerate("abc") for s in range(6)]
    table = pl.DataFrame(rows, schema=["student", "rater", "score"], orient="row")
    table.write_parquet(tmp_path / "x.parquet")
    with pytest.raises(InputError, match="each number from 1 to 6 once, as ranks are"):
        pack_ratings(tmp_path / "x.parquet", tmp_path / "x.rlpack", ReadConfig(), large=0)
    turned = pack_ratings(tmp_path / "x.parquet", tmp_path / "x.rlpack", ReadConfig(best="low"), large=0)
    assert rl.read(turned).table().equals(rl.read(table, best="low").table().sort("student"))
