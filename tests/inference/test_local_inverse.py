"""Blocks of the inverse of a sparse matrix, against the dense inverse."""

import numpy as np
import pytest
from scipy import sparse

from raterlens.inference import sparse_covariance as local_inverse
from raterlens.inference.sparse_covariance import LocalInverse, conjugate_gradients, lowest, own_blocks

N = 300


@pytest.fixture(scope="module")
def matrix() -> sparse.csr_array:
    """Two parameters per rater, coupled to those of some twenty others; some know next to nothing of their own."""
    random = np.random.default_rng(0)
    rows = np.zeros((4 * N, 2 * N))
    for row in rows:
        for rater in random.choice(N, 3, replace=False):
            row[2 * rater : 2 * rater + 2] = random.normal(size=2)
    rows[:, random.choice(2 * N, 20)] *= 0.15
    return sparse.csr_array(rows.T @ rows + 0.02 * np.eye(2 * N))


@pytest.fixture(scope="module")
def inverse(matrix) -> np.ndarray:
    return np.linalg.inv(matrix.toarray())


def test_blocks_of_the_inverse(matrix, inverse):
    found = LocalInverse.of(matrix, 2).blocks(lowest(matrix)[1])
    expected = own_blocks(sparse.csr_array(inverse), 2)
    ratio = np.einsum("rii->ri", found) / np.einsum("rii->ri", expected)
    # Of variances: half of it of standard errors.
    assert np.mean(np.abs(ratio - 1) < 0.04) > 0.99
    assert ratio.mean() == pytest.approx(1, abs=2e-3)
    np.testing.assert_array_equal(found[:, 0, 1], found[:, 1, 0])


def test_raters_who_scatter_are_solved_exactly(matrix, inverse, monkeypatch):
    monkeypatch.setattr(local_inverse, "_NOISE", 0.0)
    monkeypatch.setattr(local_inverse, "_MOST_SOLVED", N)
    found = LocalInverse.of(matrix, 2).blocks(lowest(matrix)[1])
    np.testing.assert_allclose(found, own_blocks(sparse.csr_array(inverse), 2), rtol=1e-3, atol=1e-4)


def test_columns_are_solved_exactly(matrix, inverse):
    right = np.random.default_rng(1).normal(size=(2 * N, 3))
    right[:, 0] = np.eye(2 * N)[0]
    np.testing.assert_allclose(
        LocalInverse.of(matrix, 2).columns(right), inverse @ right, atol=1e-6 * np.abs(inverse).max()
    )


def test_the_smallest_eigenvalues_of_a_correlation(matrix):
    values, directions = lowest(matrix)
    scale = np.sqrt(matrix.diagonal())
    expected = np.linalg.eigvalsh(matrix.toarray() / scale / scale[:, None])
    np.testing.assert_allclose(values, expected[: len(values)], atol=0.02)
    again = directions.T @ matrix @ directions
    np.testing.assert_allclose(np.diag(again), values, atol=0.02)


def test_a_matrix_that_bends_the_wrong_way_is_not_solved_in_silence():
    wrong = sparse.csr_array(np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(FloatingPointError, match="singular"):
        conjugate_gradients(wrong, sparse.eye_array(2, format="csr"), np.array([[1.0], [-1.0]]))
