import numpy as np
from scipy.interpolate import CubicSpline

from raterlens.capability.population import spline


def test_the_spline_is_that_of_scipy():
    random = np.random.default_rng(3)
    for n in (4, 5, 65):
        x = np.cumsum(random.uniform(0.01, 1.0, n))
        y, at = random.normal(size=n), random.uniform(x[0] - 0.1, x[-1] + 0.1, (3, 50))
        np.testing.assert_allclose(spline(x, y, at), CubicSpline(x, y)(at), rtol=1e-8, atol=1e-8)


def test_it_goes_through_its_points():
    x = np.array([0.0, 0.1, 0.5, 0.6, 2.0])
    np.testing.assert_allclose(spline(x, np.sin(x), x), np.sin(x), atol=1e-14)
