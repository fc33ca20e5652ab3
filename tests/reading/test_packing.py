"""Packed ratings are the same ratings: whichever way they were read, and from parts as from the whole."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.app.cli.main import main
from raterlens.errors import InputError, OptionError
from raterlens.ratings import stored
from raterlens.ratings.coded import Ratings
from raterlens.ratings.packed_file import open_packed
from raterlens.ratings.stored import StoredRatings
from raterlens.reading import packing


def table(seed: int = 0, students: int = 60) -> pl.DataFrame:
    """Long ratings in no order, with missing labels and scores."""
    random = np.random.default_rng(seed)
    n = students * 12
    score = random.integers(0, 4, n).astype(float)
    score[random.random(n) < 0.05] = np.nan
    frame = pl.DataFrame(
        {
            "student": random.integers(0, students, n),
            "rater": random.integers(0, 7, n),
            "topic": random.choice(["sport", "work"], n),
            "item": random.integers(0, 3, n),
            "score": score,
            "when": random.integers(0, 4, n),
            "entry": np.arange(n),  # so that no row is a copy of another
        }
    )
    blank = pl.Series(random.random(n) < 0.03)
    return frame.with_columns(rater=pl.when(~blank).then("rater"), score=pl.col("score").fill_nan(None))


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


def assert_same(found: rl.Ratings, expected: rl.Ratings) -> None:
    """The same ratings in order of students, the labels as they were."""
    order = np.argsort(expected.student, kind="stable")
    for name in ("student", "rater", "item", "score"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name)[order], err_msg=name)
    for name in ("students", "raters", "items"):
        assert getattr(found, name).to_list() == getattr(expected, name).to_list()
        assert getattr(found, name).dtype == getattr(expected, name).dtype
    for facet, other in zip(found.facets, expected.facets, strict=True):
        assert facet.name == other.name
        assert facet.labels.to_list() == other.labels.to_list()
        np.testing.assert_array_equal(facet.codes, other.codes[order])
    assert found.notes == expected.notes


@pytest.fixture(params=["whole", "in chunks"])
def way(request, monkeypatch):
    """Parquet files read whole, or however small by chunks."""
    if request.param == "in chunks":
        monkeypatch.setattr(packing, "LARGE", 0)
        monkeypatch.setattr(packing, "_CHUNK", 100)
    return request.param


@pytest.mark.parametrize("kind", ["integer", "text", "digits", "float", "boolean", "date", "categorical"])
def test_labels_of_every_type(kind, way, tmp_path):
    labelled(kind).write_parquet(tmp_path / "table.parquet")
    expected = rl.read(tmp_path / "table.parquet")
    assert_same(rl.read(rl.pack(tmp_path / "table.parquet", tmp_path / "x.rlpack")), expected)


@pytest.mark.parametrize(
    "columns",
    [
        {"cut": 2},
        {"rater": ["rater", "topic"], "facets": ["when"]},
        {"facets": ["topic", "when"], "cut": 1},
    ],
)
def test_cuts_combinations_and_facets(columns, way, tmp_path):
    table().write_parquet(tmp_path / "table.parquet")
    expected = rl.read(tmp_path / "table.parquet", **columns)
    assert_same(rl.read(rl.pack(tmp_path / "table.parquet", tmp_path / "x.rlpack", **columns)), expected)


def test_wide_tables(way, tmp_path):
    wide = table().with_columns(style=pl.col("score").cast(pl.String), plot=pl.col("score").shift(3) > 1)
    wide = wide.with_columns(style=pl.col("style").replace("2.0", "NA")).drop("score", "item")
    wide.write_parquet(tmp_path / "wide.parquet")
    columns = {"items": ["style", "plot"], "cut": 1}
    expected = rl.read(tmp_path / "wide.parquet", **columns)
    assert_same(rl.read(rl.pack(tmp_path / "wide.parquet", tmp_path / "x.rlpack", **columns)), expected)


def test_a_table_without_items_and_one_from_csv(way, tmp_path):
    frame = table().drop("item")
    frame.write_parquet(tmp_path / "table.parquet")
    frame.write_csv(tmp_path / "table.csv")
    for source in ("table.parquet", "table.csv"):
        path = rl.pack(tmp_path / source, tmp_path / "x.rlpack")
        assert_same(rl.read(path), rl.read(tmp_path / source))


def test_a_bad_score_is_answered_as_reading_does(way, tmp_path):
    frame = table().with_columns(
        score=pl.when(pl.int_range(pl.len()) % 301 == 300).then(-1.0).otherwise("score")
    )
    frame.write_parquet(tmp_path / "table.parquet")
    with pytest.raises(InputError) as expected:
        rl.read(tmp_path / "table.parquet")
    with pytest.raises(InputError) as found:
        rl.pack(tmp_path / "table.parquet", tmp_path / "x.rlpack")
    assert str(found.value) == str(expected.value)
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]


def test_nothing_is_written_where_nothing_can_be_estimated(way, tmp_path):
    table().with_columns(score=pl.lit(1)).write_parquet(tmp_path / "table.parquet")
    with pytest.raises(InputError, match="so nothing can be estimated"):
        rl.pack(tmp_path / "table.parquet", tmp_path / "x.rlpack")
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
    with pytest.raises(OptionError, match="chosen when it was packed"):
        rl.read(path, student="pid")


def test_parts_make_up_the_whole(tmp_path):
    path = rl.pack(table(), tmp_path / "x.rlpack", facets=["when", "topic"])
    whole, by_parts = rl.read(path), StoredRatings(open_packed(path), part=100)
    parts = list(by_parts.parts())
    assert len(parts) == 7
    assert sum(part.n_students for part in parts) == whole.n_students == by_parts.n_students
    np.testing.assert_array_equal(np.concatenate([part.rater for part in parts]), whole.rater)
    np.testing.assert_array_equal(by_parts.score, whole.score)
    np.testing.assert_array_equal(by_parts.facets[1].codes, whole.facets[1].codes)
    assert by_parts.n_ratings == whole.n_ratings
    halves = np.array([0, 0, 1, 1], dtype=np.int16)
    for some, other in ((by_parts, whole), (by_parts.with_scores(halves), whole.with_scores(halves))):
        np.testing.assert_array_equal(some.score_counts, other.score_counts)
        for found, expected in zip(some.cell_counts(), other.cell_counts(), strict=True):
            np.testing.assert_array_equal(found, expected)
        for role in ("student", "rater", "item", "facet when", "facet topic"):
            np.testing.assert_array_equal(some.tally(role).n, other.tally(role).n)
            np.testing.assert_array_equal(some.tally(role).total, other.tally(role).total)


def test_files_that_are_not_whole(tmp_path, capsys):
    path = rl.pack(table(), tmp_path / "x.rlpack")
    whole = path.read_bytes()
    broken = {
        "is not a file of packed ratings": b"PAR1" + whole[4:],
        "is cut short after 30 bytes": whole[:30],
        "has pack version 2, this release reads 1": whole[:8] + b"\2" + whole[9:],
        "it is cut short or damaged": whole[:-100],
        "its header has another checksum": whole[:-3] + b"xyz",
    }
    for message, content in broken.items():
        path.write_bytes(content)
        assert main(["check", str(path)]) == 2
        assert message in capsys.readouterr().err


def test_where_packed_ratings_go(tmp_path):
    with pytest.raises(OptionError, match=r"NAME.rlpack, not 'x.csv'"):
        rl.pack(table(), tmp_path / "x.csv")
    with pytest.raises(InputError, match="no such folder"):
        rl.pack(table(), tmp_path / "missing" / "x.rlpack")


def test_large_files_stay_on_disk(tmp_path, monkeypatch):
    path = rl.pack(table(), tmp_path / "x.rlpack")
    assert type(rl.read(path)) is rl.Ratings
    monkeypatch.setattr(stored, "IN_MEMORY", 100)
    assert type(rl.read(path)) is StoredRatings


def test_the_command_and_a_fit_of_what_it_wrote(tmp_path, capsys):
    table(students=200).write_csv(tmp_path / "table.csv")
    path = tmp_path / "x.rlpack"
    assert main(["pack", str(tmp_path / "table.csv"), "--out", str(path), "--cut", "2"]) == 0
    assert "students by 7 raters on 3 items" in capsys.readouterr().out
    one, other = rl.fit(rl.read(tmp_path / "table.csv", cut=2)), rl.fit(path)
    assert other.loglik == pytest.approx(one.loglik, rel=1e-12)
    np.testing.assert_allclose(other.raters["kappa"], one.raters["kappa"], rtol=1e-9)
    np.testing.assert_allclose(other.raters["kappa_se"], one.raters["kappa_se"], rtol=1e-9)
    np.testing.assert_allclose(other.students["theta"], one.students["theta"], rtol=1e-9, atol=1e-12)


def test_a_sample_of_students(tmp_path):
    path = rl.pack(table(students=300), tmp_path / "x.rlpack", facets=["when"])
    some = StoredRatings(open_packed(path), part=500).sample(600, seed=1)
    assert 400 < some.n_ratings < 800
    whole = rl.read(path)
    found = dict(zip(some.students, some.tally("student").total, strict=True))
    expected = dict(zip(whole.students, whole.tally("student").total, strict=True))
    assert found == {student: expected[student] for student in found}


def test_the_command_on_data_beyond_memory(tmp_path, monkeypatch):
    path = rl.pack(table(students=200), tmp_path / "x.rlpack", cut=2)
    monkeypatch.setattr(stored, "IN_MEMORY", 100)
    monkeypatch.setattr(stored, "PART", 1000)
    for draw in (Ratings.sample, Ratings.drawn):
        monkeypatch.setattr(draw, "__defaults__", (1000, 0))
    table(students=200).write_csv(tmp_path / "x.csv")
    for command in ([str(path)], [str(tmp_path / "x.csv"), "--cut", "2", "--groups", "when"]):
        assert main(["fit", *command, "--out", str(tmp_path / "out")]) == 0
        warnings = rl.load(tmp_path / "out" / "fit.json").warnings
        assert (
            sum("of 2,196 ratings" in warning and "drawn at random" in warning for warning in warnings) == 1
        )
