import numpy as np
import pytest
from scipy import stats

from raterlens.engine.protocol import Nodes


def test_nodes_integrate_a_normal():
    nodes = Nodes.equally_spaced(-8, 8, 0.3)
    weight = np.exp(nodes.log_weights)
    assert weight.sum() == pytest.approx(1, abs=1e-13)
    np.testing.assert_allclose(weight, stats.norm.pdf(nodes.points) * nodes.step, rtol=1e-12)
