"""Expected scores from their definition, and their slopes."""

from typing import Any

import numpy as np
import pytest

from raterlens.capability.curves import AdjacentCurve, GradedCurve, PassCurve, curve_of
from raterlens.capability.links import LINKS, get_link

# Central differences with step 1e-5 of functions of order one.
DIFFERENCE = 1e-8
THRESHOLDS = np.array([[-1.0, 0.2, 0.8], [0.5, -0.7, 0.2]])
CURVES: dict[str, Any] = {
    **{name: PassCurve(link) for name, link in LINKS.items() if name != "log"},
    "adjacent": AdjacentCurve(THRESHOLDS),
    "graded": GradedCurve(np.sort(THRESHOLDS), get_link("probit")),
}


@pytest.mark.parametrize("name", CURVES)
def test_the_density_is_the_slope_of_the_expected_score(name):
    curve, s, h = CURVES[name], np.linspace(-4, 4, 33), 1e-5
    np.testing.assert_allclose(
        curve.density(s), (curve.mean(s + h) - curve.mean(s - h)) / (2 * h), atol=DIFFERENCE
    )
    low, high = curve.mean(np.array([-1e13, 1e13]))
    assert (low, high) == pytest.approx((0, 1), abs=1e-12)


def test_the_expected_score_of_adjacent_categories_from_its_definition():
    s, tau = 0.3, THRESHOLDS[0]
    weights = np.exp([0, s - tau[0], 2 * s - tau[:2].sum(), 3 * s - tau.sum()])
    expected = weights @ np.arange(4) / weights.sum() / 3
    assert float(AdjacentCurve(tau[None]).mean(np.array(s))) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("categories", [2, 3, 6, 11])
def test_moments_of_many_categories(categories):
    """The poles of the density come nearer with every category; the grid must follow."""
    tau = np.linspace(-1, 1, categories - 1)[None]
    curve = AdjacentCurve(tau)
    for a in (0.9, 1.1, 4.0):
        found = curve.moments(np.array([a]), np.array([0.6]), 2)[:, 0]
        t = np.linspace(-10, 10, 100_001)
        values = curve.density(a * t - 0.6) * np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi)
        expected = [np.sum(values * t**k) * (t[1] - t[0]) for k in range(3)]
        np.testing.assert_allclose(found, expected, atol=1e-11)


def test_the_curve_follows_from_thresholds_and_scale():
    link = get_link("logit")
    assert isinstance(curve_of(link), PassCurve)
    assert isinstance(curve_of(link, THRESHOLDS), AdjacentCurve)
    assert isinstance(curve_of(link, THRESHOLDS, graded=True), GradedCurve)


def test_most_of_the_rise_is_within_reach():
    for curve in CURVES.values():
        low, high = curve.mean(np.array(curve.reach))
        assert high - low > 0.5
