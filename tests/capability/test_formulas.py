"""Capability against the paper's table, closed forms, adaptive quadrature and finite differences."""

from itertools import product
from time import process_time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, special, stats

from raterlens import capability
from raterlens.base.errors import OptionError
from raterlens.capability.curves import AdjacentCurve, GradedCurve, PassCurve
from raterlens.capability.index import sharpness_gradient, sharpness_of, standard_of
from raterlens.capability.integrals import moments
from raterlens.capability.links import LINKS, get_link
from raterlens.capability.population import Histogram, Normal, Window
from tests.support.capability_values import SIGMA, TABLE, adaptive

# The promise of the module's docstring; adaptive quadrature itself is good to about 1e-13.
EXACT = 1e-11
# Constants known to six decimals.
SIX_DECIMALS = 5e-7
# The paper prints two decimals, of the result and of everything that goes into it.
PRINTED = 0.005
# A four-point difference with step 1e-3: truncation h⁴ = 1e-12, rounding 1e-16 / h = 1e-13, with room for
# the fifth derivative.
DIFFERENCE = 1e-9

NAMES = list(LINKS)
SYMMETRIC = [name for name, link in LINKS.items() if link.symmetric]


# ------------------------------------------------------------------------------------ the paper's table


@pytest.mark.parametrize(("rater", "topic", "rho", "eta", "printed"), TABLE)
def test_the_papers_kappa_bar_within_rounding(rater, topic, rho, eta, printed):
    # Everything printed is anywhere within half a unit of its last digit; kappa-bar is monotone in each
    # input, so the corners bound it. The yardstick's rho is exactly 1.
    shift = (-PRINTED, PRINTED)
    rhos = [rho] if rho == 1 else [rho + d for d in shift]
    corners = [capability.gmf(rho=r, eta=eta + d, sigma=SIGMA + s) for r, d, s in product(rhos, shift, shift)]
    assert min(corners) - PRINTED <= printed <= max(corners) + PRINTED


def test_the_papers_extremes():
    kappa = capability.gmf(rho=[row[2] for row in TABLE], eta=[row[3] for row in TABLE], sigma=SIGMA)
    assert TABLE[kappa.argmin()][:2] == ("AM", "Sport")
    assert TABLE[kappa.argmax()][:2] == ("CO", "School")


# ------------------------------------------------------------------------------------------------ Delta


@pytest.mark.parametrize(
    ("link", "height", "severity"),
    [
        ("logit", 0.206621, 0.0),
        ("probit", 0.282095, 0.0),
        ("cauchit", 0.208709, 0.0),
        ("cloglog", 0.262631, 0.2451),
        ("log", 0.312828, 0.6974),
    ],
)
def test_delta_at_sigma_one(link, height, severity):
    assert capability.delta(1.0, link) == pytest.approx(height, abs=SIX_DECIMALS)
    assert capability.best_severity(1.0, link) == pytest.approx(severity, abs=5e-5)


def test_delta_of_the_log_link_by_its_closed_form():
    def rate(eta, sigma):
        return sigma * np.exp(sigma**2 / 2 - eta) * special.ndtr(eta / sigma - sigma)

    for sigma in (0.3, 1.0, 2.51):
        best = optimize.minimize_scalar(
            lambda eta, s=sigma: -rate(eta, s), bounds=(0, 2), method="bounded", options={"xatol": 1e-9}
        )
        assert capability.delta(sigma, "log") == pytest.approx(-best.fun, abs=EXACT)
        # A search by values finds the place to the square root of the precision.
        assert capability.best_severity(sigma, "log") == pytest.approx(best.x, abs=1e-6)


