"""The even scale of slopes: its derivative, its inverse, and draws between known points."""

import numpy as np
import pytest

from raterlens.inference.panel_draws import between, even, skewed, uneven


def test_the_scale_has_the_stated_derivative_and_an_inverse():
    slope = np.array([-2.0, -0.3, 0.0, 0.4, 1.0, 3.0, 9.0])
    rise = (even(slope + 1e-3) - even(slope - 1e-3)) / 2e-3
    np.testing.assert_allclose(rise, (1 + slope**4) ** -0.25, rtol=3e-3)
    np.testing.assert_allclose(uneven(even(slope)), slope, atol=1e-6)


def test_draws_are_skewed_where_slopes_are_large():
    centre = np.array([0.0, 2.0])
    above, below = (skewed(centre, centre + away) - centre for away in (0.8, -0.8))
    assert above[0] == pytest.approx(-below[0])
    assert above[1] > -1.2 * below[1]


def test_draws_reach_the_points_that_are_known():
    low, high = np.array([0.0, 0.5]), np.array([1.0, 10.0])
    for z, expected in ((-1.959964, low), (0.0, [0.4, 10.0]), (1.959964, high)):
        np.testing.assert_allclose(
            between(np.array([0.4, 10.0]), low, high, np.full(2, z)), expected, rtol=1e-6, atol=1e-6
        )
