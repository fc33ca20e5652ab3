"""Known answers stay with their students and items, whatever is done to the ratings."""

import numpy as np
import polars as pl

from raterlens.inference.resampling import resampled
from raterlens.ratings.coded import joined
from raterlens.ratings.known_answers import KnownAnswers, joined_answers, renumbered
from raterlens.reading.reader import read
from tests.support.known_tables import TABLE, answers


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
