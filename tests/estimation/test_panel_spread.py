"""The spread that raters' own ratings speak for: where it is known in closed form."""

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from raterlens.estimation.panel_spread import LEAST_SPREAD, _height, learned
from raterlens.likelihood.panel_prior import FREEDOM, PanelPrior


def prior_of(n: int, *, slopes: bool = True) -> PanelPrior:
    ones = np.ones((n, 1))
    return PanelPrior(slice(0, n) if slopes else None, slice(n, 2 * n), ones, ones)


def blocks_of(n: int, error: float):
    return np.tile(np.eye(2) / error, (n, 1, 1))


def test_severities_known_exactly_have_the_spread_of_the_sample():
    x = np.concatenate([np.full(8, 1.0), np.random.default_rng(1).normal(size=8)])
    found = learned(prior_of(8), x, np.zeros(16), blocks_of(8, 1e-8))
    assert found.severity_spread == pytest.approx(np.std(x[8:], ddof=1), rel=1e-4)
    assert found.slope_spread == LEAST_SPREAD


def test_equal_errors_have_a_fixed_point():
    """v² (n - 1) = k² D + n V, with k = v² / (v² + e), V = k e and D the sum of squares."""
    b, error = np.random.default_rng(2).normal(0, 1.5, 10), 0.4

    def off(v: float) -> float:
        k = v**2 / (v**2 + error)
        return v**2 * 9 - k**2 * float(np.sum((b - b.mean()) ** 2)) - 10 * k * error

    x = np.concatenate([np.ones(10), b])
    found = learned(prior_of(10), x, np.zeros(20), blocks_of(10, error))
    assert found.severity_spread == pytest.approx(optimize.brentq(off, 0.3, 5.0), rel=1e-3)


def test_the_gradient_says_where_the_ratings_alone_would_put_a_rater():
    """A quadratic log-likelihood seen from two places gives the same spreads."""
    n, error = 6, 0.3
    top = np.concatenate([np.linspace(0.5, 2.0, n), np.linspace(-1, 1, n)])
    there = top + 0.2 * np.sin(np.arange(2 * n))
    at_top = learned(prior_of(n), top, np.zeros(2 * n), blocks_of(n, error))
    elsewhere = learned(prior_of(n), there, (top - there) / error, blocks_of(n, error))
    assert elsewhere.slope_spread == pytest.approx(at_top.slope_spread, rel=1e-6)
    assert elsewhere.severity_spread == pytest.approx(at_top.severity_spread, rel=1e-6)


def test_one_rater_unlike_the_others_does_not_stretch_the_spread():
    alike = np.concatenate([1.5 + 0.1 * np.linspace(-1, 1, 9), [1.5], np.zeros(10)])
    one_off = alike.copy()
    one_off[9] = -3.0
    plain, robust = (
        learned(prior_of(10), x, np.zeros(20), blocks_of(10, 1e-4)).slope_spread for x in (alike, one_off)
    )
    assert robust < 3 * plain


@pytest.mark.parametrize(
    ("n", "freedom", "expected"), [(800, 2, (2, 4)), (800, 1e6, (8, 100)), (100, 1e6, (FREEDOM,))]
)
def test_many_raters_show_how_heavy_their_tails_are(n, freedom, expected):
    random = np.random.default_rng(5)
    slopes = 3 + 0.3 * random.standard_t(freedom, n) + np.sqrt(0.05) * random.standard_normal(n)
    x = np.concatenate([slopes, random.normal(size=n)])
    found = learned(prior_of(n), x, np.zeros(2 * n), blocks_of(n, 0.05))
    assert found.freedom in expected
    if freedom > 100 and n > 200:
        assert found.slope_spread * 3 == pytest.approx(0.3, rel=0.1)


def test_tails_are_weighed_by_the_likelihood_of_the_slopes():
    """Against the convolution of a t and a normal distribution, by adaptive quadrature."""
    top, error, means = np.array([-1.0, 0.2, 0.8]), np.array([0.2, 0.3, 0.1]), np.ones((3, 1))
    prior = stats.t(4.0, 0.0, 0.5)

    def density(y: float, e: float) -> float:
        both = integrate.quad(lambda a: prior.pdf(a) * stats.norm.pdf(y, a, np.sqrt(e)), -30, 30, points=[y])
        return float(both[0])

    exact = sum(np.log(density(y, e)) for y, e in zip(top, error, strict=True))
    assert _height(top, error, means, 0.5, np.zeros(3), 4.0) == pytest.approx(exact, abs=1e-3)
