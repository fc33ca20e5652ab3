"""The largest of noisy slopes, against what is known of the largest of normal numbers."""

import numpy as np
import pytest
from scipy import sparse

from raterlens.capability.yardstick import Measure
from raterlens.models.panel import Panel
from raterlens.uncertainty.largest_slope import corrected_largest, expected_largest, likely_largest


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
