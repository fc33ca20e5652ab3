"""Infit, outfit, correlations, separation and fair averages."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from benchmarks.truth.planted_faults import diagnosed, panel
from raterlens.base.errors import OptionError
from raterlens.diagnostics.fit_statistics import reliability

# ------------- mean squares against mirt; unexpected ratings and curves against the ratings themselves


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


# --------------------------------------------------- reliability against the truth of simulated panels


def test_reliability_of_students_is_the_squared_correlation_with_the_truth():
    drawn = rl.simulate(students=2_000, raters=10, items=4, raters_per_student=3, seed=3)
    fit = rl.fit(drawn.ratings, model="gmf")
    table = reliability(fit.table("students"), fit.table("raters"), fit.table("items"))
    students = table.row(0, named=True)
    truth = np.corrcoef(drawn.truth.ability, fit.table("students")["theta"])[0, 1] ** 2
    assert students["reliability"] == pytest.approx(truth, abs=0.02)
    assert students["reliability"] == pytest.approx(
        students["separation"] ** 2 / (1 + students["separation"] ** 2)
    )


def test_reliability_of_severities_that_a_prior_draws_together_is_the_squared_correlation_with_the_truth() -> (
    None
):
    """Taken as they are, they would look alike: their spread is less than that of severities."""
    severity = 0.4 * np.random.default_rng(1).standard_normal(80)
    drawn = rl.simulate(
        students=800, raters=80, items=2, raters_per_student=2, slope=1.5, severity=severity, seed=4
    )
    fit = rl.fit(drawn.ratings, model="gmf", prior="panel")
    raters = fit.diagnose(drawn.ratings).table("reliability").row(1, named=True)
    truth = np.corrcoef(severity, fit.table("raters")["eta"])[0, 1] ** 2
    assert raters["reliability"] == pytest.approx(truth, abs=0.1)
    tables = (fit.table(name) for name in ("students", "raters", "items"))
    assert reliability(*tables).row(1, named=True)["reliability"] < truth - 0.15
    assert np.isnan(raters["chi_square"])


def test_chi_square_of_equal_raters_is_what_chance_gives_and_of_different_ones_is_not():
    same = rl.fit(
        rl.simulate(students=400, raters=10, items=4, raters_per_student=3, severity=0.0, seed=2).ratings,
        model="gmf",
    )
    other = rl.fit(
        rl.simulate(students=400, raters=10, items=4, raters_per_student=3, seed=2).ratings, model="gmf"
    )
    p = [
        reliability(fit.table("students"), fit.table("raters"), fit.table("items")).row(1, named=True)["p"]
        for fit in (same, other)
    ]
    assert p[0] > 0.01
    assert p[1] < 1e-6


def test_fair_averages_forgive_severity():
    """Raters of one slope: a fair average is the pass rate of an average student, whoever was rated."""
    severity = np.array([1.0, -1.0, 0.0, 0.0])
    drawn = rl.simulate(
        students=800,
        raters=4,
        items=3,
        raters_per_student=2,
        severity=severity,
        slope=1.0,
        difficulty=0.0,
        seed=2,
    )
    found = rl.fit(drawn.ratings, model="tfm").diagnose(drawn.ratings)
    fair = found.table("raters")["fair_average"].to_numpy()
    assert fair == pytest.approx(1 / (1 + np.exp(severity)), abs=0.05)
    students = found.table("students")["fair_average"].to_numpy()
    assert np.corrcoef(students, 1 / (1 + np.exp(-drawn.truth.ability)))[0, 1] > 0.7