@pytest.mark.parametrize("link", NAMES)
@pytest.mark.parametrize("sigma", [0.01, 0.4, 1.0, 2.51, 20.0, 1e3])
def test_no_severity_beats_delta(link, sigma):
    eta = np.linspace(-3, 3, 1201)
    rates = sigma * moments(sigma, eta, LINKS[link])[0]
    highest = capability.delta(sigma, link)
    assert rates.max() <= highest * (1 + 1e-12)
    near = capability.best_severity(sigma, link)
    assert sigma * moments(sigma, near, LINKS[link])[0] == pytest.approx(highest, rel=1e-14)


@pytest.mark.parametrize("link", NAMES)
def test_delta_reaches_its_limits(link):
    # A tiny slope sees only the peak of the density; a huge one is a step whose rate is φ(0).
    peak = {
        "logit": 1 / 4,
        "probit": stats.norm.pdf(0),
        "cauchit": 1 / np.pi,
        "cloglog": np.exp(-1),
        "log": 1,
    }
    assert capability.delta(1e-5, link) == pytest.approx(1e-5 * peak[link], rel=1e-4)
    assert capability.delta(1e8, link) == pytest.approx(stats.norm.pdf(0), rel=1e-7)


# ------------------------------------------------------------------------------------------- integrals

SLOPES = (0.0, 0.01, 0.3, 0.49, 0.51, 0.99, 1.0, 1.01, 2.51, 8.0, 30.0, 100.0)
SEVERITIES = (0.0, -0.7, 1.0, -3.0, 10.0, -50.0, 50.0)


@pytest.mark.parametrize("link", NAMES)
def test_kappa_bar_is_the_integral(link):
    for slope, eta in product(SLOPES, SEVERITIES):
        sigma = max(slope, 1.0)
        value = capability.gmf(rho=slope / sigma, eta=eta, sigma=sigma, link=link)
        expected = slope * adaptive(slope, eta, link) / capability.delta(sigma, link)
        assert value == pytest.approx(expected, abs=EXACT), (slope, eta)


@pytest.mark.parametrize("link", NAMES)
def test_kappa_bar_averages_kappa_over_any_normal_population(link):
    parameters = {"rho": 0.6, "eta": 0.8, "sigma": 1.7, "link": link, "mean": -0.5, "sd": 1.4}

    def integrand(theta):
        return capability.gmf(**parameters, theta=theta) * np.exp(-(((theta + 0.5) / 1.4) ** 2) / 2)

    turn = 0.8 / (0.6 * 1.7)  # where the log link's density jumps
    pieces = [integrate.quad(integrand, *pair, epsabs=1e-13)[0] for pair in ((-16, turn), (turn, 16))]
    assert capability.gmf(**parameters) == pytest.approx(sum(pieces) / (1.4 * np.sqrt(2 * np.pi)), abs=EXACT)


def test_population_moves_the_best_rater_with_it():
    # Students 0.7 above average are best told apart by a rater who is severe by the same amount.
    assert capability.gmf(rho=1.0, eta=2 * 0.7, sigma=2.0, mean=0.7, sd=0.5) == pytest.approx(1.0, abs=EXACT)


# ---------------------------------------------------------------------------------------- closed forms


def test_tfm_is_gmf_with_equal_slopes():
    eta = np.linspace(-4, 4, 9)
    np.testing.assert_array_equal(
        capability.tfm(eta=eta, sigma=1.3), capability.gmf(rho=np.ones(9), eta=eta, sigma=1.3)
    )
    # κ(θ) = μ (1 - μ) / Δ: 1.21 at its peak, above 1.
    mu = special.expit(0.4 - eta)
    np.testing.assert_allclose(capability.tfm(eta=eta, theta=0.4), mu * (1 - mu) / capability.delta(1.0))
    assert capability.tfm(eta=0.0, theta=0.0) == pytest.approx(0.25 / 0.2066209641, abs=1e-8)


def test_a_probit_rater_tells_most_at_its_threshold():
    at = capability.probit(noise=0.5, threshold=0.8, theta=[-0.8, 0.3, 0.8, 1.3])
    np.testing.assert_allclose(at, stats.norm.pdf([3.2, 1.0, 0.0, 1.0]) * np.sqrt(2 * np.pi) / 0.5)


