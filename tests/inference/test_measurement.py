"""A panel on a yardstick, against the capability functions and by arithmetic."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import sparse

import raterlens as rl
from raterlens.base.errors import OptionError
from raterlens.capability.yardstick import Yardstick
from raterlens.inference.measurement import _slope, check_measurable, likely_largest, measured_fit
from raterlens.models.calibration import MOST_RATERS
from raterlens.models.panel import Panel


@pytest.fixture(scope="module")
def fit():
    return rl.fit(
        rl.simulate(students=120, raters=5, items=3, raters_per_student=3, seed=4).ratings, model="gmf"
    )


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
        assert_frame_equal(part.filter(rater=rater), every.filter(rater=rater), rel_tol=1e-12, abs_tol=0)


def test_a_yardstick_that_needs_more_is_refused():
    with pytest.raises(OptionError, match="follows from standard errors") as caught:
        check_measurable(Yardstick("max corrected"), standard_errors=False)
    assert caught.value.option == "reference"


@pytest.mark.parametrize("theta", ["high", [], [0.0, np.nan], [[0.0]], [np.inf]])
def test_abilities_that_are_none_are_refused(fit, theta):
    with pytest.raises(OptionError, match="all finite"):
        measured_fit(fit, fit.yardstick).curves(fit.table("raters")["rater"], theta)


def test_curves_are_capability_at_each_ability(fit):
    where = measured_fit(fit, fit.yardstick)
    found = where.curves(fit.table("raters")["rater"], [-1.0, 0.5])
    assert found["rater"].to_list() == np.repeat(fit.table("raters")["rater"].to_list(), 2).tolist()
    assert found["theta"].to_list() == [-1.0, 0.5] * 5
    on = where.on
    for theta in (-1.0, 0.5):
        own = where.index.kappa_at(theta, on.a, on.eta, on.sigmas)
        np.testing.assert_allclose(found.filter(pl.col("theta") == theta)["kappa"], own)
    assert (found["kappa_low"] <= found["kappa"]).all()
    assert (found["kappa"] <= found["kappa_high"]).all()


def test_a_corrected_yardstick_is_flatter_and_one_of_a_sample_steeper(fit):
    """The largest of noisy slopes is too large; that of raters who are a sample is expected to be larger."""
    largest = fit.calibration.effects["slope"].max()
    assert measured_fit(fit, Yardstick("max")).on.sigma == pytest.approx(largest)
    assert measured_fit(fit, Yardstick("max corrected")).on.sigma < largest
    panel = replace(fit.calibration.panel(), largest=5.0)
    for reference in ("max", "max corrected"):
        sigma = _slope(Yardstick(reference), fit.table("raters")["rater"], panel)
        assert sigma.of(panel.slope) == pytest.approx(5.0)
        assert sigma.weights.sum() == pytest.approx(1.0)
    bare = _slope(Yardstick("max"), fit.table("raters")["rater"], replace(panel, covariance=None))
    assert bare.of(panel.slope) == 5.0
    assert not bare.weights.any()


def test_standards_are_counted_from_the_average_rater_whatever_the_origin(fit):
    average, absolute, elsewhere = (
        measured_fit(fit, replace(fit.yardstick, origin=origin)).raters()
        for origin in ("average", "absolute", 0.7)
    )
    np.testing.assert_allclose(absolute.passes, average.passes)
    np.testing.assert_allclose(absolute.passes_low, average.passes_low, atol=2e-7)
    assert np.abs(elsewhere.passes - average.passes).min() > 0.01


def test_among_very_many_raters_the_yardstick_is_the_likely_largest():
    n = MOST_RATERS + 1
    random = np.random.default_rng(0)
    slope = 1.5 + 0.3 * random.standard_normal(n) + 0.6 * random.standard_normal(n)
    covariance = sparse.diags_array(np.full(2 * n, 0.36), format="csr")
    panel, raters = Panel(slope, np.zeros(n), covariance, np.zeros(n)), pl.Series([str(r) for r in range(n)])
    found = _slope(Yardstick("max"), raters, panel).of(np.abs(slope))
    assert found == pytest.approx(likely_largest(panel).of(np.abs(slope)))
    assert found < slope.max() - 0.5
    alike = replace(panel, slope=np.ones(n))
    assert _slope(Yardstick("max"), raters, alike).of(np.ones(n)) == 1.0
    assert _slope(Yardstick("max"), raters, replace(panel, covariance=None)).of(slope) == slope.max()
    few = Panel(slope[:9], np.zeros(9), 0.36 * np.eye(18), np.zeros(9))
    assert _slope(Yardstick("max"), raters[:9], few).of(slope[:9]) == slope[:9].max()
