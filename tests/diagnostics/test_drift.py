"""Raters period by period: the planted shift, whatever the fit was asked for."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from benchmarks.truth.planted_faults import panel
from raterlens.base.errors import OptionError


def test_periods_show_the_planted_shift():
    ratings = panel(2, "drift")
    first = np.flatnonzero(ratings.rater == 0)
    late = np.where(np.arange(ratings.n_ratings) >= np.median(first), "late", "early")
    table = rl.fit(ratings, model="gmf").diagnose(ratings, time=late).drift()
    early, after = (
        table.filter(pl.col("rater") == "R01", pl.col("period") == p).row(0, named=True)
        for p in ("early", "late")
    )
    error = np.hypot(early["eta_se"], after["eta_se"])
    assert abs(after["eta"] - early["eta"] - 1.5) < 3 * error
    assert {"rho", "kappa", "kappa_low", "kappa_high"} <= set(table.columns)


@pytest.fixture(scope="module")
def ratings():
    return rl.simulate(students=90, raters=4, items=3, raters_per_student=3, seed=3).ratings


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"method": "hl", "covariance": "conditional"},
        {"standard_errors": False},
        {"covariance": "opg"},
        {"item_slopes": True, "reference": "quantile 0.75", "population": (0.5, 0.8), "origin": "absolute"},
        {"reference": "R2", "method": "laplace"},
        {"model": "probit", "population": (0.5, 0.8), "origin": "average"},
        {"allow_reversed": True, "prior": "panel"},
        {"model": "hrm", "starts": 1, "standard_errors": False},
    ],
    ids=str,
)
def test_periods_have_intervals_on_the_scale_of_the_fit_whatever_it_was_asked_for(ratings, options):
    """Two periods of each rater, drawn by chance: on average, what the fit says of the whole."""
    fit = rl.fit(ratings, **{"model": "gmf"} | options)
    half = np.random.default_rng(1).integers(2, size=ratings.n_ratings)
    table = fit.diagnose(ratings, time=half).drift()
    assert table.height == 2 * ratings.n_raters
    # A latent class rater whose errors nobody sees has no standard error of rho.
    for name in ("kappa_low", "kappa_high", *(() if options.get("model") == "hrm" else ("rho_se", "eta_se"))):
        assert table[name].is_finite().all(), name
    for name in ("eta", "kappa"):
        parts = table.group_by("rater", maintain_order=True).agg(pl.col(name).mean())[name]
        # Within the error of a mean of two, which is about that of the whole.
        error = table[f"{name}_se"].fill_nan(np.inf).to_numpy().reshape(-1, 2).max(axis=1) + 0.02
        assert (np.abs(parts.to_numpy() - fit.raters[name].to_numpy()) < 1.5 * error).all(), name


def test_what_is_held_keeps_the_numbers_of_the_fit(ratings):
    """Without any periods, and everything held, the fit comes out again: its yardstick, population and origin."""
    fit = rl.fit(ratings, model="gmf", reference="R2", population=(0.4, 1.1), origin="absolute")
    periods = fit.diagnose(ratings, time=np.arange(ratings.n_ratings) % 2).periods
    again = fit.refit(ratings, **periods._held())
    for name in ("rho", "eta", "kappa"):
        np.testing.assert_allclose(again.raters[name], fit.raters[name], atol=1e-6)


def test_one_rater_is_followed_with_the_others_held(ratings):
    periods = rl.fit(ratings, model="gmf").diagnose(ratings, time=np.arange(ratings.n_ratings) % 2).periods
    one, together = periods.fitted(["R1"]), periods.fitted().filter(rater="R1")
    assert one["rater"].to_list() == ["R1", "R1"]
    assert ((one["eta"] - together["eta"]).abs() < 0.5 * one["eta_se"]).all()


def test_drift_needs_to_know_when(ratings):
    with pytest.raises(OptionError, match="diagnose with time=") as caught:
        rl.fit(ratings, model="gmf", standard_errors=False).diagnose(ratings).drift()
    assert caught.value.option == "time"