@pytest.mark.parametrize("noise", [0.05, 0.75, 1.25, 4.0])
@pytest.mark.parametrize("threshold", [-5.0, 0.0, 0.4, 2.0])
def test_probit_rater_by_its_closed_form_and_by_integration(noise, threshold):
    rho, eta = 1 / np.sqrt(1 + noise**2), threshold / noise
    value = capability.probit(noise=noise, threshold=threshold)
    assert value == pytest.approx(rho * np.exp(-(1 - rho**2) * eta**2 / 2), abs=1e-14)
    average = integrate.quad(
        lambda t: capability.probit(noise=noise, threshold=threshold, theta=t) * stats.norm.pdf(t),
        -12,
        12,
        points=(threshold - 5 * noise, threshold, threshold + 5 * noise),
        epsabs=1e-13,
    )[0]
    assert value == pytest.approx(average, abs=EXACT)


def test_probit_rater_is_the_facets_model_with_a_steep_yardstick():
    # S = θ / noise - threshold / noise is a slope 1 / noise; Delta of the rater model is its limit σ → ∞.
    noise, threshold, sigma = 0.8, 0.3, 1e6
    limit = capability.gmf(rho=1 / noise / sigma, eta=threshold / noise, sigma=sigma, link="probit")
    assert capability.probit(noise=noise, threshold=threshold) == pytest.approx(limit, abs=1e-10)


def test_probit_rater_without_noise():
    assert capability.probit(noise=0.0, threshold=0.0) == 1
    np.testing.assert_array_equal(
        capability.probit(noise=[0.0, 0.0], threshold=0.5, theta=[0.5, 0.6]), [np.inf, 0]
    )


@pytest.mark.parametrize("link", NAMES)
def test_hrm_is_sensitivity_plus_specificity_minus_one(link):
    criterion, slope = np.array([-2.0, -0.5, 0.3, 1.5]), np.array([1.0, 3.0, 0.2, -1.0])
    log_pass = LINKS[link].log_pass
    sensitivity = 1 - np.exp(log_pass(criterion - slope))
    specificity = np.exp(log_pass(criterion))
    kappa = capability.hrm(criterion=criterion, slope=slope, link=link)
    np.testing.assert_allclose(kappa, sensitivity + specificity - 1, atol=1e-15)
    by_ability = capability.hrm(criterion=criterion, slope=slope, link=link, theta=np.zeros((3, 1)))
    np.testing.assert_array_equal(by_ability, np.broadcast_to(kappa, (3, 4)))


def test_hrm_keeps_its_digits_where_the_difference_would_cancel():
    # F(c) - F(c - a) ≈ a f(c), with f = e^-30 in the upper tail.
    kappa = capability.hrm(criterion=30.0, slope=1e-9)
    assert kappa == pytest.approx(1e-9 * np.exp(-30.0) * (1 + 0.5e-9), rel=1e-11)


# ------------------------------------------------------------------------------------------- gradient


def difference(function, x, h=1e-3):
    near, far = function(x + h) - function(x - h), function(x + 2 * h) - function(x - 2 * h)
    return (8 * near - far) / (12 * h)


@pytest.mark.parametrize("link", NAMES)
@pytest.mark.parametrize(("slope", "eta", "sigma"), [(0.9, 0.4, 1.6), (2.4, -1.3, 2.51), (-0.7, 0.2, 1.2)])
@pytest.mark.parametrize("population", [{}, {"mean": 0.6, "sd": 1.5}])
def test_gradient_is_the_difference(link, slope, eta, sigma, population):
    def kappa(slope, eta, sigma):
        return capability.gmf(rho=slope / sigma, eta=eta, sigma=sigma, link=link, **population)

    gradient = capability.gmf_gradient(slope, eta, sigma, link, **population)
    assert gradient.slope == pytest.approx(difference(lambda x: kappa(x, eta, sigma), slope), abs=DIFFERENCE)
    assert gradient.severity == pytest.approx(
        difference(lambda x: kappa(slope, x, sigma), eta), abs=DIFFERENCE
    )
    assert gradient.sigma == pytest.approx(difference(lambda x: kappa(slope, eta, x), sigma), abs=DIFFERENCE)


