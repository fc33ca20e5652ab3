"""Pieces of work are those of a student."""

import polars as pl

import raterlens as rl
from raterlens.ratings.pieces import by_piece, one_each, read_once


def read(rows):
    frame = pl.DataFrame(rows, schema=["student", "essay", "rater", "score"], orient="row")
    return rl.read(frame, student="student", rater="rater", score="score", piece="essay")


def test_a_label_counts_within_its_student():
    ratings = read([("a", "x", "r", 1), ("a", "y", "r", 0), ("b", "x", "r", 1), ("b", "x", "s", 0)])
    found = by_piece(ratings)
    assert found.ratings.n_students == 3
    assert found.student.tolist() == [0, 0, 1]
    assert ratings.piece.labels.gather(found.label).to_list() == ["x", "y", "x"]
    assert not one_each(ratings)
    assert not read_once(ratings)
    assert ratings.facets == ()


def test_one_piece_per_student_and_pieces_read_once():
    assert one_each(read([("a", "x", "r", 1), ("b", "y", "s", 0), ("b", "y", "r", 1)]))
    assert read_once(read([("a", "x", "r", 1), ("a", "y", "s", 0), ("b", "x", "r", 1)]))


def test_parts_keep_their_pieces():
    ratings = read([("a", "x", "r", 1), ("a", "y", "r", 0), ("b", "z", "r", 1)])
    some = ratings.subset(ratings.student == 1)
    assert some.piece.labels.to_list() == ["z"]
