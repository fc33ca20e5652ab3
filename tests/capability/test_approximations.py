"""The paper's approximations are as far from the exact values as their docstrings say."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from raterlens import capability
from tests.support.capability_values import SIGMA, TABLE


def test_the_papers_approximation_is_too_high_on_its_own_table():
    rho, eta = np.array([row[2] for row in TABLE]), np.array([row[3] for row in TABLE])
    error = capability.gmf_approximation(rho, eta, SIGMA) - capability.gmf(rho=rho, eta=eta, sigma=SIGMA)
    assert 0.025 < error.max() < 0.035
    assert error.min() > 0


def test_the_papers_delta_is_low():
    sigma = np.array([1.0, SIGMA, 1e4])
    ratio = capability.delta_approximation(sigma) / capability.delta(sigma)
    np.testing.assert_allclose(ratio, [0.9879, 0.9388, np.sqrt(np.pi) / 2], atol=5e-5)


@settings(deadline=None)
@given(rho=st.floats(0, 1), eta=st.floats(-50, 50), sigma=st.floats(0.05, 50))
def test_the_approximation_is_as_close_as_documented(rho, eta, sigma):
    error = capability.gmf_approximation(rho, eta, sigma) - capability.gmf(rho=rho, eta=eta, sigma=sigma)
    assert -0.002 < error < 0.064
