"""Sensitivity of every scoring curve over every population: quadrature, closed forms, differences."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import integrate, special, stats

from raterlens import capability
from raterlens.base.errors import OptionError
from raterlens.capability.curves import AdjacentCurve, GradedCurve, PassCurve
from raterlens.capability.links import LINKS, get_link
from raterlens.capability.population import AbilityShape, Histogram, Normal, Window

# Adaptive quadrature, and quadrature of smooth curves, are good to about 1e-12.
EXACT = 1e-10
# Central differences with step 1e-5 of functions of order one.
DIFFERENCE = 1e-8

THRESHOLDS = np.array([[-1.0, 0.2, 0.8], [0.5, -0.7, 0.2]])
CURVES: dict[str, Any] = {
    **{name: PassCurve(link) for name, link in LINKS.items()},
    "adjacent": AdjacentCurve(THRESHOLDS),
    "graded": GradedCurve(np.sort(THRESHOLDS), get_link("probit")),
}
SMOOTH = [name for name in CURVES if name != "log"]
POPULATIONS: dict[str, Any] = {
    "standard": Normal(),
    "shifted": Normal(0.7, 1.4),
    "window": Window(0.4, 0.6),
    "steps": Histogram(np.array([-2.0, -0.5, 0.1, 3.0]), np.array([0.2, 0.5, 0.3]), "estimated"),
}
A, ETA = np.array([0.3, 1.0, 2.5, -0.8]), np.array([0.4, -1.2, 0.9, 0.3])


def density(population):
    if isinstance(population, Normal):
        return lambda t: stats.norm.pdf(t, population.mean, population.sd)
    height = population.share / np.diff(population.edges)
    return lambda t: (
        height[np.clip(np.searchsorted(population.edges, t, "right") - 1, 0, len(height) - 1)]
        * (population.edges[0] <= t <= population.edges[-1])
    )


def by_quadrature(curve, population, a, eta):
    """E[d mean(a t - eta) / dt] from its definition."""
    weight = density(population)
    ends = (-12.0, 12.0) if isinstance(population, Normal) else population.edges
    points = np.unique([*ends, *np.linspace(ends[0], ends[-1], 25)])
    return sum(
        integrate.quad(lambda t: a * float(curve.density(np.array(a * t - eta))) * weight(t), low, high)[0]
        for low, high in pairwise(points)
    )


@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize("name", SMOOTH)
def test_rate_is_the_average_slope_of_the_mean_score(name, population):
    curve, students = CURVES[name], POPULATIONS[population]
    expected = [by_quadrature(curve, students, a, eta) for a, eta in zip(A, ETA, strict=True)]
    np.testing.assert_allclose(students.rate(curve, A, ETA), expected, atol=EXACT)


@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_agree_with_differences(name, population):
    curve, students, h = CURVES[name], POPULATIONS[population], 1e-5
    found = students.sensitivity(curve, A, ETA)
    np.testing.assert_allclose(found.rate, students.rate(curve, A, ETA), atol=1e-14)
    by_slope = (students.rate(curve, A + h, ETA) - students.rate(curve, A - h, ETA)) / (2 * h)
    by_severity = (students.rate(curve, A, ETA + h) - students.rate(curve, A, ETA - h)) / (2 * h)
    np.testing.assert_allclose(found.by_slope, by_slope, atol=DIFFERENCE)
    np.testing.assert_allclose(found.by_severity, by_severity, atol=DIFFERENCE)


@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize("name", SMOOTH)
def test_a_reading_effect_is_averaged_over(name, population):
    """Against a sum over impressions, each a shift of severity; and derivatives against differences."""
    curve, students, h, halo = CURVES[name], POPULATIONS[population], 1e-4, 0.8
    u = np.arange(-7, 7.01, 0.25)
    weight = np.exp(-(u**2) / 2) / np.exp(-(u**2) / 2).sum()
    rates = [students.rate(curve, A, ETA - np.sqrt(halo) * each) for each in u]
    np.testing.assert_allclose(students.rate(curve, A, ETA, halo), weight @ np.array(rates), atol=1e-7)
    found = students.sensitivity(curve, A, ETA, halo)
    for by, step in (("by_slope", (h, 0, 0)), ("by_severity", (0, h, 0)), ("by_halo", (0, 0, h))):
        above, below = (
            students.rate(curve, A + s * step[0], ETA + s * step[1], halo + s * step[2]) for s in (1, -1)
        )
        np.testing.assert_allclose(getattr(found, by), (above - below) / (2 * h), atol=1e-6)


@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize("name", CURVES)
def test_best_is_the_highest_rate_at_any_severity(name, population):
    curve, students = CURVES[name], POPULATIONS[population]
    sigma = np.array([0.6, 2.0])
    best = students.best(curve, sigma)
    tried = np.linspace(-12, 12, 4801)
    rate = students.rate(curve, sigma[:, None], tried)
    # The log link's best severity over a window is a corner, found to 1e-9.
    assert (best >= rate.max(axis=1) - 1e-8).all()
    assert (best <= rate.max(axis=1) * (1 + 2e-3)).all()
    h = 1e-3
    rise = (students.best(curve, sigma + h) - students.best(curve, sigma - h)) / (2 * h)
    np.testing.assert_allclose(students.best_rise(curve, sigma), rise, atol=1e-5)


def test_best_is_interpolated_accurately_between_many_slopes():
    curve, sigma = CURVES["adjacent"], np.linspace(0.4, 3.0, 90)
    one_by_one = [float(Normal().best(curve, np.array(s))) for s in sigma]
    np.testing.assert_allclose(Normal().best(curve, sigma), one_by_one, rtol=0, atol=5e-6)


def test_a_window_has_a_closed_form():
    """The best rater of a symmetric link stands in the middle: [F(σ w) − F(−σ w)] / 2w."""
    for sigma in (0.5, 2.0):
        expected = np.tanh(sigma * 0.25 / 2) / 0.5
        best = Window(0.4, 0.25).best(PassCurve(get_link("logit")), np.array(sigma))
        assert float(best) == pytest.approx(expected, abs=1e-12)


def test_a_narrow_window_looks_at_the_cut_alone():
    curve = PassCurve(get_link("logit"))
    rate = Window(0.4, 1e-4).rate(curve, A, ETA)
    np.testing.assert_allclose(rate, A * curve.density(A * 0.4 - ETA), rtol=1e-7)


def test_the_estimated_population_is_the_average_posterior():
    """With one student of posterior N(0, 1) it is the standard population, up to the width of its cells."""
    students = Histogram.of_students(np.zeros(1), np.ones(1))
    curve = PassCurve(get_link("logit"))
    np.testing.assert_allclose(students.rate(curve, A, ETA), Normal().rate(curve, A, ETA), atol=1e-4)
    two = Histogram.of_students(np.array([-1.0, 1.0]), np.array([0.5, 0.5]))
    centres = (two.edges[1:] + two.edges[:-1]) / 2
    assert two.share @ centres == pytest.approx(0, abs=1e-12)
    assert two.share @ centres**2 == pytest.approx(1.25, abs=1e-3)


# --------------------------------------------------------------------------------------------- ordered scores


@pytest.mark.parametrize("population", POPULATIONS)
def test_two_ordered_categories_are_pass_and_fail(population):
    students, none = POPULATIONS[population], np.zeros((1, 1))
    binary = PassCurve(get_link("logit"))
    for curve in (AdjacentCurve(none), GradedCurve(none, get_link("logit"))):
        np.testing.assert_allclose(students.rate(curve, A, ETA), students.rate(binary, A, ETA), atol=1e-13)
        sigma = np.array(1.7)
        assert float(students.best(curve, sigma)) == pytest.approx(
            float(students.best(binary, sigma)), abs=1e-12
        )


def test_two_ordered_categories_have_the_binary_kappa():
    kappa = Normal().rate(AdjacentCurve(np.zeros((1, 1))), A[:3], ETA[:3])
    kappa = kappa / Normal().best(AdjacentCurve(np.zeros((1, 1))), np.array(2.5))
    np.testing.assert_allclose(kappa, capability.gmf(rho=A[:3] / 2.5, eta=ETA[:3], sigma=2.5), atol=1e-12)


# -------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Window(0.0, 0.0), "half-width above 0"),
        (lambda: Window(np.nan, 1.0), "half-width above 0"),
        (lambda: Normal(0.0, -1.0), "standard deviation above 0"),
    ],
)
def test_impossible_populations_are_refused(make, message):
    with pytest.raises(OptionError, match=message):
        make()


def test_smooth_students_are_shared_out_by_their_density():
    found = Histogram.smooth(0.2, -0.02)
    shape = AbilityShape.of(0.2, -0.02)
    fine = np.linspace(*shape.ends(), 200_001)
    below = np.cumsum(np.exp(shape.log_density(fine))) * (fine[1] - fine[0])
    np.testing.assert_allclose(found.share, np.diff(np.interp(found.edges, fine, below)), atol=1e-5)
    assert found.share.sum() == pytest.approx(1.0, abs=1e-12)
    normal = Histogram.smooth(0.0, 0.0)
    np.testing.assert_allclose(normal.share, np.diff(special.ndtr(normal.edges)), atol=1e-9)
    a, eta = np.array([0.7, 2.0]), np.array([0.3, -0.5])
    curve = PassCurve(get_link("logit"))
    np.testing.assert_allclose(normal.rate(curve, a, eta), Normal().rate(curve, a, eta), rtol=3e-4)


@pytest.mark.parametrize("shape", [(0.51, 0.0), (0.0, -0.51), (np.nan, 0.0)])
def test_shapes_beyond_what_fits_look_for_are_refused(shape):
    with pytest.raises(OptionError, match=r"at most 0\.5 in size"):
        Histogram.smooth(*shape)
    assert Histogram.smooth(0.5, -0.5).share.min() >= 0


# ----------------------------------------------------------------------------------------------------
# The students' distribution: proper, on its quantile scale, with exact derivatives.


SHAPES = [(0.0, 0.0), (0.2, -0.02), (-0.3, 0.04), (0.0, -0.27), (0.4, -0.05)]
THETA = np.linspace(-4.0, 4.0, 17)


@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_a_density_with_median_0_and_its_middle_two_thirds_within_1(shape):
    """Against adaptive quadrature of the density itself."""
    found = AbilityShape.of(*shape)

    def share(low, high):
        return integrate.quad(lambda x: float(np.exp(found.log_density(np.array(x)))), low, high, limit=200)[
            0
        ]

    assert share(-15, 15) == pytest.approx(1, abs=1e-8)
    assert share(-15, 0) == pytest.approx(0.5, abs=1e-8)
    low, high = found.at(np.array([special.ndtr(-1), special.ndtr(1)]))
    assert high - low == pytest.approx(2, abs=1e-3)
    assert share(low, high) == pytest.approx(special.ndtr(1) - special.ndtr(-1), abs=1e-3)


@pytest.mark.parametrize("shape", SHAPES)
def test_its_ends_are_as_far_out_on_either_side(shape):
    """Ten on the scale of the polynomials."""
    found = AbilityShape.of(*shape)
    np.testing.assert_allclose(
        found.median + found.half_width * np.array(found.ends()), [-10, 10], rtol=1e-13
    )


def test_without_either_parameter_it_is_normal():
    found = AbilityShape.of(0.0, 0.0)
    np.testing.assert_allclose(found.log_density(THETA), stats.norm.logpdf(THETA), atol=1e-8)
    np.testing.assert_allclose(found.log_ratio(THETA), 0, atol=1e-8)


@pytest.mark.parametrize("shape", SHAPES)
def test_derivatives_by_differences(shape):
    found = AbilityShape.of(*shape)
    for j, step in enumerate(np.eye(2) * 1e-5):
        ahead, back = (AbilityShape.of(*(found.c + sign * step).tolist()) for sign in (1, -1))
        slope = (ahead.log_density(THETA) - back.log_density(THETA)) / 2e-5
        np.testing.assert_allclose(found.scores(THETA)[j], slope, rtol=1e-5, atol=1e-4)
        bend = (ahead.scores(THETA) - back.scores(THETA)) / 2e-5
        np.testing.assert_allclose(found.curvature(THETA)[j], bend, rtol=1e-4, atol=1e-2)


def test_c3_skews_it_and_c4_parts_it():
    skewed, parted = AbilityShape.of(0.25, -0.02), AbilityShape.of(0.0, -0.2)
    assert np.exp(skewed.log_density(np.array(3.0))) > 5 * np.exp(skewed.log_density(np.array(-3.0)))
    middle, side = np.exp(parted.log_density(np.array([0.0, 1.0])))
    assert side > middle
    low, high = skewed.ends()
    assert np.exp(skewed.log_density(np.array([low, high]))).max() < 1e-9


def test_the_best_of_many_slopes_is_that_of_each():
    slopes = np.linspace(0.01, 9.0, 200)
    for name, population in (
        ("cloglog", Normal(0.2, 1.1)),
        ("adjacent", Normal()),
        ("logit", Window(0.3, 0.5)),
    ):
        found = population.best(CURVES[name], slopes)
        some = [0, 1, 60, 150, 199]
        np.testing.assert_allclose(found[some], population.best(CURVES[name], slopes[some]), atol=1e-6)
