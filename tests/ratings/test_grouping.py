import numpy as np
import pytest

from raterlens.ratings.grouping import grouped, large, order_of, order_of_two


@pytest.mark.parametrize("order", ["as they came", "sorted"])
def test_groups_are_those_of_a_stable_sort(order):
    one, two = np.random.default_rng(3).integers(7, size=(2, 200))
    if order == "sorted":
        place = np.lexsort((two, one))
        one, two = one[place], two[place]
    found = grouped(one, 8, two, 7)
    np.testing.assert_array_equal(found.order, np.lexsort((two, one)))
    np.testing.assert_array_equal(order_of_two(one, 8, two, 7), found.order)
    np.testing.assert_array_equal(order_of(one, 8), np.argsort(one, kind="stable"))
    distinct, of_row = np.unique(one * 7 + two, return_inverse=True)
    assert len(found) == len(distinct)
    np.testing.assert_array_equal(found.of_row, of_row)
    np.testing.assert_array_equal(found.size, np.bincount(of_row))
    np.testing.assert_array_equal(one[found.example] * 7 + two[found.example], distinct)


def test_large_data_begin_where_compiled_code_pays():
    assert not large(50)
    assert large(1_000_000)