def test_gradient_broadcasts():
    gradient = capability.gmf_gradient(np.ones((3, 1)), np.zeros(4), 2.0)
    assert [part.shape for part in gradient] == [(3, 4)] * 4


@pytest.mark.parametrize("link", NAMES)
def test_gradient_at_the_boundary_slope_zero(link):
    # A rater who cannot tell students apart: κ-bar = 0, rising by f(-η) / Δ with the slope.
    gradient = capability.gmf_gradient(0.0, 0.8, 2.0, link)
    density = float(LINKS[link].density(np.array(-0.8)))
    assert gradient.slope == pytest.approx(density / capability.delta(2.0, link), abs=EXACT)
    assert gradient.severity == pytest.approx(0, abs=1e-15)
    assert gradient.sigma == 0


# ------------------------------------------------------------------------------------------ properties

rhos, etas = st.floats(0, 1), st.floats(-50, 50)
sigmas = st.floats(0.01, 100)


@pytest.mark.parametrize("link", NAMES)
@settings(deadline=None)
@given(rho=rhos, eta=etas, sigma=sigmas)
def test_kappa_bar_lies_between_zero_and_one(link, rho, eta, sigma):
    kappa = capability.gmf(rho=rho, eta=eta, sigma=sigma, link=link)
    assert 0 <= kappa <= 1 + 1e-12
    assert capability.gmf(rho=-rho, eta=eta, sigma=sigma, link=link) == -kappa


@pytest.mark.parametrize("link", SYMMETRIC)
@settings(deadline=None)
@given(rho=rhos, eta=etas, sigma=sigmas, closer=st.floats(0, 1))
def test_symmetric_links_are_symmetric_and_fall_with_distance(link, rho, eta, sigma, closer):
    here, mirrored, nearer = capability.gmf(rho=rho, eta=[eta, -eta, eta * closer], sigma=sigma, link=link)
    assert here == pytest.approx(mirrored, abs=1e-13)
    assert nearer >= here - 1e-13


@pytest.mark.parametrize("link", NAMES)
@settings(deadline=None)
@given(rho=rhos, eta=etas, sigma=sigmas, less=st.floats(0, 1))
def test_discrimination_helps_at_every_severity(link, rho, eta, sigma, less):
    full, part = capability.gmf(rho=[rho, rho * less], eta=eta, sigma=sigma, link=link)
    assert part <= full + 1e-12


# --------------------------------------------------------------------------------- arrays, speed, errors


def test_arguments_broadcast_and_scalars_stay_scalars():
    grid = capability.gmf(rho=np.full((4, 1, 1), 0.5), eta=np.zeros((3, 1)), theta=np.zeros(2))
    assert grid.shape == (4, 3, 2)
    assert capability.gmf(rho=np.full((4, 1), 0.5), eta=np.zeros(3), sigma=[1.0, 2.0, 3.0]).shape == (4, 3)
    assert capability.gmf(rho=[], eta=[]).shape == (0,)
    assert isinstance(capability.gmf(rho=0.5, eta=0.0), float)


@pytest.mark.parametrize("link", NAMES)
def test_a_thousand_raters_are_quick(link):
    random = np.random.default_rng(3)
    rho, eta = random.uniform(0, 1, 1000), random.normal(size=1000)
    capability.gmf(rho=rho, eta=eta, sigma=2.0, link=link)
    best = np.inf
    for _ in range(5):
        start = process_time()
        capability.gmf(rho=rho, eta=eta, sigma=2.0, link=link)
        best = min(best, process_time() - start)
    # 1 to 4 ms; a loop over raters would take 100 ms.
    assert best < 0.05


