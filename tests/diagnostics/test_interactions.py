"""Bias: the size that was planted, and p-values that are uniform where there is none."""

import numpy as np
import pytest

import raterlens as rl
from benchmarks.truth.planted_faults import panel
from raterlens.diagnostics.rater_effects import interaction
from raterlens.diagnostics.residuals import residuals


def test_one_step_bias_is_the_size_that_was_planted():
    ratings = panel(3, "item")
    got = residuals(rl.fit(ratings, model="gmf"), ratings)
    row = interaction(got, ratings.item, ratings.items, "item").row(0, named=True)
    assert abs(row["severity"] - 2.0) < 3 * row["severity_se"]


def test_interaction_p_values_are_uniform_where_there_is_none():
    p = []
    for seed in range(8):
        ratings = panel(seed)
        got = residuals(rl.fit(ratings, model="gmf", standard_errors=False), ratings)
        p += interaction(got, ratings.item, ratings.items, "item")["p"].to_list()
    assert np.mean(np.array(p) < 0.05) == pytest.approx(0.05, abs=0.025)


def test_a_group_that_is_abler_is_no_bias():
    """Half of the students are a standard deviation abler; all raters see it alike."""
    group = np.arange(300) % 2
    drawn = rl.simulate(
        students=300, raters=8, items=4, raters_per_student=3, ability=group * 1.5 - 0.75, seed=4
    )
    ratings = drawn.ratings
    labels = np.array(["a", "b"])[group[ratings.student]]
    table = rl.fit(ratings, model="gmf").diagnose(ratings, groups={"school": labels}).table("bias school")
    assert (table["p"] < 0.05).mean() < 0.2
