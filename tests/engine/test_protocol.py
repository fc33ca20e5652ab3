import numpy as np
import pytest
from scipy import stats

from raterlens.engine.protocol import MOST_NODES, Nodes


def test_nodes_integrate_a_normal():
    nodes = Nodes.equally_spaced(-8, 8, 0.3)
    weight = np.exp(nodes.log_weights)
    assert weight.sum() == pytest.approx(1, abs=1e-13)
    np.testing.assert_allclose(weight, stats.norm.pdf(nodes.points) * nodes.step, rtol=1e-12)


def test_no_grid_has_more_nodes_than_the_limit():
    nodes = Nodes.equally_spaced(-8, 8, 1e-9)
    assert nodes.at_limit
    assert len(nodes.points) <= MOST_NODES + 2
    assert nodes.low <= -8
    assert nodes.high >= 8
    np.testing.assert_allclose(np.exp(nodes.log_weights).sum(), 1, rtol=1e-12)
    assert not Nodes.equally_spaced(-8, 8, 0.01).at_limit
