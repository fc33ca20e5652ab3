"""Expected scores from their definition, and their slopes."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from raterlens.capability.curves import AdjacentCurve, GradedCurve, PassCurve, curve_of
from raterlens.capability.integrals import Grid, averages, highest, moments, pass_and_fail, peaks
from raterlens.capability.links import LINKS, get_link
from tests.support.capability_values import adaptive

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


# ----------------------------------------------------------------------------------------------------
# Shares of passes and fails over a normal population: adaptive quadrature, and both tails to their last digits.


# Adaptive quadrature is good to about 1e-12, relative to the share.
EXACT = 1e-9
A, ETA = np.array([0.0, 0.3, 1.0, 2.5, 9.0, -0.8]), np.array([0.4, -1.2, 0.9, 0.3, -4.0, 2.0])


def average(value):
    """E[value(t)] for a standard normal t."""
    parts = [(-9, -3), (-3, -1), (-1, 0), (0, 1), (1, 3), (3, 9)]
    return sum(integrate.quad(lambda t: value(t) * stats.norm.pdf(t), *part, epsabs=0)[0] for part in parts)


@pytest.mark.parametrize("name", LINKS)
def test_shares_are_averages_over_students(name):
    link = get_link(name)
    found = pass_and_fail(A, ETA, link)
    for place, (a, eta) in enumerate(zip(A, ETA, strict=True)):
        for log_share, share in zip((link.log_pass, link.log_fail), found[:, place], strict=True):
            expected = average(
                lambda t, a=a, eta=eta, of=log_share: float(np.exp(of(np.array([a * t - eta])))[0])
            )
            assert share == pytest.approx(expected, rel=EXACT, abs=1e-12), (name, a, eta)


@pytest.mark.parametrize("name", ["logit", "probit", "cloglog"])
def test_small_shares_keep_their_digits(name):
    """A severity at which next to nobody passes: the share is exp(a^2 / 2 - eta) for logit and cloglog."""
    if name == "probit":
        expected = stats.norm.sf(12 / np.sqrt(1.25))
        found = pass_and_fail(np.array(0.5), np.array(12.0), get_link(name))[0]
    else:
        expected = np.exp(0.125 - 32)
        found = pass_and_fail(np.array(0.5), np.array(32.0), get_link(name))[0]
    assert found == pytest.approx(expected, rel=1e-6)


def test_steps_of_ordered_scores_are_averages_over_students():
    curve = AdjacentCurve(np.array([[-1.0, 0.2, 0.8], [0.5, -0.7, np.nan]]))
    found = curve.rates_and_density(A, ETA)[0]
    assert found.shape == (2, 5, len(A))
    np.testing.assert_allclose(found.sum(axis=0), 1, rtol=1e-9)
    for place in (1, 3):
        for step in range(5):
            expected = average(
                lambda t, k=step, p=place: float(curve.cumulative(np.array([A[p] * t - ETA[p]]))[0, k, 0])
            )
            assert found[0, step, place] == pytest.approx(expected, abs=1e-9)
    assert curve.step_weights.sum() == pytest.approx(1)
    s = np.array([-1.0, 0.3])
    np.testing.assert_allclose(
        np.tensordot(curve.step_weights, curve.cumulative(s)[0], 1), curve.mean(s), rtol=1e-12
    )


@pytest.mark.parametrize("slope", [20.0, 80.0, 1e3, 1e7])
def test_steep_slopes_are_averaged_over_what_lies_beyond_the_nodes(slope):
    """Rates do not vanish at the ends of the nodes: of a slope of 10^7 nodes would have to reach to 10^9."""

    def rate(x, rows):
        return special.expit(x)[None]

    at = slope * np.array([0.0, 0.7, -1.5])
    found = averages(rate, np.full(3, slope), at, Grid(0.35, -40.0, 40.0), order=2)[:, 0]
    for k in range(3):
        for place, eta in enumerate(at):
            wanted, _ = integrate.quad(
                lambda t, k=k, eta=eta: special.expit(slope * t - eta) * t**k * stats.norm.pdf(t),
                *(-12, 12),
                points=[eta / slope + away / slope for away in (-40, 0, 40)],
                limit=400,
                epsabs=1e-13,
            )
            np.testing.assert_allclose(found[k, place], wanted, atol=1e-10)


def test_flat_and_steep_slopes_stand_side_by_side_in_a_row():
    """A slope of 0 takes no part in the rule of the steep ones, which divides by slopes."""
    grid, link = Grid(0.05, -38.0, 38.0), get_link("logit")

    def passes(s, rows):
        return np.exp(link.log_pass(s))[None]

    found = averages(passes, np.array([[0.0, 40.0, 0.5]]), np.array([[0.3, 0.3, -1.0]]), grid, own=True)
    wanted = [
        average(lambda t, a=a, e=e: special.expit(a * t - e)) for a, e in ((0, 0.3), (40, 0.3), (0.5, -1))
    ]
    assert found[0, 0, 0] == pytest.approx(wanted, abs=1e-9)


# ----------------------------------------------------------------------------------------------------
# Moments of a link's density against adaptive quadrature; the best severity against a search.


# Adaptive quadrature itself is good to about 1e-13.
EXACT_MOMENTS = 1e-11


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("power", [1, 2])
def test_higher_moments_are_integrals(link, power):
    for slope, eta in product((0.01, 0.49, 0.51, 1.0, 1.01, 2.51, 30.0, 100.0), (0.0, -0.7, 3.0, -10.0)):
        value = moments(slope, eta, LINKS[link], order=2)[power]
        assert value == pytest.approx(adaptive(slope, eta, link, power), abs=EXACT_MOMENTS), (
            slope,
            eta,
        )


@pytest.mark.parametrize("link", LINKS)
def test_a_negative_slope_mirrors_ability(link):
    here, there = moments(0.8, 0.3, LINKS[link], 2), moments(-0.8, 0.3, LINKS[link], 2)
    np.testing.assert_allclose(there, here * [1, -1, 1], rtol=1e-14)


@pytest.mark.parametrize("link", ["cloglog", "log", "logit"])
@pytest.mark.parametrize("slope", [0.2, 1.0, 5.0])
def test_the_best_severity_is_that_of_a_search(link, slope):
    found = highest(np.array([slope]), LINKS[link])
    searched = optimize.minimize_scalar(
        lambda eta: -float(slope * moments(slope, eta, LINKS[link])[0]), bounds=(-3, 3), method="bounded"
    )
    assert found.severity[0] == pytest.approx(searched.x, abs=1e-4)
    assert found.rate[0] == pytest.approx(-searched.fun, abs=1e-9)


def test_compiled_code_gives_the_same(monkeypatch):
    a, eta = np.random.default_rng(0).normal(size=(2, 50))
    plain = moments(a, eta, get_link("logit"))
    monkeypatch.setattr("raterlens.kernels.library.NUMBERS", 0)
    np.testing.assert_allclose(moments(a, eta, get_link("logit")), plain, rtol=1e-13)


# ----------------------------------------------------------------------------------------------------
# The highest point of curves.


def test_the_highest_of_several_peaks_is_found_for_each_curve():
    shift = np.array([-1.0, 0.0, 2.5])
    place, top = peaks(
        lambda x: np.exp(-((x - shift) ** 2)) + 0.9 * np.exp(-((x + 4 - shift) ** 2)),
        shift - 6,
        shift + 6,
        121,
    )
    np.testing.assert_allclose(place, shift, atol=1e-6)
    np.testing.assert_allclose(top, 1 + 0.9 * np.exp(-16), rtol=1e-12)


def test_a_curve_that_only_rises_is_highest_at_the_end():
    place, top = peaks(lambda x: x, np.array([0.0]), np.array([2.0]), 5)
    assert (place[0], top[0]) == (2.0, 2.0)
