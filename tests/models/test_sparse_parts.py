import numpy as np
from scipy import sparse

from raterlens.models.facets import placed, stacked, symmetric


def test_rows_are_stacked_as_often_as_there_are_levers():
    first = [(np.array([0, 2]), np.array([1.0, 2.0]))]
    second = [(np.array([1, 1]), np.array([3.0, 4.0])), (np.array([3, 0]), np.array([5.0, 6.0]))]
    found = stacked([(first, np.ones(1)), (second, np.array([1.0, 2.0]))], 4).toarray()
    expected = [[1, 0, 0, 0], [0, 0, 2, 0], [0, 3, 0, 5], [0, 6, 0, 10], [6, 4, 0, 0], [12, 8, 0, 0]]
    np.testing.assert_array_equal(found, expected)


def test_a_matrix_is_placed_in_columns_of_a_wider_one():
    own = np.array([[1.0, 2.0], [0.0, 3.0]])
    found = placed(sparse.csr_array(own), slice(1, 3), 4).toarray()
    np.testing.assert_array_equal(found, np.pad(own, [(0, 0), (1, 1)]))


def test_what_is_symmetric_has_each_value_twice():
    found = symmetric(np.array([0, 1]), np.array([2, 1]), np.array([5.0, 7.0]), 3).toarray()
    np.testing.assert_array_equal(found, [[0, 0, 5], [0, 14, 0], [5, 0, 0]])
