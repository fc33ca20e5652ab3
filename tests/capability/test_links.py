"""The links against SciPy's distributions, finite differences and exact identities."""

import numpy as np
import pytest
from scipy import integrate, stats

from raterlens.base.errors import OptionError
from raterlens.capability.links import LINKS, get_link

# A four-point difference with step h = 3e-4: rounding 1e-12 / h near 1e-8, truncation h⁴ relative to the
# distance 0.05 from the nearest singularity (the end of the log link's support) below 1e-7.
DIFFERENCE = {"rtol": 1e-6, "atol": 1e-8}
# Two ways to the same double: a few units in the last place, more in a far tail where exp magnifies log's.
ROUNDING = 1e-13

REFERENCE = {
    "logit": stats.logistic,
    "probit": stats.norm,
    "cauchit": stats.cauchy,
    "cloglog": stats.gumbel_l,
}
NAMES = list(LINKS)
POINTS = np.array([-12.3, -5.0, -1.7, -0.4, -0.05, 0.02, 0.3, 1.1, 2.9])


def derivative(function, s, h=3e-4):
    near, far = function(s + h) - function(s - h), function(s + 2 * h) - function(s - 2 * h)
    return (8 * near - far) / (12 * h)


def inside(link, points):
    """The points at which a pass and a fail are both possible."""
    return points[points < link.upper]


def test_the_paper_names_five_links():
    assert set(NAMES) == {"logit", "probit", "cauchit", "cloglog", "log"}


def test_unknown_link_is_named_with_the_nearest():
    with pytest.raises(OptionError, match="unknown link 'logti'; did you mean 'logit'"):
        get_link("logti")


@pytest.mark.parametrize("name", REFERENCE)
def test_probabilities_are_those_of_the_distribution(name):
    link, scipy = LINKS[name], REFERENCE[name]
    s = np.linspace(-6, 3, 91)
    np.testing.assert_allclose(np.exp(link.log_pass(s)), scipy.cdf(s), rtol=ROUNDING)
    np.testing.assert_allclose(np.exp(link.log_fail(s)), scipy.sf(s), rtol=ROUNDING)
    np.testing.assert_allclose(link.density(s), scipy.pdf(s), rtol=ROUNDING)


def test_log_link_is_the_exponential_below_zero_and_certain_above():
    link = LINKS["log"]
    s = np.array([-3.0, -1e-8, 0.0, 2.0])
    np.testing.assert_allclose(np.exp(link.log_pass(s)), [np.exp(-3), np.exp(-1e-8), 1, 1], rtol=ROUNDING)
    np.testing.assert_allclose(np.exp(link.log_fail(s)), [1 - np.exp(-3), 1e-8, 0, 0], rtol=1e-7)
    np.testing.assert_allclose(link.density(s), [np.exp(-3), np.exp(-1e-8), 0, 0], rtol=ROUNDING)


@pytest.mark.parametrize("name", NAMES)
def test_pass_and_fail_sum_to_one(name):
    link = LINKS[name]
    s = np.linspace(-30, 30, 241)
    np.testing.assert_allclose(np.exp(link.log_pass(s)) + np.exp(link.log_fail(s)), 1, rtol=ROUNDING)


@pytest.mark.parametrize("name", NAMES)
def test_density_integrates_to_the_probability(name):
    link = LINKS[name]
    for end in (-2.0, 0.0, 1.5, np.inf):
        limit = min(end, link.upper)
        mass = integrate.quad(lambda s: float(link.density(np.array(s))), -np.inf, limit, epsabs=1e-12)[0]
        expected = 1.0 if np.isinf(end) else float(np.exp(link.log_pass(np.array(end))))
        assert mass == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_symmetry_is_as_declared(name):
    link = LINKS[name]
    s = np.array([0.3, 1.0, 2.5])
    assert np.allclose(link.density(s), link.density(-s)) == link.symmetric


