"""The largest of noisy slopes, against what is known of the largest of normal numbers."""

import numpy as np
import pytest
from scipy import sparse

from raterlens.capability.yardstick import Measure
from raterlens.inference.measurement import corrected_largest, expected_largest, likely_largest
from raterlens.models.panel import Panel


def panel_of(slope, covariance) -> Panel:
    return Panel(np.asarray(slope, float), np.zeros(len(slope)), covariance, np.zeros(len(slope)))


def test_expected_largest_of_independent_normals():
    """E max of n standard normals: 0.5642 for 2, 1.1630 for 5 (Harter, 1961); each is it equally often."""
    for n, expected in ((2, 0.5642), (5, 1.1630)):
        found = expected_largest(panel_of(np.full(n, 5.0), np.eye(2 * n)))
        assert found.of(np.full(n, 5.0)) - 5 == pytest.approx(expected, abs=0.03)
        np.testing.assert_allclose(found.weights, 1 / n, atol=0.03)


def test_raters_far_below_do_not_count():
    slope = np.concatenate([np.full(2, 30.0), np.full(40, 1.0)])
    panel = Panel(slope, np.zeros(42), np.eye(84), np.zeros(42), ran=np.zeros(42, bool))
    found = expected_largest(panel)
    assert found.of(slope) - 30 == pytest.approx(0.5642, abs=0.03)
    assert found.weights[2:].max() == 0


def test_the_corrected_yardstick_takes_the_expected_excess_off():
    panel = panel_of(np.full(5, 5.0), np.eye(10))
    largest = Measure(0.0, np.eye(1, 5)[0])
    assert corrected_largest(panel, largest).of(panel.slope) == pytest.approx(5 - 1.163, abs=0.03)


def test_the_luckiest_of_thousands_is_not_the_sharpest():
    """3,000 slopes around 1.5 with a deviation of 0.3, seen with errors of 0.6: the largest is about 2.4, not 3.9."""
    random = np.random.default_rng(0)
    truth = 1.5 + 0.3 * random.standard_normal(3_000)
    seen = truth + 0.6 * random.standard_normal(3_000)
    panel = panel_of(seen, sparse.diags_array(np.full(6_000, 0.36), format="csr"))
    found = likely_largest(panel)
    assert np.abs(seen).max() > 3.5
    assert found.of(np.abs(seen)) == pytest.approx(truth.max(), abs=0.35)
    assert found.weights.sum() < 0.3


def test_raters_who_are_known_well_keep_their_largest():
    slope = np.linspace(0.5, 2.0, 600)
    found = likely_largest(panel_of(slope, sparse.diags_array(np.full(1_200, 1e-6), format="csr")))
    assert found.of(slope) == pytest.approx(2.0, abs=0.01)


def test_slopes_that_err_together_and_one_that_falls():
    """Against independent draws; the largest in size may be a negative slope."""
    slope = np.array([1.5, -1.4, 1.2, 0.2])
    root = 0.3 * np.random.default_rng(1).normal(size=(4, 4))
    covariance = np.zeros((8, 8))
    covariance[:4, :4] = root @ root.T
    drawn = np.abs(np.random.default_rng(2).multivariate_normal(slope, covariance[:4, :4], 40_000))
    found = expected_largest(panel_of(slope, covariance))
    assert found.of(np.abs(slope)) == pytest.approx(drawn.max(axis=1).mean(), abs=0.02)
    np.testing.assert_allclose(
        found.weights, np.bincount(drawn.argmax(axis=1), minlength=4) / 40_000, atol=0.02
    )


def test_a_yardstick_keeps_a_tenth_of_its_slope():
    """However noisy slopes are."""
    panel = panel_of([1.0, 0.9], np.diag(np.full(4, 100.0)))
    largest = Measure(0.0, np.array([1.0, 0.0]))
    found = corrected_largest(panel, largest)
    assert found.of(panel.slope) == pytest.approx(0.1)
    np.testing.assert_array_equal(found.weights, largest.weights)


def test_whoever_may_not_set_the_yardstick_does_not_count():
    slope = np.append(np.linspace(0.5, 2.0, 600), 5.0)
    apart = np.arange(601) == 600
    covariance = sparse.diags_array(np.full(1_202, 1e-6), format="csr")
    panel = Panel(slope, np.zeros(601), covariance, np.zeros(601), apart=apart)
    assert likely_largest(panel).of(slope) == pytest.approx(2.0, abs=0.01)
    assert expected_largest(panel).of(slope) == pytest.approx(2.0, abs=0.01)


def test_slopes_that_differ_by_no_more_than_chance_are_taken_for_one():
    """Seen with errors of 0.3 on the scale of arcsinh, they scatter a little less than that."""
    even = np.arcsinh(1.5) + 0.28 * np.random.default_rng(3).standard_normal(600)
    slope = np.sinh(even)
    variance = 0.09 * (1 + slope**2)
    covariance = sparse.diags_array(np.concatenate([variance, variance]), format="csr")
    found = likely_largest(panel_of(slope, covariance))
    assert found.of(slope) == pytest.approx(np.sinh(even.mean()), rel=1e-6)
    assert np.abs(found.weights).max() < 1e-9
