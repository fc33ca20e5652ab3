"""The error that a rater's own ratings decide, apart from what all raters share."""

from dataclasses import replace

import numpy as np
import pytest

from raterlens.inference.rater_comparison import own_error
from raterlens.models.panel import Panel

SLOPE, SEVERITY = np.array([0.5, 1.0, 1.5, 2.0, 1.2]), np.linspace(-1, 1, 5)


def panel_of(covariance) -> Panel:
    return Panel(SLOPE, SEVERITY, covariance, np.zeros(5))


def test_a_common_scale_and_origin_are_nobodys_own():
    shared = np.zeros((10, 10))
    shared[:5, :5] = 0.2 * np.outer(SLOPE, SLOPE)
    shared[5:, 5:] = 0.1 * np.outer(SLOPE, SLOPE)  # abilities that are all shifted
    panel = panel_of(shared + 1e-6 * np.eye(10))
    assert np.abs(own_error(panel)).max() < 1e-4


@pytest.mark.parametrize("error", [0.01, 0.3])
def test_independent_errors_are_their_own(error):
    panel = panel_of(error * np.eye(10))
    np.testing.assert_allclose(own_error(panel), np.broadcast_to(error * np.eye(2), (5, 2, 2)), rtol=1e-3)


def test_centred_severities_are_as_uncertain_as_their_number_allows():
    """Five severities with errors of variance 0.2, counted from their mean: given four, the fifth's is 5 / 4 of it."""
    covariance = np.zeros((10, 10))
    covariance[:5, :5] = 0.1 * np.eye(5)
    covariance[5:, 5:] = 0.2 * (np.eye(5) - 1 / 5)
    own = own_error(panel_of(covariance))
    np.testing.assert_allclose(own[:, 1, 1], 0.2 * 5 / 4, rtol=1e-3)


def test_of_a_slope_that_ran_to_its_limit_nothing_is_known():
    root = np.random.default_rng(0).normal(size=(10, 10))
    panel, ran = panel_of(root @ root.T), np.arange(5) == 1
    plain, found = own_error(panel), own_error(replace(panel, ran=ran))
    assert found[1, 0, 0] == 1e4
    plain[1, 0, 0] = found[1, 0, 0]
    np.testing.assert_array_equal(found, plain)
