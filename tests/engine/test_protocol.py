import numpy as np
import pytest
from scipy import stats

from raterlens.likelihood.nodes import MOST_NODES, Nodes


def test_nodes_integrate_a_normal():
    nodes = Nodes.equally_spaced(-8, 8, 0.3)
    weight = np.exp(nodes.log_weights)
    assert weight.sum() == pytest.approx(1, abs=1e-13)
    np.testing.assert_allclose(weight, stats.norm.pdf(nodes.points) * nodes.step, rtol=1e-12)


@pytest.mark.parametrize(("low", "high"), [(-8, 8), (-7.95, 8.05), (-1.01, 0.52), (0.1, 0.11)])
def test_nodes_reach_both_ends_and_lie_on_a_lattice_through_0(low, high):
    nodes = Nodes.equally_spaced(low, high, 0.3)
    assert nodes.low <= low
    assert nodes.high >= high
    np.testing.assert_allclose(nodes.points / 0.3, np.round(nodes.points / 0.3), atol=1e-9)


def test_no_grid_has_more_nodes_than_the_limit():
    nodes = Nodes.equally_spaced(-8, 8, 1e-9)
    assert nodes.at_limit
    assert len(nodes.points) <= MOST_NODES + 2
    assert nodes.low <= -8
    assert nodes.high >= 8
    np.testing.assert_allclose(np.exp(nodes.log_weights).sum(), 1, rtol=1e-12)
    assert not Nodes.equally_spaced(-8, 8, 0.01).at_limit
