import numpy as np
import pytest

from raterlens.base.linear_algebra import averaged, mirrored


@pytest.mark.parametrize("size", [1, 5, 300])
def test_what_stands_above_the_diagonal_gives_the_whole(size):
    root = np.random.default_rng(0).normal(size=(size, size))
    whole = root + root.T
    for below in (np.zeros_like(root), root):
        np.testing.assert_array_equal(mirrored(np.triu(whole) + np.tril(below, -1)), whole)


@pytest.mark.parametrize("size", [1, 7, 128, 300])
def test_a_matrix_is_averaged_with_its_transpose(size: int) -> None:
    matrix = np.random.default_rng(size).standard_normal((size, size))
    expected = (matrix + matrix.T) / 2
    np.testing.assert_array_equal(averaged(matrix), expected)
