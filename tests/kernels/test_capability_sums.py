"""Compiled sums that capability is made of equal the readable ones."""

import numpy as np
import pytest
from numpy.polynomial import chebyshev
from scipy import special

from raterlens.capability import integrals as moments
from raterlens.capability.chebyshev_table import read_off
from raterlens.capability.curves import AdjacentCurve
from raterlens.capability.integrals import pass_and_fail, rates_and_density
from raterlens.capability.links import get_link
from raterlens.kernels.capability_sums import chebyshev_sums, mean_tail_and_density, normal_averages

RANDOM = np.random.default_rng(3)


@pytest.mark.parametrize("places", [1, 15, 16, 33])
def test_it_equals_numpys_sum_of_polynomials(places):
    coefficients = RANDOM.normal(size=(2, 3, 4, 5))
    slope, severity = RANDOM.normal(size=(2, 3, places))
    centre, half = RANDOM.normal(size=(2, 3)), RANDOM.uniform(1, 2, (2, 3))
    found, rows = np.full((2, 5, places), np.nan), np.array([4, 0, 3])
    spread = np.full((2, 5, places), np.nan)
    spread[:, rows] = slope, severity
    chebyshev_sums(coefficients, tuple(spread), centre, half, rows, found)
    assert np.isnan(found[:, [1, 2]]).all()
    for row in range(3):
        x, y = (slope[row] - centre[0, row]) / half[0, row], (severity[row] - centre[1, row]) / half[1, row]
        for value in range(2):
            expected = chebyshev.chebval2d(x, y, coefficients[value, row])
            np.testing.assert_allclose(found[value, rows[row]], expected, rtol=1e-12, atol=1e-12)


def test_one_polynomial_is_a_constant():
    one, found = np.ones((2, 2)), np.empty((1, 2, 4))
    places = RANDOM.normal(size=(2, 4)), np.ones((2, 4))
    chebyshev_sums(np.full((1, 2, 1, 1), 7.0), places, one, one, np.arange(2), found)
    np.testing.assert_array_equal(found, 7.0)


def test_a_table_is_the_same_with_and_without_compiled_code(monkeypatch):
    a, eta = RANDOM.normal(1.5, 0.2, (4, 800)), RANDOM.normal(0, 0.2, (4, 800))

    def function(a, eta, _):
        return np.stack([np.exp(-a) * np.cos(eta), np.tanh(a - eta), np.tanh(8 * a + eta)])

    found = []
    for compiled in (True, False):
        monkeypatch.setattr("raterlens.capability.chebyshev_table.available", lambda known=compiled: known)
        found.append(read_off(function, a, eta))
    np.testing.assert_allclose(*found, rtol=0, atol=1e-13)
    np.testing.assert_allclose(found[0], function(a, eta, None), rtol=0, atol=3e-7)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("places", (np.ones((2, 4)), np.ones((3, 4)))),
        ("places", (np.ones((3, 4)), np.ones((3, 5)))),
        ("centre", np.ones((2, 4))),
        ("half", np.ones((1, 3))),
        ("row", np.arange(2)),
        ("row", np.array([0, 1, 3])),
        ("row", np.array([0, 1, -1])),
        ("out", np.ones((2, 3, 3))),
    ],
)
def test_what_does_not_fit_is_refused(name, wrong):
    given = {
        "coefficients": np.ones((2, 3, 4, 5)),
        "places": (np.ones((3, 4)), np.ones((3, 4))),
        "centre": np.ones((2, 3)),
        "half": np.ones((2, 3)),
        "row": np.arange(3),
        "out": np.ones((2, 3, 4)),
    }
    chebyshev_sums(**given)
    with pytest.raises(ValueError, match="a kernel would leave its arrays"):
        chebyshev_sums(**given | {name: wrong})


# ----------------------------------------------------------------------------------------------------
# Compiled mixtures equal the readable ones.


def test_it_equals_the_readable_sum(monkeypatch):
    random = np.random.default_rng(0)
    slope, severity = random.exponential(1.5, 5000), random.normal(0, 4, 5000)
    slope[:3], severity[:6] = [0.0, 1e-9, 60.0], [0.0, 0.0, 0.0, 50.0, -50.0, 1e-9]
    expected = moments.moments(slope, severity, get_link("logit"))
    monkeypatch.setattr("raterlens.kernels.library.NUMBERS", 0)
    np.testing.assert_allclose(
        moments.moments(slope, severity, get_link("logit")), expected, rtol=1e-13, atol=1e-300
    )


@pytest.mark.parametrize("link", ["logit", "probit", "cauchit"])
def test_shares_of_passes_equal_the_readable_ones(link, monkeypatch):
    random = np.random.default_rng(1)
    slope, severity = random.exponential(1.5, 3000), random.normal(0, 4, 3000)
    slope[:3], severity[:6] = [0.0, 1e-9, 60.0], [0.0, 0.0, 0.0, 50.0, -50.0, 1e-9]
    severity[6:8] = [900.0, -900.0]  # where nothing is left
    monkeypatch.setattr("raterlens.kernels.library.NUMBERS", np.inf)
    expected = pass_and_fail(slope, severity, get_link(link))
    monkeypatch.setattr("raterlens.kernels.library.NUMBERS", 0)
    found = pass_and_fail(slope, severity, get_link(link))
    assert link == "cauchit" or found[0, 6] == found[1, 7] == 0
    np.testing.assert_allclose(found, expected, rtol=2e-13, atol=1e-300)


