"""Are abilities normal? Found where students are skewed or of two groups, and not where they are normal."""

import pytest

import raterlens as rl
from raterlens.config import FitConfig
from raterlens.diagnostics.ability_test import CLEAR, AbilityTest, diagnosed, unasked
from raterlens.fitting.api import fit_as_clear
from raterlens.fitting.steps import Run
from tests.support.ability_shapes import ratings_of


@pytest.mark.parametrize(("kind", "said"), [("skewed", "skewed to the right"), ("two groups", "two groups")])
def test_it_finds_skewness_and_two_groups(kind, said):
    ratings = ratings_of(kind)
    fit = rl.fit(ratings, standard_errors=False)
    assert any(said in text and "ability='smooth'" in text for text in fit.warnings)
    found = fit.ability_test(ratings)
    assert found.p < CLEAR
    assert said in found.finding
    (row,) = fit.diagnose(ratings).table("ability").rows(named=True)  # by the score, without fitting again
    assert row["test"] == "score"
    assert row["p"] < CLEAR
    smooth = rl.fit(ratings, ability="smooth", standard_errors=False)
    assert not any("normally" in text for text in smooth.warnings)
    assert 2 * (smooth.loglik - fit.loglik) == pytest.approx(found.statistic, abs=1e-3)
    assert diagnosed(smooth, ratings).statistic == pytest.approx(found.statistic, abs=1e-3)
    by_default, lines, shape = fit_as_clear(ratings, FitConfig(standard_errors=False), Run())
    assert shape.statistic == pytest.approx(found.statistic, abs=1e-3)
    assert by_default.config.ability == "smooth"
    assert said in lines[0]


def test_it_finds_nothing_in_normal_abilities():
    ratings = ratings_of("normal")
    fit = rl.fit(ratings)
    assert not unasked(fit, ratings).clear
    found = fit.ability_test(ratings)
    assert found.p > CLEAR
    assert found.finding == "no evidence against a normal distribution"
    asked = rl.fit(ratings_of("skewed"), ability="normal", standard_errors=False)
    assert not any("normally" in text for text in asked.warnings)


def test_the_p_value_is_of_two_degrees_of_freedom():
    """5.991 is the 5 % point."""
    assert AbilityTest("likelihood ratio", 5.9915, (0.1, 0.0)).p == pytest.approx(0.05, abs=1e-5)
    assert AbilityTest("score", -0.1, (0.0, 0.0)).p == 1.0


def test_it_is_not_offered_by_other_methods(small):
    fit = rl.fit(small, method="laplace")
    assert diagnosed(fit, small) is None
    assert "ability" not in fit.diagnose(small).tables


def test_a_saved_fit_has_the_same_parameters_to_explain_a_shape_by(tmp_path):
    """One slope for all raters, as it was fitted: with one each, the statistic is 13 % larger."""
    ratings = ratings_of("normal")
    fit = rl.fit(ratings, model="tfm")
    found = diagnosed(fit, ratings)
    assert found.test == "score"
    fit.save(tmp_path / "fit.json")
    again = diagnosed(rl.load(tmp_path / "fit.json"), ratings)
    assert again.statistic == pytest.approx(found.statistic, rel=0.01)
