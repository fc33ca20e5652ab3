"""Observed information with a reading effect, against differences of the exact gradient."""

import numpy as np
import pytest

from raterlens.inference.covariance import in_full
from tests.support.halo_problems import KINDS, NODES, problem_of


@pytest.mark.parametrize("kind", KINDS)
def test_information_is_minus_the_second_derivative(kind):
    _, problem, x = problem_of(*kind)
    found = in_full(problem.information(x, NODES))
    for j in range(len(x)):
        step = np.eye(len(x))[j] * 1e-5
        above, below = (problem.value(x + sign * step, NODES).gradient for sign in (1, -1))
        np.testing.assert_allclose(found[j], (below - above) / 2e-5, atol=2e-5)


def test_a_spread_of_0_has_information_too():
    _, problem, x = problem_of(*KINDS[0])
    at = problem.model.blocks["halo"].start
    x[at] = 0.0
    found = in_full(problem.information(x, NODES))[at, at]
    x[at] = 2e-3
    above = problem.value(x, NODES).gradient[at]
    x[at] = 0.0
    assert found == pytest.approx((problem.value(x, NODES).gradient[at] - above) / 2e-3, rel=0.02)
