"""Cuts on both scales, held to closed forms."""

import numpy as np
import pytest
from scipy import special

from raterlens.base.errors import OptionError
from raterlens.grading.grades import cuts_of, given_cuts
from raterlens.inference.expected_scores import average_scores
from tests.support.calibrations import DIFFICULTIES, SEVERITIES, SLOPES, calibration


def test_fair_scores_are_those_of_the_average_rater_over_all_items():
    theta = np.array([-1.0, 0.3, 2.0])
    s = np.mean(SLOPES) * theta - np.mean(SEVERITIES) - np.array(DIFFICULTIES)[:, None]
    np.testing.assert_allclose(
        average_scores(calibration(), theta), special.expit(s).mean(axis=0), rtol=1e-12
    )


def test_fair_scores_are_in_the_numbers_that_raters_gave():
    theta, thresholds = np.linspace(-2, 2, 5), [-0.5, 0.4]
    coded = average_scores(calibration(thresholds=thresholds, scores=(0, 1, 2)), theta)
    given = average_scores(calibration(thresholds=thresholds, scores=(3, 4, 5)), theta)
    np.testing.assert_allclose(given, coded + 3, rtol=1e-12)
    apart = average_scores(calibration(thresholds=thresholds, scores=(0, 1, 5)), np.array([20.0]))
    np.testing.assert_allclose(apart, 5, atol=1e-6)


def test_a_cut_on_one_scale_is_a_cut_on_the_other():
    known = calibration(thresholds=[-0.7, 0.1, 0.9], scores=(0, 1, 2, 3))
    on_scores = cuts_of(known, [1.0, 2.2])
    on_abilities = cuts_of(known, on_scores.ability, "ability")
    np.testing.assert_allclose(on_abilities.score, [1.0, 2.2], atol=1e-9)
    assert on_scores.grades == ("below 1", "1 to 2.2", "2.2 or more")
    assert on_scores.text == "1,2.2"
    assert cuts_of(known, "ability 0.25").text == "ability 0.25"


def test_a_result_on_the_cut_has_reached_it():
    cuts = cuts_of(calibration(), 0.6, grades=("refer", "accept"))
    assert cuts.grade_of(np.array([0.59, 0.6, 3 * 0.2, 0.61])).tolist() == [0, 1, 1, 1]
    assert cuts.grades == ("refer", "accept")


@pytest.mark.parametrize(
    ("cut", "says"),
    [
        ("two", "cuts are 'two'; give numbers with commas"),
        ([0.5, 0.5], "give one number, or several in rising order"),
        (float("nan"), "give one number"),
        ([], "give one number"),
    ],
)
def test_what_is_no_cut_is_refused(cut, says):
    with pytest.raises(OptionError, match=says) as error:
        given_cuts(cut)
    assert error.value.option == "decide"


def test_cuts_that_nobody_could_reach_are_refused():
    with pytest.raises(
        OptionError, match=r"a cut at 1, but mean scores by the average rater go from 0\.00 to 1\.00"
    ):
        cuts_of(calibration(), 1)
    with pytest.raises(OptionError, match="a cut at 20, but abilities go from -12"):
        cuts_of(calibration(), "ability 20")
    with pytest.raises(OptionError, match="do not rise with ability"):
        cuts_of(calibration(slopes=(-1.0, -0.5, 0.2)), 0.5)
    with pytest.raises(OptionError, match="2 different names of grades for 2 cuts"):
        cuts_of(calibration(), [0.3, 0.6], grades=("a", "b"))
