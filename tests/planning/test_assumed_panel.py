"""Raters and items that a plan reckons with."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import OptionError
from raterlens.planning.assumed_panel import DEFINITIVE_SLOPE, Spreads, estimated, stated


def test_stated_raters_have_the_stated_spreads() -> None:
    panel = stated(Spreads(slope=2.0, slope_spread=0.3, severity_spread=0.5), 20, 4, 2, 0)
    np.testing.assert_allclose([panel.slope.mean(), panel.slope.std()], [2.0, 0.3])
    np.testing.assert_allclose([panel.severity.mean(), panel.severity.std()], [0.0, 0.5], atol=1e-12)
    np.testing.assert_allclose(panel.difficulty.std(), 1.0)
    assert abs(np.corrcoef(panel.slope, panel.severity)[0, 1]) < 0.6


def test_an_earlier_fit_gives_its_raters_and_its_median_to_new_ones() -> None:
    fit = rl.fit(rl.simulate(students=100, raters=4, items=2, seed=1).ratings, model="gmf", halo="none")
    panel, raters = estimated(fit, pl.Series(["R2", "new"]))
    known = fit.calibration
    assert known is not None
    np.testing.assert_allclose(panel.slope, [known.effects["slope"][1], np.median(known.effects["slope"])])
    assert raters.to_list() == ["R2", "new"]
    assert panel.with_definitive().slope[-1] == DEFINITIVE_SLOPE


@pytest.mark.parametrize("options", [{"model": "hrm"}, {"link": "probit"}, {"item_slopes": True}])
def test_a_fit_that_cannot_be_planned_with_is_refused(options: dict[str, object]) -> None:
    fit = rl.fit(rl.simulate(students=60, raters=4, items=2, seed=1).ratings, **{"model": "gmf"} | options)
    with pytest.raises(OptionError, match="a plan cannot rest on a fit"):
        estimated(fit, None)


def test_a_spread_below_zero_is_refused() -> None:
    with pytest.raises(OptionError, match="severity_spread=-1"):
        Spreads(severity_spread=-1.0)
