"""Packed ratings: the file, its writer, and ratings that stay on disk."""

import os
import pickle
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import InputError
from raterlens.ratings.packed import (
    Scratch,
    StoredRatings,
    count_into,
    forget,
    narrow,
    open_packed,
    open_ratings,
    part_edges,
    write_chunks,
    write_ratings,
    writing,
)
from raterlens.simulation.simulate import simulate
from tests.support.packed_tables import assert_same, table


def written(path):
    with writing(path) as (file, about):
        file.array("numbers", np.arange(12.0).reshape(3, 4))
        file.labels("names", pl.Series(["a", "é", None]))
        file.empty("filled", np.int32, 5)[:] = np.arange(5)
        file.array("none", np.empty(0, dtype=np.int8))
        about["notes"] = ["é"]
    return path


def test_arrays_and_labels_come_back(tmp_path):
    found = open_packed(written(tmp_path / "x.rlpack"))
    np.testing.assert_array_equal(found.array("numbers"), np.arange(12.0).reshape(3, 4))
    np.testing.assert_array_equal(found.array("filled"), np.arange(5))
    assert found.array("none").size == 0
    assert found.labels("names").to_list() == ["a", "é", None]
    assert found.about == {"notes": ["é"]}
    assert "numbers" in found
    assert "others" not in found


def test_every_damaged_byte_of_an_array_is_noticed(tmp_path):
    path = written(tmp_path / "x.rlpack")
    whole = path.read_bytes()
    found = open_packed(path)
    for name, length in (("numbers", 96), ("names", found.array("names").nbytes), ("filled", 20)):
        first = found._arrays[name]["first"]
        for at in range(first, first + length, 7):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
            with pytest.raises(
                InputError, match=f"'x.rlpack' is damaged: '{name}' has another checksum in block 1"
            ):
                open_packed(path).array(name)


def test_a_part_is_checked_without_the_rest(tmp_path):
    path, numbers = tmp_path / "x.rlpack", np.arange(200_000).reshape(-1, 2)
    with writing(path) as (file, _):
        file.array("numbers", numbers)
    found = open_packed(path)
    np.testing.assert_array_equal(found.array("numbers", 16_000, 17_000), numbers[16_000:17_000])
    whole = bytearray(path.read_bytes())
    whole[found._arrays["numbers"]["first"] + 2**18] ^= 1  # the first byte of the second block: of row 2**14
    path.write_bytes(whole)
    damaged = open_packed(path)
    np.testing.assert_array_equal(damaged.array("numbers", 0, 2**14), numbers[: 2**14])
    np.testing.assert_array_equal(damaged.array("numbers", 2**15), numbers[2**15 :])
    for start, stop in ((2**14 - 1, 2**14 + 1), (2**15 - 1, 2**15), (0, None)):
        with pytest.raises(InputError, match="in block 2"):
            damaged.array("numbers", start, stop)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda whole: b"PAR1" + whole[4:], "is not a file of packed ratings"),
        (lambda whole: whole[:30], "is cut short after 30 bytes"),
        (lambda whole: whole[:8] + b"\1" + whole[9:], "has pack version 1, this release reads 2 and 3"),
        (lambda whole: whole[:-100], "it is cut short or damaged"),
        (lambda whole: whole[:23] + b"\x7f" + whole[24:], "its header has another checksum"),
        (lambda whole: whole[:30] + b"\x7f" + whole[31:], "its header has another checksum"),
        (lambda whole: whole[:-3] + b"xyz", "its header has another checksum"),
    ],
)
def test_files_that_are_not_whole(damage, message, tmp_path):
    path = written(tmp_path / "x.rlpack")
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InputError, match=message):
        open_packed(path)


def test_a_file_that_is_cut_short_once_it_is_open(tmp_path):
    found = open_packed(written(tmp_path / "x.rlpack"))
    os.truncate(found.path, 4100)
    with pytest.raises(InputError, match=r"'x\.rlpack' was cut short while it was read"):
        found.array("numbers")


def test_codes_are_as_narrow_as_can_be():
    assert [narrow(size) for size in (0, 1, 256, 257, 2**16 + 1)] == [
        np.dtype(kind) for kind in ("u1", "u1", "u1", "u2", "u4")
    ]


def test_scratch_keeps_numbers_on_disk(tmp_path):
    scratch = Scratch(tmp_path)
    kept = [scratch.keep(np.full(2000, value)) for value in (1, 2)]
    forget(kept[0])
    assert [int(values.sum()) for values in kept] == [2000, 4000]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("n_chunks", [1, 3, 50])
def test_chunks_in_any_order_make_the_same_file(n_chunks, tmp_path):
    ratings = simulate(students=40, raters=6, items=3, raters_per_student=2, seed=2).ratings
    order = np.random.default_rng(0).permutation(ratings.n_ratings)
    shuffled = ratings.subset(order)
    chunks = [
        replace(
            shuffled,
            **{name: getattr(shuffled, name)[rows] for name in ("student", "rater", "item", "score")},
        )
        for rows in np.array_split(np.arange(ratings.n_ratings), n_chunks)
    ]
    write_chunks(chunks, shuffled, ratings.tally("student").n, 2, tmp_path / "x.rlpack", None)
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
