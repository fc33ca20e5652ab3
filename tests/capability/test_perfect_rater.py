"""Sharpness and standard against closed forms, their definition, and raters who make no error."""

from typing import Any

import numpy as np
import pytest
from scipy import integrate, special, stats

from raterlens import capability
from raterlens.capability.curves import AdjacentCurve, GradedCurve, PassCurve
from raterlens.capability.index import sharpness_gradient, sharpness_of, standard_of
from raterlens.capability.links import LINKS, get_link
from raterlens.capability.population import Histogram, Normal, Window

A, ETA = np.array([0.3, 1.0, 2.5, -0.8]), np.array([0.4, -1.2, 0.9, 0.3])
THRESHOLDS = np.array([[-1.0, 0.2, 0.8]])
CURVES: dict[str, Any] = {
    **{name: PassCurve(link) for name, link in LINKS.items()},
    "adjacent": AdjacentCurve(THRESHOLDS),
    "graded": GradedCurve(THRESHOLDS, get_link("probit")),
}
POPULATIONS: dict[str, Any] = {
    "shifted": Normal(0.7, 1.4),
    "window": Window(0.4, 0.6),
    "steps": Histogram(np.array([-2.0, -0.5, 0.1, 3.0]), np.array([0.2, 0.5, 0.3]), "estimated"),
}


def test_with_the_probit_link_it_is_a_correlation_at_any_severity():
    found = capability.sharpness(slope=A, severity=np.array([[0.0], [1.5], [-3.0]]), link="probit")
    np.testing.assert_allclose(found, np.broadcast_to(A / np.sqrt(1 + A**2), found.shape), rtol=1e-9)


def test_with_the_logit_link_it_hardly_depends_on_severity():
    """Cov(y, t) and the pass rate by adaptive quadrature: 0.664, 0.660 and 0.646 at severities 0, 1 and 2."""
    for eta, rounded in ((0.0, 0.664), (1.0, 0.660), (2.0, 0.646)):
        share, follows = (
            integrate.quad(
                lambda t, w=w, e=eta: w(t) * special.expit(1.5 * t - e) * stats.norm.pdf(t), -9, 9
            )[0]
            for w in (lambda t: 1.0, lambda t: t)
        )
        expected = follows / stats.norm.pdf(stats.norm.ppf(share))
        found = capability.sharpness(slope=1.5, severity=eta)
        assert found == pytest.approx(expected, abs=1e-8)
        assert found == pytest.approx(rounded, abs=5e-4)


@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize("name", CURVES)
def test_it_is_a_share_of_what_the_best_rater_with_the_same_marks_reaches(name, population):
    """From the definition, on a fine grid of students: marks given out from the most able down."""
    curve, students = CURVES[name], POPULATIONS[population]
    if isinstance(students, Normal):
        theta = students.mean + students.sd * stats.norm.ppf((np.arange(40_000) + 0.5) / 40_000)
    else:
        shares = (np.arange(40_000) + 0.5) / 40_000
        theta = np.interp(shares, np.append(0, np.cumsum(students.share)), students.edges)
    off = theta - theta.mean()
    found = sharpness_of(students, curve, A, ETA)
    for a, eta, one in zip(A, ETA, found, strict=True):
        if name == "log":
            continue
        reached = curve.cumulative(a * theta - eta)[0]
        top = [off[len(off) - round(share * len(off)) :].sum() for share in reached.mean(axis=1)]
        expected = curve.step_weights @ (reached @ off) / (curve.step_weights @ np.array(top))
        assert one == pytest.approx(expected, abs=2e-3), (a, eta)
    assert (np.sign(found) == np.sign(A)).all()


@pytest.mark.parametrize("name", CURVES)
def test_it_goes_from_0_to_1_with_the_slope(name):
    slopes = np.array([0.0, 1e-3, 0.1, 0.5, 1.0, 3.0, 10.0, 300.0])
    found = sharpness_of(Normal(), CURVES[name], slopes, np.zeros(8))
    assert found[0] == 0
    assert found[1] < 0.01
    assert (np.diff(found) > 0).all()
    assert found[-1] == pytest.approx(1, abs=0.02)
    np.testing.assert_allclose(sharpness_of(Normal(), CURVES[name], -slopes, np.zeros(8)), -found, atol=1e-12)


@pytest.mark.parametrize("name", CURVES)
def test_gradients_are_those_of_the_probit_form_and_of_wider_differences(name):
    by_slope, by_severity, _ = sharpness_gradient(Normal(), CURVES[name], A, ETA)
    if name == "probit":
        np.testing.assert_allclose(by_slope, (1 + A**2) ** -1.5, atol=1e-7)
        np.testing.assert_allclose(by_severity, 0, atol=1e-7)
    h = 2e-3
    wide = [sharpness_of(Normal(), CURVES[name], A + s * h, ETA) for s in (1, -1)]
    np.testing.assert_allclose(by_slope, (wide[0] - wide[1]) / (2 * h), atol=1e-5)
    wide = [sharpness_of(Normal(), CURVES[name], A, ETA + s * h) for s in (1, -1)]
    np.testing.assert_allclose(by_severity, (wide[0] - wide[1]) / (2 * h), atol=1e-5)
    wide = [sharpness_of(Normal(), CURVES[name], A, ETA, 0.5 + s * h) for s in (1, -1)]
    by_halo = sharpness_gradient(Normal(), CURVES[name], A, ETA, 0.5)[2]
    np.testing.assert_allclose(by_halo, (wide[0] - wide[1]) / (2 * h), atol=1e-5)


@pytest.mark.parametrize("name", ["logit", "probit", "cauchit"])
def test_capability_against_the_perfect_rater_is_sharpness_less_what_the_standard_costs(name):
    curve = PassCurve(get_link(name))
    kappa = np.sqrt(2 * np.pi) * Normal().rate(curve, A, ETA)
    off = stats.norm.ppf(standard_of(Normal(), curve, A, ETA))
    expected = sharpness_of(Normal(), curve, A, ETA) * np.exp(-(off**2) / 2)
    np.testing.assert_allclose(kappa, expected, rtol=1e-9)


@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize("name", CURVES)
def test_the_average_rater_s_standard_is_a_half_and_severe_raters_are_below(name, population):
    curve, students = CURVES[name], POPULATIONS[population]
    average, severe, lenient = (standard_of(students, curve, A, np.full(4, eta)) for eta in (0.0, 1.0, -1.0))
    np.testing.assert_allclose(
        average, 0.5, atol=0.12 if name in ("log", "cloglog") or population == "steps" else 0.02
    )
    assert (severe < average).all()
    assert (lenient > average).all()


def test_extreme_severities_stay_finite():
    for curve in CURVES.values():
        for students in (Normal(), Window(0.0, 0.5)):
            found = sharpness_of(students, curve, np.full(4, 0.7), np.array([-60.0, -25.0, 25.0, 60.0]))
            assert np.isfinite(found).all()
            assert (np.abs(found) <= 1).all()
