"""Score tests for each rater: their levels, their sizes, and planted effects."""

import numpy as np
import pytest
from scipy import stats

import raterlens as rl
from benchmarks.truth.planted_faults import panel
from raterlens.diagnostics.rater_effects import Moment, adjusted, interaction, rater_moment, two_sided
from raterlens.diagnostics.residuals import residuals

# ----------------------------------------------------- each effect against panels whose truth is known


@pytest.mark.parametrize("model", ["gmf", "dawid-skene"])
def test_a_very_severe_rater_is_no_random_one(model):
    """All have the same slope; the first passes 9 % of the work."""
    severity = [2.6, 0.2, -0.3, 0.1, 0.0, 0.4, -0.2, 0.0]
    sizes = {"students": 300, "raters": 8, "items": 4, "raters_per_student": 3}
    ratings = rl.simulate(**sizes, slope=1.2, severity=severity, seed=0).ratings
    found = rl.fit(ratings, model=model, standard_errors=False).diagnose(ratings)
    first = found.table("effects").row(0, named=True)
    assert abs(first["responsiveness"] - 1) < 2 * first["responsiveness_se"]
    assert found.flags.height == 0


# ------------------------------------------- score tests: levels against R, moments against regression


def test_adjusted_levels_are_those_of_r():
    # R: p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "BH"); p.adjust(c(0.001, 0.5, 0.04, 0.9), "BH")
    assert adjusted(np.array([0.01, 0.02, 0.03, 0.04, 0.05])) == pytest.approx([0.05] * 5)
    assert adjusted(np.array([0.001, 0.5, 0.04, 0.9])) == pytest.approx([0.004, 2 / 3, 0.08, 0.9])


def test_a_moment_is_what_regression_on_the_scores_leaves():
    """Sum of the moment less its least-squares part in the derivatives by severity and slope, rater by rater."""
    ratings = rl.simulate(students=80, raters=4, items=3, raters_per_student=2, seed=5).ratings
    found = residuals(rl.fit(ratings, model="gmf", standard_errors=False), ratings)
    values = np.random.default_rng(0).normal(size=len(found.pairs))
    moment = rater_moment(found, values)
    for rater in range(4):
        mine = found.pairs.rater == rater
        scores = np.column_stack([found.score_of_pair[mine], found.tilt_of_pair[mine]])
        weights, *_ = np.linalg.lstsq(scores, values[mine], rcond=None)
        left = values[mine] - scores @ weights
        assert moment.sum[rater] == pytest.approx(left.sum(), abs=1e-9)
        assert moment.sd[rater] == pytest.approx(np.sqrt(left @ left), rel=1e-9)
        assert moment.n[rater] == mine.sum()


def test_few_students_count_as_a_t_statistic():
    """t = 2 of 9 students less 3 degrees of freedom: the normal number with the same tail."""
    moment = Moment(np.array([2.0, -2.0]), np.ones(2), np.array([9, 9]))
    expected = stats.norm.isf(stats.t.sf(2.0, 6))
    np.testing.assert_allclose(moment.z, [expected, -expected])
    np.testing.assert_allclose(two_sided(moment.z), 2 * stats.t.sf(2.0, 6))


def test_adjusted_levels_are_those_of_scipy():
    p = np.random.default_rng(1).random(50)
    np.testing.assert_allclose(adjusted(p), stats.false_discovery_control(p))


# ------------------ bias: the size that was planted, and p-values that are uniform where there is none


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
