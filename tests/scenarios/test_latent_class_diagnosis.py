"""Latent class models diagnosed: planted faults, clean panels, drift and advice."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.diagnostics.residuals import residuals
from tests.support.latent_class_panels import panel

MODELS = ("hrm", "dawid-skene")

# The fit's own grid of abilities is a little coarser.
GRID = 1e-4


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("fault", ["reversed", "random", "alternating"])
def test_planted_faults_are_flagged(model, fault):
    ratings = panel(3, fault, items=5)
    found = rl.fit(ratings, model=model, starts=2, standard_errors=False).diagnose(ratings)
    assert found.flags["rater"].to_list() == [str(ratings.raters[0])]
    assert found.flags["effect"].to_list() == [fault]


@pytest.mark.parametrize("model", MODELS)
def test_clean_panels_are_left_alone_and_mean_squares_average_one(model):
    ratings = panel(4, students=400)
    fit = rl.fit(ratings, model=model, starts=2)
    found = fit.diagnose(ratings, time=np.arange(ratings.n_ratings))
    assert found.flags.height == 0
    got = residuals(fit, ratings)
    assert got.squared.sum() / got.variance.sum() == pytest.approx(1, abs=0.01)
    assert found.table("raters")["infit"].is_nan().all()
    assert found.table("items")["infit"].to_numpy() == pytest.approx(1, abs=0.2)


def test_a_rater_who_becomes_severe_is_found_in_time():
    ratings = panel(5, students=400)
    mine = np.flatnonzero(ratings.rater == 0)
    score = ratings.score.copy()
    late = mine[len(mine) // 2 :]
    score[late] &= np.random.default_rng(5).random(len(late)) < 0.5
    ratings = replace(ratings, score=score)
    found = rl.fit(ratings, model="hrm", starts=2).diagnose(ratings, time=np.arange(ratings.n_ratings))
    row = found.flags.row(0, named=True)
    assert (row["rater"], row["effect"]) == (str(ratings.raters[0]), "drift")
    first = found.drift().filter(pl.col("rater") == row["rater"])
    assert first["eta"][-1] > first["eta"][0]


@pytest.mark.parametrize("model", MODELS)
def test_fair_averages_and_advice(model):
    ratings = panel(6)
    fit = rl.fit(ratings, model=model, starts=2)
    found = fit.diagnose(ratings)
    truth = fit.table("truth").group_by("student", maintain_order=True).agg(pl.col("probability").mean())
    fair = found.table("students")["fair_average"].to_numpy()
    assert fair == pytest.approx(truth["probability"].to_numpy(), abs=GRID)
    advice = fit.advice()
    causes = dict(fit.verdicts().select("rater", "costs_most").iter_rows())
    assert dict(advice.select("rater", "costs_most").iter_rows()) == causes
    first = fit.table("raters").row(0, named=True)
    assert f"passed about {100 * first['sensitivity']:.0f} %" in advice["feedback"][0]
