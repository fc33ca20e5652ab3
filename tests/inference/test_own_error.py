"""A rater's own error and what all raters share: taken apart where the parts are known."""

from dataclasses import replace

import numpy as np
import pytest

from raterlens.inference.rater_comparison import common_error, own_error
from raterlens.models.panel import Panel

SLOPE, SEVERITY = np.array([0.5, 1.0, 1.5, 2.0, 1.2]), np.linspace(-1, 1, 5)


def panel_of(covariance) -> Panel:
    return Panel(SLOPE, SEVERITY, covariance, np.zeros(5))


def test_a_common_scale_and_origin_are_nobodys_own():
    shared = np.zeros((10, 10))
    shared[:5, :5] = 0.2 * np.outer(SLOPE, SLOPE)
    shared[5:, 5:] = 0.1 * np.outer(SLOPE, SLOPE)  # abilities that are all shifted
    panel = panel_of(shared + 1e-6 * np.eye(10))
    own = own_error(panel, common_error(panel))
    assert np.abs(own).max() < 1e-4


@pytest.mark.parametrize("error", [0.01, 0.3])
def test_independent_errors_are_their_own(error):
    panel = panel_of(error * np.eye(10))
    own = own_error(panel, common_error(panel))
    # One of five directions of slopes, and of severities, could as well be common.
    assert own[:, 0, 0].sum() == pytest.approx(4 * error)
    assert own[:, 1, 1].sum() == pytest.approx(4 * error)


def test_of_a_slope_that_ran_to_its_limit_nothing_is_known():
    root = np.random.default_rng(0).normal(size=(10, 10))
    panel, ran = panel_of(root @ root.T), np.arange(5) == 1
    common = common_error(panel)
    plain, found = own_error(panel, common), own_error(replace(panel, ran=ran), common)
    assert found[1, 0, 0] == 1e4
    plain[1, 0, 0] = found[1, 0, 0]
    np.testing.assert_array_equal(found, plain)
