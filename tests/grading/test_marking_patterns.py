"""Patterns of readings: the same key for the same readings, and only for them."""

import numpy as np
import polars as pl

import raterlens as rl
from raterlens.grading.marking import marking_patterns, readings_of

ROWS = [
    ("a", "R1", "x"),
    ("a", "R1", "y"),
    ("a", "R2", "x"),
    ("b", "R2", "x"),
    ("b", "R1", "y"),
    ("b", "R1", "x"),
    ("c", "R3", "x"),
    ("c", "R2", "x"),
    ("c", "R2", "y"),
    # The same items, in other readings: one of two, one of one; and one rater twice.
    ("d", "R1", "x"),
    ("d", "R2", "y"),
    ("d", "R3", "x"),
    ("e", "R1", "x"),
    ("e", "R1", "x"),
    ("e", "R1", "y"),
]


def _ratings():
    table = pl.DataFrame(ROWS, schema=["student", "rater", "item"], orient="row").with_columns(
        score=pl.int_range(pl.len()) % 2
    )
    return rl.read(table, as_written=True)


def test_students_with_the_same_raters_and_items_share_a_pattern():
    of = marking_patterns(_ratings(), raters=True).of_student
    assert of[0] == of[1]
    assert len(set(of.tolist())) == 4


def test_without_raters_the_items_of_each_reading_count():
    found = marking_patterns(_ratings(), raters=False)
    of = found.of_student
    assert of[0] == of[1] == of[2] == of[4] != of[3]
    assert sorted(found.students.tolist()) == [1, 4]
    assert of[found.example].tolist() == [0, 1]


def test_readings_are_spelled_out_in_the_order_asked_for():
    ratings = _ratings()
    d, a = readings_of(ratings, np.array([3, 0]))
    assert [(ratings.raters[one.rater], len(one.items)) for one in d] == [("R1", 1), ("R2", 1), ("R3", 1)]
    assert [sorted(ratings.items[i] for i in one.items) for one in a] == [["x", "y"], ["x"]]
    (e,) = readings_of(ratings, np.array([4]))
    assert [len(one.items) for one in e] == [2, 1], "the second x is of the next reading"
