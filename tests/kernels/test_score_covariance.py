import numpy as np
import pytest
from scipy import sparse

from raterlens.engine.compiled_engine import CompiledEngine
from raterlens.engine.protocol import CellScores
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
    found = CompiledEngine(counts, sums, arrange=True, dense=dense).score_covariance(tables, nodes, scores)
    found = found if isinstance(found, np.ndarray) else found.toarray()
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("again", [False, True])
def test_of_students_with_many_parameters(again):
    """More than are added up close by, and few, one after the other."""
    counts, _, tables, nodes, few = logistic_problem(linear=False)
    random, n_cells = np.random.default_rng(2), counts.shape[1]
    table = np.repeat(few.table[:n_cells], 40, axis=0) * random.normal(size=(40 * n_cells, 1))
    parameter = np.column_stack([random.permutation(100)[:40] for _ in range(n_cells)]).T.ravel()
    first = np.arange(0, 40 * n_cells + 1, 40)
    scores = CellScores(first, parameter, table, sparse.csr_array((1, 100)), few.steepest)
    if again:
        counts = counts[np.repeat(np.arange(30), 3)]
    expected = written_out_covariance(counts, None, tables, nodes, scores)
    found = CompiledEngine(counts, arrange=not again).score_covariance(tables, nodes, scores)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
