"""Chunks in any order make one file sorted by student."""

import numpy as np
import polars as pl
import pytest

from raterlens.ratings.packed_file import open_packed
from raterlens.ratings.packed_writer import Chunk, Labels, count_into, write_chunks, write_ratings
from raterlens.ratings.stored import StoredRatings
from raterlens.simulation.simulate import simulate
from tests.support.packed_tables import assert_same


@pytest.mark.parametrize("n_chunks", [1, 3, 50])
def test_chunks_in_any_order_make_the_same_file(n_chunks, tmp_path):
    ratings = simulate(students=40, raters=6, items=3, raters_per_student=2, seed=2).ratings
    order = np.random.default_rng(0).permutation(ratings.n_ratings)
    shuffled = ratings.subset(order)
    chunks = [
        Chunk(shuffled.student[rows], shuffled.score[rows], [shuffled.rater[rows], shuffled.item[rows]])
        for rows in np.array_split(np.arange(ratings.n_ratings), n_chunks)
    ]
    labels = Labels(ratings.students, ratings.raters, ratings.items, {}, ratings.notes, "polars", None)
    write_chunks(chunks, labels, ratings.tally("student").n, 2, tmp_path / "x.rlpack")
    found = StoredRatings(open_packed(tmp_path / "x.rlpack"))
    assert_same(found, shuffled)
    for role in ("student", "rater", "item"):
        np.testing.assert_array_equal(found.tally(role).total, ratings.tally(role).total)


def test_ratings_in_memory_are_packed_with_their_labels(tmp_path):
    ratings = simulate(students=20, raters=4, items=2, raters_per_student=2, seed=2).ratings
    write_ratings(ratings, tmp_path / "x.rlpack", cut=2.5)
    packed = open_packed(tmp_path / "x.rlpack")
    assert packed.about["cut"] == 2.5
    assert_same(StoredRatings(packed), ratings)


def test_counting_into_a_stretch():
    counts = np.zeros(6, dtype=np.int64)
    count_into(counts, np.array([3, 4, 3], dtype=np.int32))
    count_into(counts, np.array([5, 3], dtype=np.int32), np.array([10, 20]))
    count_into(counts, np.array([], dtype=np.int32))
    assert counts.tolist() == [0, 0, 0, 22, 1, 10]


def test_labels_know_their_sizes():
    labels = Labels(pl.Series([1]), pl.Series([1, 2]), pl.Series([1]), {"t": pl.Series([1, 2, 3])}, (), "", 0)
    assert labels.sizes == [2, 1, 3]
