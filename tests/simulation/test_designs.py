"""Designs against what was asked."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from raterlens.simulation.simulate import simulate


def columns(ratings):
    return np.column_stack([ratings.student, ratings.rater, ratings.item])


def test_complete_design_has_every_combination_once():
    ratings = simulate(students=7, raters=3, items=4).ratings
    assert len(np.unique(columns(ratings), axis=0)) == ratings.n_ratings == 7 * 3 * 4


@pytest.mark.parametrize(
    ("students", "raters", "each"), [(40, 12, 3), (100, 7, 3), (5, 5, 1), (2, 5, 3), (50, 4, 4)]
)
def test_incomplete_design_is_balanced_and_without_repeats(students, raters, each):
    ratings = simulate(students=students, raters=raters, items=2, raters_per_student=each, seed=3).ratings
    rows = columns(ratings)
    assert len(np.unique(rows, axis=0)) == len(rows) == students * each * 2
    assert (np.bincount(ratings.student) == each * 2).all()
    load = np.bincount(ratings.rater, minlength=raters) / 2
    laps = -(-students // -(-raters // each))
    assert load.min() >= max(1, laps - 1)
    assert load.max() <= 2 * laps


def test_incomplete_design_links_all_raters():
    ratings = simulate(students=500, raters=50, items=1, raters_per_student=2, seed=0).ratings
    linked = np.eye(50, dtype=bool)
    pairs = ratings.rater.reshape(-1, 2)
    linked[pairs[:, 0], pairs[:, 1]] = linked[pairs[:, 1], pairs[:, 0]] = True
    assert (np.linalg.matrix_power(linked.astype(float), 20) > 0).all()


def test_labels_sort_in_the_order_of_the_parameters():
    ratings = simulate(students=12, raters=100, items=2).ratings
    for labels in (ratings.students, ratings.raters, ratings.items):
        assert labels.is_sorted()
    assert ratings.raters[:2].to_list() == ["R001", "R002"]


def test_written_design_in_any_form_is_the_same():
    rows = {"student": [3, 3, 1, 1, 2], "rater": ["b", "a", "a", "b", "a"], "item": [1, 1, 2, 2, 1]}
    forms = [pl.DataFrame(rows), pd.DataFrame(rows), tuple(rows.values())]
    drawn = [simulate(design=form, severity=[-3.0, 3.0], seed=4) for form in forms]
    for other in drawn:
        assert other.ratings.raters.to_list() == ["a", "b"]
        np.testing.assert_array_equal(other.ratings.student, [2, 2, 0, 0, 1])
        np.testing.assert_array_equal(other.ratings.rater, [1, 0, 0, 1, 0])
        np.testing.assert_array_equal(other.ratings.score, drawn[0].ratings.score)


def test_written_design_may_repeat_a_rating():
    ratings = simulate(design=([1, 1, 2], [1, 1, 1], [1, 1, 1])).ratings
    assert ratings.n_ratings == 3


@pytest.mark.parametrize(("students", "common"), [(30, 0), (30, 6), (30, 30)])
def test_linked_design_has_the_common_students(students, common):
    ratings = simulate(students=students, raters=5, items=2, common_students=common).ratings
    raters_of = [np.unique(ratings.rater[ratings.student == n]).size for n in range(students)]
    assert raters_of == [5] * common + [1] * (students - common)
    assert ratings.n_ratings == 2 * (5 * common + students - common)
    assert np.ptp(np.bincount(ratings.rater)) <= 2
