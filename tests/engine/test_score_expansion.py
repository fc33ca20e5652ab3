import numpy as np
import pytest

from raterlens.engine.numpy_engine import NumpyEngine
from raterlens.engine.score_expansion import expanded_covariance
from tests.support.engine_problems import logistic_problem, written_out_covariance

# Single precision, and what the expansion leaves out.
CLOSE = 1e-6


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("full", [0, 1000], ids=["sparse", "full"])
def test_the_expansion_gives_the_sums_over_nodes(linear, full, monkeypatch):
    monkeypatch.setattr("raterlens.engine.score_expansion._FULL", full)
    counts, sums, tables, nodes, scores = logistic_problem(linear=linear)
    expected = written_out_covariance(counts, sums, tables, nodes, scores)
    posteriors = NumpyEngine(counts, sums).posteriors(tables, nodes)
    found = expanded_covariance(counts, sums, posteriors, nodes, scores).toarray()
    np.testing.assert_allclose(found, expected, rtol=CLOSE, atol=CLOSE * np.abs(expected).max())
