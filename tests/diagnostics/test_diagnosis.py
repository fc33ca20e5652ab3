"""Fit statistics against mirt, residuals against brute force, and flags against planted faults."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import special

import raterlens as rl
from benchmarks.planted_faults import FAULTS, diagnosed, false_alarms, found, panel
from raterlens.diagnostics.interactions import interaction
from raterlens.diagnostics.residuals import residuals
from raterlens.diagnostics.score_tests import adjusted
from raterlens.errors import InputError, OptionError

# Both programs maximise the same likelihood; what is left is their optimisers' last step.
AGREES = 2e-5

# mirt 1.2.0: fit_mfrm(ManyFacetRaschModel(5, [Facet("rater", 16)]), scores, {"rater": rater}, item_indices=item)
INFIT = [0.92779, 1.05919, 1.19728, 1.10838, 1.01297, 0.99443, 1.02867, 0.9909]
INFIT += [1.01306, 0.93388, 1.00935, 0.89058, 1.00046, 0.89682, 1.01762, 0.92037]
OUTFIT = [1.15715, 1.23784, 1.81711, 2.03816, 1.01141, 1.21247, 1.17539, 0.87823]
OUTFIT += [0.8609, 0.80437, 0.89405, 0.91679, 0.79514, 0.72887, 0.90648, 0.69879]
ITEM_INFIT = [0.9713691, 0.96764751, 0.90192328, 1.13748842, 1.0078092]
ITEM_OUTFIT = [1.0898441, 0.78219171, 0.80215115, 1.62664798, 1.03530834]


def test_mean_squares_equal_those_of_mirt(writing):
    tables = rl.fit(writing, model="tfm").diagnose(writing)
    raters, items = tables.table("raters"), tables.table("items")
    assert raters["infit"].to_list() == pytest.approx(INFIT, abs=AGREES)
    assert raters["outfit"].to_list() == pytest.approx(OUTFIT, abs=AGREES)
    assert items["infit"].to_list() == pytest.approx(ITEM_INFIT, abs=AGREES)
    assert items["outfit"].to_list() == pytest.approx(ITEM_OUTFIT, abs=AGREES)


@pytest.mark.parametrize("options", [{}, {"link": "probit"}, {"model": "probit"}])
def test_residuals_equal_brute_force(options):
    """Posterior and cavity of every student on a grid, rating by rating."""
    ratings = rl.simulate(students=150, raters=4, items=3, raters_per_student=2, slope=1.0, seed=6).ratings
    fit = rl.fit(ratings, **options)
    got = residuals(fit, ratings)
    effects = fit.calibration.effects
    t = np.linspace(-6.5, 6.5, 2001)
    shape = special.ndtr if "probit" in str(options) else special.expit
    weight = effects["slope"] if options.get("model") == "probit" else np.ones(4)
    a, b = effects["slope"][ratings.rater], effects["severity"][ratings.rater]
    s = np.multiply.outer(a, t) - (b + weight[ratings.rater] * effects["difficulty"][ratings.item])[:, None]
    mu = shape(s)
    p = shape(np.where(ratings.score[:, None] == 1, s, -s))
    for i in range(0, ratings.n_ratings, 17):
        mine = ratings.student == ratings.student[i]
        posterior = np.exp(-(t**2) / 2) * p[mine].prod(axis=0)
        posterior /= posterior.sum()
        cavity = np.exp(-(t**2) / 2) * p[mine & (ratings.rater != ratings.rater[i])].prod(axis=0)
        cavity /= cavity.sum()
        y, m = ratings.score[i], mu[i]
        assert got.expected[i] == pytest.approx(posterior @ m, abs=1e-5)
        assert got.squared[i] == pytest.approx(posterior @ (y - m) ** 2, abs=1e-5)
        assert got.standardised[i] == pytest.approx(posterior @ (1 / p[i] - 1), rel=1e-3)
        assert got.probability[i] == pytest.approx(cavity @ p[i], abs=1e-4)
        pair = got.pairs.of_rating[i]
        assert got.rest[pair] == pytest.approx(cavity @ t, abs=1e-3)
        both = np.flatnonzero(mine & (ratings.rater == ratings.rater[i]))
        away = ratings.score[both][:, None] - mu[both]
        together = posterior @ (away.sum(axis=0) ** 2 - (away**2).sum(axis=0))
        assert got.together[pair] == pytest.approx(together, abs=1e-4)


@pytest.mark.parametrize("model", ["gmf", "tfm"])
def test_mean_squares_average_one_and_severity_scores_vanish_at_the_fit(model):
    ratings = rl.simulate(students=600, raters=8, items=4, raters_per_student=3, model=model, seed=8).ratings
    got = residuals(rl.fit(ratings, model=model), ratings)
    assert got.squared.sum() / got.variance.sum() == pytest.approx(1, abs=0.02)
    assert np.bincount(ratings.rater, got.score) == pytest.approx(0, abs=0.01)


def test_probabilities_of_ratings_are_calibrated():
    """Of ratings whose probability is p according to others, a share p was given."""
    ratings = rl.simulate(students=2_000, raters=8, items=4, raters_per_student=3, seed=9).ratings
    got = residuals(rl.fit(ratings), ratings)
    passed = np.where(ratings.score == 1, got.probability, 1 - got.probability)
    for low in np.arange(0.05, 0.95, 0.1):
        inside = (passed >= low) & (passed < low + 0.1)
        assert ratings.score[inside].mean() == pytest.approx(passed[inside].mean(), abs=0.04)


def test_one_step_bias_is_the_size_that_was_planted():
    ratings = panel(3, "item")
    got = residuals(rl.fit(ratings), ratings)
    row = interaction(got, ratings.item, ratings.items, "item").row(0, named=True)
    assert abs(row["severity"] - 2.0) < 3 * row["severity_se"]


def test_interaction_p_values_are_uniform_where_there_is_none():
    p = []
    for seed in range(8):
        ratings = panel(seed)
        got = residuals(rl.fit(ratings, standard_errors=False), ratings)
        p += interaction(got, ratings.item, ratings.items, "item")["p"].to_list()
    assert np.mean(np.array(p) < 0.05) == pytest.approx(0.05, abs=0.025)


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_flagged(fault):
    """Two seeds of the hundred that `python -m benchmarks.planted_faults` runs."""
    assert all(found(fault, seed).flagged for seed in (0, 1))


def test_turns_along_an_even_number_of_items_are_turns_and_nobody_else_seems_biased():
    """Then every item always gets the same score, whatever the work."""
    drawn = rl.simulate(students=200, raters=8, items=4, raters_per_student=3, seed=2).ratings
    mine, score = np.flatnonzero(drawn.rater == 0), drawn.score.copy()
    score[mine] = np.arange(len(mine)) % 2
    flags = diagnosed(replace(drawn, score=score)).flags
    assert flags.select("rater", "effect").rows() == [("R1", "alternating")]


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


def test_clean_panels_are_left_alone():
    assert sum(false_alarms(seed, ordered)[0] for seed in range(3) for ordered in (False, True)) <= 3


def test_every_flag_says_what_how_much_and_the_next_step():
    diagnosis = diagnosed(panel(0, "reversed"))
    row = diagnosis.flags.row(0, named=True)
    assert (row["rater"], row["effect"]) == ("R01", "reversed")
    assert row["low"] < row["size"] < row["high"] < 0
    assert "right way round" in row["next_step"]
    assert "'R01'" in diagnosis.warnings()[0]
    assert "R01: reversed" in diagnosis.summary()


def test_a_group_that_is_abler_is_no_bias():
    """Half of the students are a standard deviation abler; all raters see it alike."""
    group = np.arange(300) % 2
    drawn = rl.simulate(
        students=300, raters=8, items=4, raters_per_student=3, ability=group * 1.5 - 0.75, seed=4
    )
    ratings = drawn.ratings
    labels = np.array(["a", "b"])[group[ratings.student]]
    table = rl.fit(ratings).diagnose(ratings, groups={"school": labels}).table("bias school")
    assert (table["p"] < 0.05).mean() < 0.2


def test_wrong_arguments_are_answered():
    ratings = rl.simulate(students=30, raters=3, items=2, seed=1).ratings
    fit = rl.fit(ratings)
    with pytest.raises(InputError, match=r"time has 3 values for 180 ratings"):
        fit.diagnose(ratings, time=[1, 2, 3])
    with pytest.raises(OptionError, match="facet for time"):
        fit.diagnose(ratings, time="session")
    with pytest.raises(InputError, match="school is 'x' for every rating"):
        fit.diagnose(ratings, groups={"school": ["x"] * 180})


def test_adjusted_levels_are_those_of_r():
    # R: p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "BH"); p.adjust(c(0.001, 0.5, 0.04, 0.9), "BH")
    assert adjusted(np.array([0.01, 0.02, 0.03, 0.04, 0.05])) == pytest.approx([0.05] * 5)
    assert adjusted(np.array([0.001, 0.5, 0.04, 0.9])) == pytest.approx([0.004, 2 / 3, 0.08, 0.9])


def test_students_and_unexpected_ratings():
    ratings = panel(1, "reversed")
    diagnosis = diagnosed(ratings)
    students, odd = diagnosis.table("students"), diagnosis.table("unexpected")
    assert students.height == ratings.n_students
    assert odd["probability"].is_sorted()
    assert odd["probability"].max() <= 0.05
    assert isinstance(odd, pl.DataFrame)
    first = odd.row(0, named=True)
    assert ratings.score[first["row"]] == first["score"]


def test_curves_of_one_rater_are_its_mean_scores_along_ability():
    ratings = panel(1, "reversed")
    diagnosis = diagnosed(ratings)
    mine = diagnosis.curves("R01")
    own = ratings.rater == 0
    assert mine["n"].sum() == own.sum()
    assert (mine["n"] * mine["observed"]).sum() == ratings.score[own].sum()
    assert mine["ability"].is_sorted()
    # A reversed rater gives too much to the weak and too little to the strong.
    assert mine["difference"][0] > 3 * mine["se"][0]
    assert mine["difference"][-1] < -3 * mine["se"][-1]
    with pytest.raises(OptionError, match="R99"):
        diagnosis.curves("R99")
