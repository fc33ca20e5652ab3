import numpy as np

from raterlens.capability.chebyshev_table import WORTH, read_off
from raterlens.capability.curves import AdjacentCurve
from raterlens.capability.index import Index
from raterlens.capability.population import Histogram, Normal

THRESHOLDS = np.array([[-2.0, -0.5, 0.3, 1.0, 2.5]])


def draws(spread=0.15, rows=3, seed=1):
    random = np.random.default_rng(seed)
    a, eta = (
        random.normal([[1.5], [0.6], [3.0]], spread, (rows, WORTH)),
        random.normal(0, spread, (rows, WORTH)),
    )
    return np.maximum(a, 0.0), eta


def test_a_table_gives_the_values_of_the_function_itself():
    index = Index(AdjacentCurve(THRESHOLDS), Normal())
    a, eta = draws()
    sigma = np.full_like(a, 2.0)
    for found, whole in (
        (index.sharpness(a, eta), index.sharpness(a.ravel(), eta.ravel())),
        (index.standard(a, eta), index.standard(a.ravel(), eta.ravel())),
        (index.kappa(a, eta, sigma), index.kappa(a.ravel(), eta.ravel(), sigma.ravel())),
    ):
        np.testing.assert_allclose(found.ravel(), whole, atol=1e-7)


def test_a_table_allows_for_impressions_of_readings():
    a, eta = draws(rows=3)
    halo = np.maximum(np.random.default_rng(2).normal(0.8, 0.3, a.shape), 0.0)
    sigma = np.full_like(a, 2.0)
    few = (slice(None), slice(0, 20))  # too few draws for a table
    for population in (Normal(0.2, 1.1), Histogram.smooth(0.1, -0.02)):
        index = Index(AdjacentCurve(THRESHOLDS), population)
        for found, whole in (
            (index.sharpness(a, eta, halo), index.sharpness(a[few], eta[few], halo[few])),
            (index.standard(a, eta, halo), index.standard(a[few], eta[few], halo[few])),
            (index.kappa(a, eta, sigma, halo), index.kappa(a[few], eta[few], sigma[few], halo[few])),
        ):
            np.testing.assert_allclose(found[few], whole, atol=1e-6)


def test_severities_may_differ_much_more_than_slopes():
    a, eta = draws()

    def several(a, eta, _):
        return np.stack([np.exp(-a) * np.cos(eta), np.sin(a + eta)])

    found = read_off(several, a, 20 * eta, wide=True)
    assert found.shape == (2, *a.shape)
    np.testing.assert_allclose(found, several(a, 20 * eta, None), atol=1e-7)


def test_rows_that_no_table_fits_are_computed_one_by_one():
    a, eta = draws(spread=2.0)

    def steep(a, eta, _=None):
        return np.tanh(50 * (a - 1) + eta)

    np.testing.assert_array_equal(read_off(steep, a, eta), steep(a, eta))


def test_far_fewer_values_are_asked_for():
    asked = []

    def smooth(a, eta, _):
        asked.append(a.size)
        return np.exp(-a) * np.cos(eta)

    a, eta = draws()
    np.testing.assert_allclose(read_off(smooth, a, eta), np.exp(-a) * np.cos(eta), atol=1e-9)
    assert sum(asked) < a.size / 3