@pytest.mark.parametrize("name", NAMES)
def test_tilt_and_bend_are_derivatives_of_the_log_density(name):
    link = LINKS[name]
    s = inside(link, POINTS)
    np.testing.assert_allclose(link.tilt(s), derivative(link.log_density, s), **DIFFERENCE)
    np.testing.assert_allclose(link.bend(s), derivative(link.tilt, s), **DIFFERENCE)


@pytest.mark.parametrize("passed", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_slopes_are_three_derivatives_of_the_log_probability(name, passed):
    link = LINKS[name]
    s = inside(link, POINTS)
    y = np.full(s.shape, passed)
    first, second, third = link.slopes(s, y)
    np.testing.assert_allclose(first, derivative(link.log_pass if passed else link.log_fail, s), **DIFFERENCE)
    np.testing.assert_allclose(second, derivative(lambda s: link.slopes(s, y)[0], s), **DIFFERENCE)
    np.testing.assert_allclose(third, derivative(lambda s: link.slopes(s, y)[1], s), **DIFFERENCE)


def test_tails_do_not_cancel():
    far = np.array([-40.0])
    # F(s) -> exp(s) for logit, cloglog and log; -1 / (π s) for cauchit.
    for name in ("logit", "cloglog", "log"):
        np.testing.assert_allclose(LINKS[name].log_pass(far), far, rtol=ROUNDING)
    np.testing.assert_allclose(LINKS["logit"].log_fail(-far), far, rtol=ROUNDING)
    np.testing.assert_allclose(LINKS["cloglog"].log_fail(-far / 10), -np.exp(4.0), rtol=ROUNDING)
    np.testing.assert_allclose(
        LINKS["cauchit"].log_pass(np.array([-1e9])), -np.log(np.pi * 1e9), rtol=ROUNDING
    )
    np.testing.assert_allclose(LINKS["probit"].log_pass(far), stats.norm.logcdf(far), rtol=ROUNDING)
    # A fail under cloglog has log-probability -exp(s): so have its derivatives, however large.
    for slope in LINKS["cloglog"].slopes(np.array([30.0]), np.array([False])):
        np.testing.assert_allclose(slope, -np.exp(30.0), rtol=ROUNDING)


@pytest.mark.parametrize("passed", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_slopes_are_finite_at_any_predictor(name, passed):
    s = np.array([-1e4, -800.0, -1e-200, 0.0, 1e-200, 800.0, 1e4])
    for slope in LINKS[name].slopes(s, np.full(s.shape, passed)):
        assert np.isfinite(slope).all()


def test_an_impossible_fail_has_no_slope():
    for slope in LINKS["log"].slopes(np.array([0.0, 3.0]), np.array([False, False])):
        np.testing.assert_array_equal(slope, 0.0)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [-2.0, 1e-12, 0.3, 0.5, 0.51, 4.0, 60.0])
def test_mass_is_the_difference_of_probabilities(name, width):
    link = LINKS[name]
    end = np.array([-8.0, -1.0, -0.1, 0.0, 0.2, 2.0])
    plain = np.exp(link.log_pass(end)) - np.exp(link.log_pass(end - width))
    np.testing.assert_allclose(link.mass(end, np.array(width)), plain, rtol=1e-12, atol=3e-16)


@pytest.mark.parametrize("width", [1e-14, 1e-6, 0.2, 0.49999, 0.50001, 3.0])
@pytest.mark.parametrize("end", [-20.0, -0.7, 0.0, 1.3, 25.0])
def test_mass_has_no_cancellation(end, width):
    # F(c)(1 - F(d))(1 - e^(d - c)) for the logistic, an arc tangent of a quotient for the Cauchy,
    # e^(-e^d)(1 - e^(e^d - e^c)) for cloglog.
    begin = end - width
    exact = {
        "logit": -np.expm1(-width) / ((1 + np.exp(-end)) * (1 + np.exp(begin))),
        "cauchit": np.arctan2(width, 1 + end * begin) / np.pi,
        "cloglog": np.exp(-np.exp(begin)) * -np.expm1(-np.exp(end) * -np.expm1(-width)),
    }
    for name, value in exact.items():
        assert float(LINKS[name].mass(np.array(end), np.array(width))) == pytest.approx(value, rel=2e-12)
