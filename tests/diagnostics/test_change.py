"""Change over time: tests, moments and sizes against panels whose truth is known."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from benchmarks.truth.planted_faults import diagnosed, false_alarms, found, panel
from raterlens.diagnostics.drift import change
from raterlens.diagnostics.residuals import residuals

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
