"""Ratings: codes, counts, parts, known answers, tables."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import raterlens as rl
from raterlens.base.errors import InputError
from raterlens.inference.resampling import resampled
from raterlens.ratings.coded import (
    Facet,
    KnownAnswers,
    Ratings,
    joined,
    joined_answers,
    level_table,
    renumbered,
    to_backend,
    used_levels,
)
from raterlens.reading.read import read
from tests.support.known_tables import TABLE, answers


@pytest.fixture
def ratings() -> Ratings:
    """Rater c, item y and topic t of one student alone, the last."""
    return Ratings(
        student=np.array([0, 0, 1, 2, 2], dtype=np.int32),
        rater=np.array([0, 1, 0, 2, 2], dtype=np.int32),
        item=np.array([0, 0, 0, 0, 1], dtype=np.int32),
        score=np.array([0, 1, 1, 2, 0], dtype=np.int16),
        students=pl.Series("student", [7, 8, 9]),
        raters=pl.Series("rater", ["a", "b", "c"]),
        items=pl.Series("item", ["x", "y"]),
        notes=("a note",),
        backend="pandas",
        facets=(Facet("topic", np.array([0, 0, 0, 0, 1], dtype=np.int32), pl.Series("topic", ["s", "t"])),),
    )


def test_the_table_names_pieces_and_is_read_back(ratings):
    essay = Facet("essay", np.array([1, 1, 0, 0, 1], dtype=np.int32), pl.Series("essay", ["p", "q"]))
    table = replace(ratings, piece=essay).table()
    assert table.columns == ["student", "rater", "item", "score", "topic", "essay"]
    assert table["essay"].to_list() == ["q", "q", "p", "p", "q"]
    again = rl.read(table, piece="essay", facets=["topic"])
    assert again.piece is not None
    assert_frame_equal(again.table(), table, check_dtypes=False)


@pytest.mark.parametrize(
    "rows", [slice(0, 3), np.array([True, False, True, False, False]), np.array([2, 0, 2])]
)
def test_a_subset_has_these_rows_and_no_other_levels(ratings, rows):
    found = ratings.subset(rows)
    table = ratings.table()
    picked = table[rows] if isinstance(rows, slice) else table[np.arange(5)[rows]]
    assert_frame_equal(found.table(), picked)
    for labels, name in ((found.students, "student"), (found.raters, "rater"), (found.items, "item")):
        assert labels.to_list() == sorted(picked[name].unique())
    assert found.facets[0].labels.to_list() == ["s"]
    assert (found.notes, found.backend) == (ratings.notes, "pandas")


def test_a_subset_may_keep_what_a_model_has_parameters_for(ratings):
    found = ratings.subset(ratings.student < 2, keep_levels=True)
    assert found.students.to_list() == [7, 8]
    assert found.raters.to_list() == ["a", "b", "c"]
    assert (found.items.to_list(), found.facets[0].labels.to_list()) == (["x", "y"], ["s", "t"])


def test_parts_join_to_the_whole(ratings):
    parts = [ratings.subset(rows, keep_levels=True) for rows in (ratings.student == 0, ratings.student > 0)]
    assert_frame_equal(joined(parts).table(), ratings.table())


def test_a_sample_has_whole_students(ratings):
    seeds = [ratings.sample(3, seed) for seed in range(20)]
    assert {some.n_students for some in seeds} > {1}
    for some in seeds:
        expected = ratings.table().filter(pl.col("student").is_in(some.students.implode()))
        assert_frame_equal(some.table(), expected)


def test_unused_levels_go_and_codes_follow():
    codes, labels = used_levels(np.array([3, 1, 3], dtype=np.int32), pl.Series(list("abcd")))
    assert (codes.tolist(), labels.to_list()) == ([1, 0, 1], ["b", "d"])


def test_tallies_are_those_of_the_table(ratings):
    for role in ("student", "rater", "item"):
        expected = ratings.table().group_by(role).agg(n=pl.len(), total=pl.col("score").sum()).sort(role)
        assert ratings.tally(role).n.tolist() == expected["n"].to_list()
        assert ratings.tally(role).total.tolist() == expected["total"].to_list()
    assert ratings.tally("facet topic").mean.tolist() == [1.0, 0.0]
    assert ratings.score_counts.tolist() == [2, 2, 1]
    assert ratings.with_scores(np.array([0, 1, 1], dtype=np.int16)).score.tolist() == [0, 1, 1, 1, 0]


def test_too_little_to_learn_from(ratings):
    with pytest.raises(InputError, match="1 rating in the table; give at least two, of different students"):
        ratings.subset(slice(1)).check_estimable()
    with pytest.raises(InputError, match="all 2 ratings are of one student, 7; raters are judged") as refused:
        ratings.subset(slice(2)).check_estimable()
    assert refused.value.option == "student"


def test_codes_beyond_the_labels_are_refused(ratings):
    with pytest.raises(ValueError, match="rater codes must be 5 numbers from 0 to 1"):
        replace(ratings, raters=pl.Series("rater", ["a", "b"]))
    with pytest.raises(ValueError, match="student codes must be 5 numbers"):
        replace(ratings, student=ratings.student[:3])


def test_a_subset_keeps_the_answers_of_those_who_are_left() -> None:
    ratings = read(TABLE, known="gold")
    assert answers(ratings) == {("a", "i", 2), ("b", "j", 0), ("c", "j", 1), ("d", "i", 1)}
    assert answers(ratings.subset(ratings.student > 1)) == {("c", "j", 1), ("d", "i", 1)}
    assert answers(ratings.subset(ratings.item == 1)) == {("b", "j", 0), ("c", "j", 1)}
    assert ratings.subset((ratings.student == 1) & (ratings.item == 0)).known is None


def test_parts_join_to_what_they_came_from() -> None:
    ratings = read(TABLE, known="gold")
    parts = [
        ratings.subset(ratings.student < 2, keep_levels=True),
        ratings.subset(ratings.student >= 2, keep_levels=True),
    ]
    assert answers(joined(parts)) == answers(ratings)
    assert joined_answers([(0, None), (3, None)]) is None


def test_scores_and_answers_are_recoded_alike_and_count_as_categories() -> None:
    ratings = read(TABLE.with_columns(score=pl.Series([0, 1] * 4)), known="gold")
    assert ratings.n_categories == 3
    passes = ratings.with_scores(np.array([0, 0, 1], dtype=np.int16))
    assert answers(passes) == {("a", "i", 1), ("b", "j", 0), ("c", "j", 0), ("d", "i", 0)}


def test_students_drawn_again_bring_their_answers_each_time() -> None:
    ratings = read(TABLE, known="gold")
    again = resampled(ratings, np.random.default_rng(3))
    drawn = np.random.default_rng(3).integers(4, size=4)
    truth = {0: (0, 2), 1: (1, 0), 2: (1, 1), 3: (0, 1)}
    assert len(np.unique(drawn)) < 4
    expected = [(place, *truth[int(student)]) for place, student in enumerate(drawn)]
    assert again.known is not None
    found = zip(*(getattr(again.known, name).tolist() for name in ("student", "item", "answer")), strict=True)
    assert list(found) == expected


def test_nobody_left_is_no_answers() -> None:
    known = KnownAnswers(np.array([0, 2], np.int32), np.zeros(2, np.int32), np.array([1, 0], np.int16))
    assert known.of_students(np.array([1, 1])) is None
    np.testing.assert_array_equal(renumbered(np.array([3, 1]), 5), [-1, 0, -1, 1, -1])


@pytest.mark.parametrize(
    ("backend", "kind"), [("polars", pl.DataFrame), ("pandas", pd.DataFrame), ("pyarrow", pa.Table)]
)
def test_values_survive(backend, kind):
    table = pl.DataFrame({"rater": ["AM", "BE"], "kappa": [0.5, None], "n": [1, 2]})
    found = to_backend(table, backend)
    assert isinstance(found, kind)
    assert list(found["rater"].to_pylist() if backend == "pyarrow" else found["rater"]) == ["AM", "BE"]


def test_every_table_is_of_the_kind_that_came_in():
    ratings = rl.read(rl.simulate(students=60, raters=4, items=2, seed=1).ratings.table().to_pandas())
    fit = rl.fit(ratings, model="gmf")
    found, compared = fit.diagnose(ratings, time=range(ratings.n_ratings)), fit.compare_raters()
    models = rl.compare(fit, fit.refit(ratings, model="tfm"))
    tables = {
        "raters": fit.raters,
        "verdicts": fit.verdicts(),
        "advice": fit.advice(),
        "flags": found.flags,
        "diagnosis": found.table("raters"),
        "curves": found.curves("R1"),
        "drift": found.drift(),
        "compared": compared.raters,
        "pairs": compared.pairs,
        "models": models.models,
        "agreement": models.agreement,
        "ranks": models.raters,
        "what if": fit.what_if("R1").curve,
        "differences": fit.differences(ratings).table,
        "bootstrap": fit.bootstrap(ratings, replicates=2, workers=1).raters(),
        "profile": fit.profile(ratings, "R1").raters,
        "gate": rl.gate(fit, min_sharpness=0.1).checks,
    }
    others = [name for name, table in tables.items() if not isinstance(table, pd.DataFrame)]
    assert others == []
    assert "R1" in compared.summary()
    assert "gmf" in models.summary()


@pytest.mark.parametrize("unit", [1, 0.5])
def test_label_count_mean_and_estimates(unit):
    columns = {"student": [1, 2, 3, 1, 2, 3], "rater": [*"aaabbb"]}
    scores = [unit * score for score in (2, 3, 3, 4, 5, 7)]
    ratings = rl.read(
        pl.DataFrame(columns | {"score": scores}), student="student", rater="rater", score="score"
    )
    table = level_table(ratings, ratings.raters, "rater", {"eta": np.array([0.5, -0.5])})
    assert table.drop("mean_score").rows() == [("a", 3, 0.5), ("b", 3, -0.5)]
    np.testing.assert_allclose(table["mean_score"], [unit * 8 / 3, unit * 16 / 3])
