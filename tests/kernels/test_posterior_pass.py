"""Students whose products of probabilities would leave the range of doubles."""

import numpy as np
import pytest
from scipy import sparse

from raterlens.likelihood.engines.compiled import Arrangement, CompiledEngine
from raterlens.likelihood.engines.numpy import NumpyEngine
from tests.support.engine_problems import random_problem

# Sums of a few dozen exponentials, each exact to the last bit or two.
CLOSE = {"rtol": 1e-11, "atol": 1e-11}


def test_vanishing_and_impossible_cells_do_no_harm():
    """Log-probabilities far below the largest, down to minus infinity."""
    counts, sums, tables, nodes = random_problem(steepness=2000.0)
    tables.cells[3, :5] = -np.inf
    expected = NumpyEngine(counts, sums).evaluate(tables, nodes)
    found = CompiledEngine(counts, sums).evaluate(tables, nodes)
    assert found.loglik == pytest.approx(expected.loglik, rel=1e-13)
    np.testing.assert_allclose(found.counts, expected.counts, **CLOSE)


def test_counts_that_are_no_whole_numbers():
    """Students who have some are not merged, and take no products."""
    counts, sums, tables, nodes = random_problem()
    counts.data[::3] += 0.5
    assert Arrangement.of(sparse.vstack([counts, counts], format="csr"), None).weight is None
    found = CompiledEngine(counts, sums, arrange=True).evaluate(tables, nodes)
    expected = NumpyEngine(counts, sums).evaluate(tables, nodes)
    assert found.loglik == pytest.approx(expected.loglik, rel=1e-13)
    np.testing.assert_allclose(found.counts, expected.counts, **CLOSE)
