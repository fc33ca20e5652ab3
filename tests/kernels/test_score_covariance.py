import numpy as np
import pytest
from scipy import sparse

from raterlens.kernels.score_covariance import quadratic_forms
from raterlens.likelihood.engines.compiled import CompiledEngine
from tests.support.engine_problems import logistic_problem, written_out_covariance


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("dense", [7, 0], ids=["full", "sparse"])
@pytest.mark.parametrize("again", [False, True])
def test_covariances_of_scores(linear, dense, again):
    """In a full matrix, and in the pairs of parameters that students share; with students merged, too."""
    counts, sums, tables, nodes, scores = logistic_problem(linear=linear)
    if again:
        rows = np.random.default_rng(1).integers(0, 40, 300)
        counts, sums = counts[rows], None if sums is None else sums[rows]
    expected = written_out_covariance(counts, sums, tables, nodes, scores)
    found = CompiledEngine(counts, sums, arrange=True, dense=dense).covariance(tables, nodes, scores)
    found = found if isinstance(found, np.ndarray) else found.toarray()
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


def test_quadratic_forms_of_sparse_rows():
    """Rows without an entry and with the same one twice among them."""
    random = np.random.default_rng(0)
    begin, column = np.array([0, 3, 3, 5, 12]), np.array([2, 0, 4, 1, 1, 6, 5, 4, 3, 2, 1, 0])
    rows = sparse.csr_array((random.normal(size=12), column, begin), shape=(4, 7))
    half = random.normal(size=(7, 7))
    full = rows.toarray()
    expected = np.einsum("ni,ij,nj->n", full, half + half.T, full)
    np.testing.assert_allclose(quadratic_forms(rows, half + half.T), expected, rtol=1e-12, atol=1e-14)
