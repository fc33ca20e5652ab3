import numpy as np
import pytest

from raterlens.likelihood.engines.numpy import NumpyEngine, _bases, expanded_covariance
from raterlens.likelihood.nodes import Nodes
from tests.support.engine_problems import logistic_problem, written_out_covariance

# Single precision, and what the expansion leaves out.
CLOSE = 1e-6


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("full", [0, 1000], ids=["sparse", "full"])
def test_the_expansion_gives_the_sums_over_nodes(linear, full, monkeypatch):
    monkeypatch.setattr("raterlens.likelihood.engines.numpy._FULL", full)
    counts, sums, tables, nodes, scores = logistic_problem(linear=linear)
    expected = written_out_covariance(counts, sums, tables, nodes, scores)
    posteriors = NumpyEngine(counts, sums).posteriors(tables, nodes)
    found = expanded_covariance(counts, sums, posteriors, nodes, scores).toarray()
    np.testing.assert_allclose(found, expected, rtol=CLOSE, atol=CLOSE * np.abs(expected).max())


@pytest.mark.parametrize(("slope", "sd"), [(0.5, 0.2), (4.0, 0.9), (8.0, 0.9)])
def test_nodes_are_as_close_as_the_steepest_slope_and_the_posterior_need(slope, sd):
    """At most 0.8 posterior standard deviations apart, nor more than the width of the steepest logistic curve."""
    nodes = Nodes.equally_spaced(-6, 6, 0.05)
    posterior = np.exp(-0.5 * (nodes.points / sd) ** 2)[None]
    (basis,) = _bases(posterior / posterior.sum(), nodes, np.array([slope]))
    spacing, most = basis.points[1] - basis.points[0], min(0.8 * sd, 1 / slope)
    assert most / 2 < spacing <= most * (1 + 1e-9)
