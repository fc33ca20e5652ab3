"""Compiled groups are those of a stable sort and of the readable twin."""

import numpy as np
import pytest

from raterlens.kernels.coded_columns import pairs, runs, sorted_by_two, sorted_rows
from raterlens.ratings.groupings import grouped


@pytest.mark.parametrize("order", ["as they came", "sorted"])
@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64])
def test_they_equal_the_readable_groups(order, kind):
    one, two = np.random.default_rng(3).integers(7, size=(2, 200)).astype(kind)
    if order == "sorted":
        place = np.lexsort((two, one))
        one, two = one[place], two[place]
    found = sorted_by_two(one, 8, two, 7)
    np.testing.assert_array_equal(found, np.lexsort((two, one)))
    np.testing.assert_array_equal(sorted_rows(one, 8), np.argsort(one, kind="stable"))
    readable = grouped(one, 8, two, 7)
    first, of_row = runs(found, one, two)
    np.testing.assert_array_equal(first, readable.first)
    np.testing.assert_array_equal(of_row, readable.of_row)


def test_no_rows_have_no_groups():
    none = np.empty(0, np.int64)
    first, of_row = runs(sorted_by_two(none, 3, none, 3), none, none)
    assert first.tolist() == [0]
    assert len(of_row) == 0


def test_pairs_are_all_of_a_run_the_nearest_first():
    one, two = pairs(np.array([4, 2, 7, 5, 1]), np.array([0, 3, 3, 5]))
    assert list(zip(one.tolist(), two.tolist(), strict=True)) == [(4, 2), (2, 7), (4, 7), (5, 1)]
