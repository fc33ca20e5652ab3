"""Compiled tables of raters' meetings are those of the readable twin."""

import numpy as np
import pytest

from raterlens.diagnostics import agreement
from raterlens.kernels.student_groups import meetings
from raterlens.ratings.groupings import grouped
from raterlens.simulation.simulate import simulate


@pytest.mark.parametrize("thresholds", [None, [-1.0, 0.0, 1.0]])
@pytest.mark.parametrize("foreseen", [True, False])
@pytest.mark.parametrize("raters", [5, 70])
def test_they_equal_the_readable_tables(thresholds, foreseen, raters, monkeypatch):
    ratings = simulate(
        students=120, raters=raters, items=2, thresholds=thresholds, raters_per_student=4, seed=3
    ).ratings
    units = grouped(ratings.student, ratings.n_students, ratings.item, ratings.n_items)
    paired = agreement.paired_ratings(ratings, units)
    chance = np.random.default_rng(5).uniform(size=len(paired) if foreseen else 0)
    paired = agreement.PairedRatings(paired.first, paired.second, paired.student, chance)
    monkeypatch.setattr(agreement, "large", lambda n: False)
    one, two, table, expected = agreement._meetings(ratings, paired)
    found = meetings(
        (paired.first, paired.second),
        chance if foreseen else None,
        (ratings.rater, ratings.score),
        (raters, ratings.n_categories),
    )
    np.testing.assert_array_equal(found.one, one)
    np.testing.assert_array_equal(found.two, two)
    np.testing.assert_array_equal(found.tables, table)
    if foreseen:
        np.testing.assert_array_equal(found.expected, expected)
    else:
        assert found.expected is None is expected


def test_a_rater_met_nobody_by_meeting_oneself():
    both = np.array([0, 1]), np.array([1, 2])
    found = meetings(both, None, (np.array([1, 1, 0]), np.array([0, 1, 1])), (2, 2))
    assert found.one.tolist() == [0]
    assert found.two.tolist() == [1]
    assert found.tables.tolist() == [[[0, 0], [0, 1]]]


def test_no_pairs_have_no_tables():
    none = np.empty(0, np.int64)
    found = meetings((none, none), none, (none, none), (3, 2))
    assert found.tables.shape == (0, 2, 2)
    assert len(found.one) == 0
