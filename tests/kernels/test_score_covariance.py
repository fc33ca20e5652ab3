import numpy as np
import pytest

from raterlens.likelihood.engines.compiled import CompiledEngine
from tests.support.engine_problems import logistic_problem, written_out_covariance, written_out_gradient


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
    found = CompiledEngine(counts, sums, arrange=True, dense=dense).score_covariance(tables, nodes, scores)
    found = found if isinstance(found, np.ndarray) else found.toarray()
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("again", [False, True])
def test_variances_of_posterior_means(linear, again):
    """Where parameters vary; with students merged, too."""
    counts, sums, tables, nodes, scores = logistic_problem(linear=linear)
    random = np.random.default_rng(1)
    if again:
        rows = random.integers(0, 40, 300)
        counts, sums = counts[rows], None if sums is None else sums[rows]
    root = random.normal(size=(scores.n_parameters,) * 2)
    gradient = written_out_gradient(counts, sums, tables, nodes, scores)
    engine = CompiledEngine(counts, sums, arrange=True)
    found = engine.mean_variances(tables, nodes, scores, root @ root.T)
    np.testing.assert_allclose(found, ((gradient @ root) ** 2).sum(axis=1), rtol=1e-5)
