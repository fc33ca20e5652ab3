import numpy as np
import pytest

from raterlens.capability.links import get_link
from raterlens.likelihood.derivatives import context_curvature
from raterlens.likelihood.nodes import Nodes
from raterlens.models.responses import Adjacent, Graded, Predictor


@pytest.mark.parametrize("response", [Adjacent(3), Graded(get_link("logit"), 3)])
def test_second_derivatives_against_differences(response):
    nodes = Nodes.equally_spaced(-2, 2, 0.5)
    counts = np.random.default_rng(0).random((1, 3, len(nodes.points)))

    def value(x):
        predictor = Predictor(x[:1], x[None, 1:])
        return float(np.sum(counts * response.log_prob(predictor, nodes.points)))

    x, h = np.array([1.2, 0.3, -0.4]), 1e-4
    found = context_curvature(response, Predictor(x[:1], x[None, 1:]), nodes, counts).toarray()
    unit = np.eye(3) * h
    for i in range(3):
        for j in range(3):
            corners = [value(x + a * unit[i] + b * unit[j]) * a * b for a in (1, -1) for b in (1, -1)]
            assert abs(found[i, j] - sum(corners) / (4 * h * h)) < 1e-5
