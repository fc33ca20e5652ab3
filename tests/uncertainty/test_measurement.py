"""A panel on a yardstick, against the capability functions and by arithmetic."""

import numpy as np
import pytest

import raterlens as rl
from raterlens.capability.yardstick import Yardstick
from raterlens.errors import OptionError
from raterlens.uncertainty.measurement import check_measurable, measured_fit


@pytest.fixture(scope="module")
def fit():
    return rl.fit(rl.simulate(students=120, raters=5, items=3, raters_per_student=3, seed=4).ratings)


def test_the_fit_s_own_yardstick_restates_its_table(fit):
    found = measured_fit(fit, fit.yardstick).raters()
    for name in ("rho", "eta", "kappa", "kappa_se", "kappa_low", "kappa_high"):
        np.testing.assert_allclose(getattr(found, name), fit.raters[name], rtol=1e-12, atol=1e-12)


def test_a_fixed_slope_and_origin_are_the_formula(fit):
    """sigma = 2 and severity counted from 0.3: rho = a / 2, eta = b - 0.3."""
    effects = fit.calibration.effects
    found = measured_fit(fit, Yardstick(2.0, origin=0.3)).raters()
    rho, eta = effects["slope"] / 2, effects["severity"] - 0.3
    np.testing.assert_allclose(found.rho, rho)
    np.testing.assert_allclose(found.eta, eta)
    inside = rho <= 1  # beyond, the pure function does not go
    expected = rl.capability.gmf(rho=rho[inside], eta=eta[inside], sigma=2.0)
    np.testing.assert_allclose(found.kappa[inside], expected, rtol=1e-7)
    assert found.sigma_se == 0


def test_some_raters_alone_keep_their_numbers(fit):
    whole = measured_fit(fit, fit.yardstick)
    some = np.array([3, 1])
    theta = [-1.0, 0.5]
    raters = fit.table("raters")["rater"]
    part = whole.only(some).curves(raters.gather(some), theta)
    every = whole.curves(raters, theta)
    for rater in raters.gather(some):
        assert part.filter(rater=rater).equals(every.filter(rater=rater))


def test_a_yardstick_that_needs_more_is_refused():
    with pytest.raises(OptionError, match="follows from standard errors") as caught:
        check_measurable(Yardstick("max corrected"), standard_errors=False)
    assert caught.value.option == "reference"
