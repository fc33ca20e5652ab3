"""Drift: when each rater changed, and each rater by period."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from benchmarks.truth.planted_faults import diagnosed, false_alarms, found, panel
from raterlens.base.errors import OptionError
from raterlens.diagnostics.drift import change
from raterlens.diagnostics.residuals import residuals

# ---------------------- change over time: tests, moments and sizes against panels whose truth is known


DRIFTS = ("drift", "discrimination")


def changes(ratings: rl.Ratings, time: np.ndarray) -> pl.DataFrame:
    got = residuals(rl.fit(ratings, model="gmf", standard_errors=False), ratings)
    distinct, codes = np.unique(time, return_inverse=True)
    return change(got, codes.astype(np.int32), pl.Series(distinct))


def test_severity_that_changed_is_found_with_moment_and_size():
    row = diagnosed(panel(2, "drift")).table("change").row(0, named=True)
    assert row["shift"] == pytest.approx(1.5, abs=2.5 * row["shift_se"])
    assert row["since_low"] <= row["since"] <= row["since_high"]
    assert row["slope_p_adjusted"] > 0.05


@pytest.mark.parametrize(("link", "unit"), [("logit", "logits"), ("probit", "probits")])
def test_a_change_is_told_in_the_units_of_the_link(link, unit):
    ratings = panel(2, "drift")
    fit = rl.fit(ratings, model="gmf", link=link, standard_errors=False)
    flags = fit.diagnose(ratings, time=np.arange(ratings.n_ratings)).flags.filter(effect="drift")
    assert f" {unit} more severe since" in flags["evidence"][0]


def test_discrimination_that_fell_is_found_with_moment_and_size():
    """The slope falls from 2 to 0: by 2 over the panel's median."""
    ratings = panel(2, "discrimination")
    row = diagnosed(ratings).table("change").row(0, named=True)
    slopes = rl.fit(ratings, model="gmf", standard_errors=False).calibration.effects["slope"]
    assert row["slope_shift"] == pytest.approx(-2 / np.median(slopes), abs=2.5 * row["slope_shift_se"])
    assert row["slope_after"] - row["slope_before"] == pytest.approx(row["slope_shift"])
    assert row["slope_before"] > 1 > abs(row["slope_after"])
    assert row["p_adjusted"] > 0.05


@pytest.mark.nightly
def test_the_interval_of_the_moment_has_it_nearly_always():
    """Twelve panels of the hundreds that `python -m benchmarks.truth.planted_faults` runs; 95 % are promised."""
    runs = [found(fault, seed) for fault in DRIFTS for seed in range(20, 26)]
    assert sum(run.dated for run in runs) >= len(runs) - 2
    assert sum(run.flagged for run in runs) >= len(runs) - 1


def test_the_interval_says_something():
    """A change of 1.5 logits in 500 ratings is known to a third of the time at most, in most panels."""
    rows = [diagnosed(panel(seed, "drift")).table("change").row(0, named=True) for seed in range(6)]
    widths = [(row["since_high"] - row["since_low"]) / 6_000 for row in rows]
    assert np.median(widths) < 1 / 3


@pytest.mark.nightly
def test_raters_who_do_not_change_seldom_seem_to():
    """The level of both tests is 5 %: 120 raters."""
    _, severity, slope = np.sum([false_alarms(seed) for seed in range(40, 50)], axis=0)
    assert severity <= 12
    assert slope <= 12


def test_sorted_students_are_no_change_of_the_rater():
    """Weak students first, strong ones last, as extreme as can be: abilities change along time, raters do not. Without
    taking out what all raters see alike, every one of them would seem to become more lenient."""
    p = []
    for seed in range(3):
        drawn = rl.simulate(students=400, raters=6, items=4, raters_per_student=3, seed=seed)
        when = np.argsort(np.argsort(drawn.truth.ability))[drawn.ratings.student]
        p += changes(drawn.ratings, when).select("p", "slope_p").rows()
    assert np.min(p) > 0.002
    assert np.mean(np.array(p) < 0.05) <= 0.2


@pytest.mark.parametrize(("course", "other"), [("sudden", "gradual"), ("gradual", "sudden")])
def test_what_comes_at_once_is_told_from_what_creeps(course, other):
    """2.5 logits from the middle on, or 4 logits bit by bit; 500 ratings."""
    courses = []
    for seed in range(3):
        drawn = rl.simulate(
            students=300, raters=12, items=5, raters_per_student=4, slope=1.2, severity=0.0, seed=seed
        )
        ratings, truth = drawn.ratings, drawn.truth
        along = np.arange(ratings.n_ratings) / ratings.n_ratings
        less = 2.5 * (along > 0.5) if course == "sudden" else 4.0 * along - 2.0
        s = 1.2 * truth.ability[ratings.student] - truth.difficulty[ratings.item] - less
        drawn_again = np.random.default_rng(seed).random(len(s)) < 1 / (1 + np.exp(-s))
        score = np.where(ratings.rater == 0, drawn_again, ratings.score).astype(ratings.score.dtype)
        courses.append(changes(replace(ratings, score=score), along)["course"][0])
    assert course in courses
    assert other not in courses


def test_equal_times_are_one_moment():
    """With two days a change can only have come between them."""
    ratings = panel(0, "drift")
    day = (np.arange(ratings.n_ratings) >= ratings.n_ratings / 2).astype(int)
    row = changes(ratings, day).row(0, named=True)
    assert row["since_low"] == row["since"] == row["since_high"] == 1


# -------------------------- raters period by period: the planted shift, whatever the fit was asked for


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