def test_many_raters_agree_with_one_at_a_time():
    random = np.random.default_rng(2)
    rho, eta = random.uniform(0, 1, 5000), random.normal(size=5000)
    together = capability.gmf(rho=rho, eta=eta, sigma=2.0)
    for index in (0, 2047, 2048, 4999):
        assert together[index] == pytest.approx(
            capability.gmf(rho=rho[index], eta=eta[index], sigma=2.0), abs=1e-15
        )


# ----------------------------------------------------------------------------------------------------
# The paper's approximations are as far from the exact values as their docstrings say.


def test_the_papers_approximation_is_too_high_on_its_own_table():
    rho, eta = np.array([row[2] for row in TABLE]), np.array([row[3] for row in TABLE])
    error = capability.gmf_approximation(rho, eta, SIGMA) - capability.gmf(rho=rho, eta=eta, sigma=SIGMA)
    assert 0.025 < error.max() < 0.035
    assert error.min() > 0


def test_the_papers_delta_is_low():
    sigma = np.array([1.0, SIGMA, 1e4])
    ratio = capability.delta_approximation(sigma) / capability.delta(sigma)
    np.testing.assert_allclose(ratio, [0.9879, 0.9388, np.sqrt(np.pi) / 2], atol=5e-5)


@settings(deadline=None)
@given(rho=st.floats(0, 1), eta=st.floats(-50, 50), sigma=st.floats(0.05, 50))
def test_the_approximation_is_as_close_as_documented(rho, eta, sigma):
    error = capability.gmf_approximation(rho, eta, sigma) - capability.gmf(rho=rho, eta=eta, sigma=sigma)
    assert -0.002 < error < 0.064


# ----------------------------------------------------------------------------------------------------
# Parameters that are none are named, with what to do.


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: capability.gmf(rho=1.2, eta=0.0), r"rho is 1.2; it must be in \[-1, 1\]: divide the slopes"),
        (lambda: capability.gmf(rho=[0.5, np.nan], eta=0.0), "rho is nan"),
        (lambda: capability.gmf(rho=0.5, eta=np.inf), "eta is inf; it must be finite"),
        (lambda: capability.gmf(rho=0.5, eta=0.0, sigma=0.0), "sigma is 0; it must be above 0"),
        (lambda: capability.gmf(rho=0.5, eta=0.0, sd=-1.0), "sd is -1; it must be above 0"),
        (lambda: capability.gmf(rho=0.5, eta="high"), "eta is 'high', not a number"),
        (lambda: capability.gmf(rho=0.5, eta=0.0, link="logistic"), "unknown link 'logistic'"),
        (lambda: capability.tfm(eta=None), "eta is nan"),
        (lambda: capability.probit(noise=-0.1, threshold=0.0), "noise is -0.1; it must be at least 0"),
        (lambda: capability.hrm(criterion=np.nan, slope=1.0), "criterion is nan"),
        (lambda: capability.delta(-1.0), "sigma is -1; it must be above 0"),
        (lambda: capability.gmf_approximation(-0.2, 0.0), r"rho is -0.2; it must be in \[0, 1\]"),
        (lambda: capability.gmf_gradient(1.0, 0.0, np.nan), "sigma is nan"),
    ],
)
def test_bad_parameters_are_named_with_what_to_do(call, message):
    with pytest.raises(OptionError, match=message):
        call()


def test_the_parameter_and_its_value_are_for_programs_too():
    with pytest.raises(OptionError) as refused:
        capability.gmf(rho=[0.5, 2.0], eta=0.0)
    assert (refused.value.option, refused.value.value) == ("rho", 2.0)


# ----------------------------------------------------------------------------------------------------
# Sharpness and standard against closed forms, their definition, and raters who make no error.


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
