"""Compiled averages over normal predictors equal the readable ones, and known ones."""

import numpy as np
import pytest
from scipy import special

from raterlens.capability.curves import AdjacentCurve
from raterlens.capability.integrals import pass_and_fail
from raterlens.capability.links import get_link
from raterlens.kernels.capability_sums import normal_averages

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
    expected, found = both_ways(lambda: curve.rates(*places(np.random.default_rng(1))), monkeypatch)
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
