"""Ratings on disk are those in memory, as a whole and part by part."""

import pickle

import numpy as np
import pytest

import raterlens as rl
from raterlens.ratings.packed_file import open_packed
from raterlens.ratings.stored import StoredRatings, open_ratings, part_edges
from tests.support.packed_tables import table


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


def test_a_sample_of_students(tmp_path):
    path = rl.pack(table(students=300), tmp_path / "x.rlpack", facets=["when"])
    some = StoredRatings(open_packed(path), part=500).sample(600, seed=1)
    assert 400 < some.n_ratings < 800
    whole = rl.read(path)
    found = dict(zip(some.students, some.tally("student").total, strict=True))
    expected = dict(zip(whole.students, whole.tally("student").total, strict=True))
    assert found == {student: expected[student] for student in found}


def test_large_files_stay_on_disk(tmp_path):
    packed = open_packed(rl.pack(table(), tmp_path / "x.rlpack"))
    assert type(open_ratings(packed)) is rl.Ratings
    assert type(open_ratings(packed, in_memory=100)) is StoredRatings


def test_another_process_opens_the_file_itself(tmp_path):
    packed = open_packed(rl.pack(table(), tmp_path / "x.rlpack"))
    here = StoredRatings(packed, np.array([0, 0, 1, 1], dtype=np.int16), part=100)
    sent = pickle.dumps(here)
    assert len(sent) < 4000
    there = pickle.loads(sent)
    assert there.part_size == 100
    np.testing.assert_array_equal(there.score, here.score)


@pytest.mark.parametrize("size", [1, 4, 9, 1000])
def test_parts_are_whole_students_of_about_that_size(size):
    offsets = np.array([0, 3, 4, 10, 11, 15])
    edges = part_edges(offsets, size)
    assert edges[0] == 0
    assert edges[-1] == 5
    assert (np.diff(edges) > 0).all()
    # Never more than one student beyond the size.
    assert np.diff(offsets[edges]).max() <= size + 6


def test_packed_ratings_have_no_draws_and_no_groups(tmp_path):
    stored = StoredRatings(open_packed(rl.pack(table(), tmp_path / "r.rlpack")))
    assert (stored.draw, stored.group, stored.student_groups) == (None, None, None)
