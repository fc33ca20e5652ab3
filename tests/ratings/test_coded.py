"""Ratings: checked when made, counted, and subsets of them."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import raterlens as rl
from raterlens.base.errors import InputError
from raterlens.ratings.coded import Facet, Ratings, joined, used_levels


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
