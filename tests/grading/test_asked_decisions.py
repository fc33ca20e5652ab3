"""Decisions as commands ask for them: refused before the work, made after it."""

import pytest

import raterlens as rl
from raterlens.base.errors import OptionError
from raterlens.config import FitConfig
from raterlens.grading.grades import AskedDecisions


@pytest.mark.parametrize(
    ("asked", "model", "says"),
    [
        (
            AskedDecisions(remark=5),
            "gmf",
            "remark= plans marks for decisions; give the cut as well, such as decide=1.5",
        ),
        (AskedDecisions("1.5", 0), "gmf", "0 further marks; give at least 1"),
        (AskedDecisions("much"), "gmf", "cuts are 'much'"),
        (AskedDecisions("0.5"), "hrm", "model 'hrm' has no ability to decide by"),
        (AskedDecisions("0.5"), "dawid-skene", "has no ability to decide by"),
    ],
)
def test_what_cannot_be_is_refused_without_ratings(asked, model, says):
    with pytest.raises(OptionError, match=says):
        asked.check(FitConfig(model=model))


def test_cuts_beyond_the_scores_are_refused_before_the_fit():
    ratings = rl.simulate(students=20, raters=3, items=2, thresholds=[-0.5, 0.5], seed=1).ratings
    for cut in ("2", "0", "0.5,3"):
        with pytest.raises(OptionError, match="but scores go from 0 to 2"):
            AskedDecisions(cut).check_scores(ratings)
    AskedDecisions("ability 3").check_scores(ratings)
    AskedDecisions("0.5,1.9").check_scores(ratings)


def test_what_was_asked_for_is_made():
    ratings = rl.simulate(students=40, raters=3, items=2, raters_per_student=2, seed=1).ratings
    fit = rl.fit(ratings, model="gmf")
    assert AskedDecisions().made(fit, ratings) == (None, None)
    decided, plan = AskedDecisions("0.5", 4).made(fit, ratings)
    assert decided is not None
    assert plan is not None
    assert plan.budget == 4
    assert AskedDecisions("0.5").made(fit, ratings)[1] is None
