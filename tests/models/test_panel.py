"""A panel takes any covariance that can be multiplied and has diagonals."""

import numpy as np
import pytest
from scipy import sparse

from raterlens.models.panel import Panel


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_dense_and_sparse_covariances_answer_alike(kind):
    matrix = np.array(
        [[2.0, 0.0, 0.5, 0.0], [0.0, 1.0, 0.0, 0.2], [0.5, 0.0, 1.0, 0.0], [0.0, 0.2, 0.0, 3.0]]
    )
    panel = Panel(np.array([1.0, 2.0]), np.array([0.1, -0.1]), kind(matrix), np.zeros(2))
    assert panel.covariance is not None
    assert np.asarray(panel.covariance @ np.array([1.0, -1.0, 0.0, 0.0])) == pytest.approx(
        matrix[:, 0] - matrix[:, 1]
    )
    assert panel.covariance.diagonal(2) == pytest.approx([0.5, 0.2])