def test_shares_and_densities_together_equal_the_readable_ones(monkeypatch):
    random = np.random.default_rng(2)
    slope, severity = random.normal(1, 1, (60, 50)), random.normal(0, 4, (60, 50))
    slope[0, :3], severity[0, :6] = [0.0, 1e-9, 60.0], [0.0, 0.0, 0.0, 50.0, -50.0, 1e-9]
    monkeypatch.setattr("raterlens.kernels.library.NUMBERS", np.inf)
    expected = rates_and_density(slope, severity, get_link("logit"))
    monkeypatch.setattr("raterlens.kernels.library.NUMBERS", 0)
    found = rates_and_density(slope, severity, get_link("logit"))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-13, atol=1e-300)


def test_tails_of_a_normal_distribution():
    """Against SciPy's, down to where doubles end; the square of a distance is rounded, in its exponent."""
    distance, alone = np.linspace(0, 37, 5000), np.ones(1)
    found, _ = mean_tail_and_density(np.zeros(5000), distance, alone, alone)
    np.testing.assert_allclose(found, special.ndtr(-distance), rtol=5e-13)


# ----------------------------------------------------------------------------------------------------
# Compiled averages over normal predictors equal the readable ones, and known ones.


NODES = np.arange(-40.0, 40.05, 0.1)


def places(random):
    """Flat, usual and steep slopes, up to where compiled code gives way; severities up to far beyond any grid."""
    slope, severity = random.exponential(1.5, (30, 50)), random.normal(0, 4, (30, 50))
    slope[0, :5], severity[0, :4] = [0.0, 1e-9, 15.9, 16.1, 60.0], [60.0, -60.0, 1e6, -1e6]
    slope[1], severity[1, :4] = -slope[1], [60.0, -60.0, 1e6, -1e6]
    return slope, severity


def both_ways(value, monkeypatch):
    """By readable code, and by compiled code."""
    found = []
    for numbers in (np.inf, 0):
        monkeypatch.setattr("raterlens.kernels.library.NUMBERS", numbers)
        found.append(value())
    return found


def test_moments_of_ordered_scores_equal_the_readable_ones(monkeypatch):
    curve = AdjacentCurve(np.array([[-1.0, 0.2, 0.8], [0.5, -0.7, np.nan]]))
    expected, found = both_ways(lambda: curve.moments(*places(np.random.default_rng(0))), monkeypatch)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


def test_shares_of_ordered_scores_equal_the_readable_ones(monkeypatch):
    curve = AdjacentCurve(np.array([[-1.0, 0.2, 0.8], [0.5, -0.7, np.nan]]))
    expected, found = both_ways(
        lambda: curve.rates_and_density(*places(np.random.default_rng(1)))[0], monkeypatch
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)


def test_shares_through_the_complementary_log_log_link_equal_the_readable_ones(monkeypatch):
    slope, severity = places(np.random.default_rng(2))
    expected, found = both_ways(lambda: pass_and_fail(slope, severity, get_link("cloglog")), monkeypatch)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("slope", [0.3, 1.0, 2.5, 9.0])
def test_a_normal_distribution_seen_through_another(slope):
    """Variances add, wherever the grid ends."""
    severity = np.array([0.0, 1.0, -3.0, 25.0, -25.0, 39.0, -41.0, 300.0, -300.0])
    tables = np.stack([special.ndtr(NODES), special.ndtr(-NODES)])
    found = normal_averages(tables[None], NODES, np.full((1, 9), slope), severity[None])[:, 0]
    spread = np.sqrt(1 + slope**2)
    np.testing.assert_allclose(
        found, [special.ndtr(-severity / spread), special.ndtr(severity / spread)], rtol=1e-11, atol=1e-17
    )


def test_a_constant_is_its_own_average():
    random = np.random.default_rng(3)
    slope, severity = random.uniform(0.25, 16, 500), random.normal(0, 60, 500)
    tables = np.multiply.outer([[1.0, 7.0], [3.0, 0.0]], np.ones(len(NODES)))
    found = normal_averages(tables, NODES, slope.reshape(2, 250), severity.reshape(2, 250))
    np.testing.assert_allclose(found, np.multiply.outer([[1.0, 3.0], [7.0, 0.0]], np.ones(250)), rtol=1e-13)


def test_what_falls_like_an_exponential_keeps_its_digits():
    """E[exp(x)] = exp(slope^2 / 2 - severity): most of it lies a slope above the mean."""
    slope = np.array([0.5, 1.5, 3.0])
    found = normal_averages(np.exp(NODES)[None, None], NODES, slope[None], np.zeros((1, 3)))
    np.testing.assert_allclose(found[0, 0], np.exp(slope**2 / 2), rtol=1e-12)
