"""Gains from a change of severity: against the capability functions and by arithmetic."""

import numpy as np
import pytest

import raterlens as rl
from raterlens.base.errors import OptionError
from raterlens.capability.formulas import hrm
from raterlens.capability.links import get_link
from raterlens.diagnostics.what_if import capability_of_categories


@pytest.fixture(scope="module")
def fit():
    severity = np.array([2.0, -2.0, 0.0, 0.0, 0.0, 0.0])
    slope = np.array([2.0, 2.0, 0.4, 2.0, 1.5, 1.5])
    drawn = rl.simulate(
        students=500, raters=6, items=4, raters_per_student=3, severity=severity, slope=slope, seed=5
    )
    return rl.fit(drawn.ratings, model="gmf")


def test_what_if_is_the_capability_at_that_severity(fit):
    row = fit.table("raters").row(2, named=True)
    found = fit.what_if("R3", severity=[-1.0, 0.0, 2.5])
    expected = rl.capability.gmf(rho=row["rho"], eta=np.array([-1.0, 0.0, 2.5]), sigma=fit.sigma)
    assert found.curve["kappa"].to_numpy() == pytest.approx(expected, abs=1e-9)
    assert found.kappa == pytest.approx(row["kappa"], abs=1e-9)


def test_the_best_severity_of_a_symmetric_link_is_average(fit):
    found = fit.what_if("R1")
    assert found.best_severity == pytest.approx(0, abs=1e-4)
    assert found.best_kappa == pytest.approx(found.curve["kappa"].max(), abs=1e-4)
    assert found.gain > 0.15


def test_losses_name_the_cause(fit):
    table = fit.advice()
    assert (table["lost_to_severity"] >= 0).all()
    severe, dull = table.row(0, named=True), table.row(2, named=True)
    assert severe["lost_to_severity"] > severe["lost_to_discrimination"]
    assert dull["lost_to_discrimination"] > dull["lost_to_severity"]
    assert (severe["costs_most"], dull["costs_most"]) == ("severity", "discrimination")


def test_feedback_names_the_direction(fit):
    severe, lenient, dull = fit.advice()["feedback"].head(3)
    assert "You are stricter than they are" in severe
    assert "stronger work" in severe
    assert "You are more generous than they are" in lenient
    assert "weaker work" in lenient
    assert "only loosely" in dull
    assert "borderline work" not in dull
    assert severe.startswith("Dear R1, thank you for your")


def test_the_severe_rater_is_the_better_judge_of_strong_students(fit):
    table = fit.assignment([-1.5, 1.5])
    order = {
        theta: rows["rater"].to_list() for (theta,), rows in table.group_by("theta", maintain_order=True)
    }
    assert order[1.5].index("R1") < order[1.5].index("R2")
    assert order[-1.5].index("R2") < order[-1.5].index("R1")


def test_unknown_raters_and_severities_are_refused(fit):
    with pytest.raises(OptionError, match="unknown rater 'R9'"):
        fit.what_if("R9")
    with pytest.raises(OptionError, match="all finite"):
        fit.what_if("R1", severity=float("nan"))


def test_letters_about_ordered_scores_speak_of_marks():
    drawn = rl.simulate(
        students=200, raters=4, items=3, severity=[2, -1, 0, -1], thresholds=[-1, 0, 1], seed=1
    )
    letters = rl.fit(drawn.ratings, model="gmf").advice().filter(rater="R1")["feedback"].item()
    assert "you would give the middle mark or more to about" in letters
    assert "marks less from you" in letters
    assert "passes" not in letters


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_two_numbers_of_a_table_give_back_the_capability_of_latent_classes(link: str) -> None:
    slope, criterion = np.array([0.5, 2.0, 4.0]), np.array([0.1, 2.5, 1.0])
    shape = get_link(link)
    rho = np.exp(shape.log_pass(slope / 2)) - np.exp(shape.log_pass(-slope / 2))
    found = capability_of_categories(link, rho, criterion - slope / 2)
    np.testing.assert_allclose(found, hrm(criterion=criterion, slope=slope, link=link), rtol=1e-9)
