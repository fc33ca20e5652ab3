"""True values: centred as a fit reports them, and checked."""

import numpy as np
import polars as pl
import pytest

from raterlens.base.errors import OptionError
from raterlens.simulation.simulate import simulate


def test_truth_is_centred_without_changing_the_probabilities():
    drawn = simulate(severity=np.arange(20) / 10 + 1, difficulty=[1, 2, 3, 4, 5], alpha=2.0)
    assert drawn.truth.severity.sum() == pytest.approx(0, abs=1e-12)
    assert drawn.truth.difficulty.sum() == pytest.approx(0, abs=1e-12)
    assert drawn.truth.alpha == pytest.approx(2.0 - 1.95 - 3.0)


def test_tfm_gives_all_raters_one_slope():
    assert np.ptp(simulate(model="tfm").truth.slope) == 0
    assert simulate(model="tfm", slope=0.7).truth.sigma == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": "gmff"}, "unknown model 'gmff'; did you mean 'gmf'"),
        ({"link": "probitt"}, "unknown link 'probitt'; did you mean 'probit'"),
        ({"students": 1}, "students is 1; give a whole number of at least 2"),
        ({"raters": 2.5}, "raters is 2.5; give a whole number"),
        ({"items": 0}, "items is 0"),
        ({"raters": 3, "raters_per_student": 4}, "raters_per_student is 4, more than the 3 raters"),
        ({"students": 3, "raters": 10, "raters_per_student": 2}, "leave some of the 10 raters without"),
        (
            {"raters": 3, "severity": [0.0, 1.0]},
            "severity has 2 values for 3 raters; give one, or one for each",
        ),
        ({"items": 2, "difficulty": [0.0, np.nan]}, "difficulty has the value nan"),
        ({"slope": "steep"}, "slope is 'steep'; give a number"),
        ({"model": "tfm", "raters": 2, "slope": [1.0, 2.0]}, "in the TFM all raters have one"),
        ({"seed": -1}, "seed is -1"),
        (
            {"model": "probit", "slope": 1.0},
            "model 'probit' has no slope; its raters have noise and threshold",
        ),
        ({"model": "hrm", "severity": 1.0}, "its raters have slope and criterion"),
        ({"noise": 1.0}, "model 'gmf' has no noise"),
        ({"model": "probit", "noise": 0.0}, "noise has the value 0"),
        ({"model": "probit", "link": "logit"}, "model 'probit' is defined with link 'probit'"),
        ({"sigma": 1.0}, "only model 'hrm' takes it"),
        ({"model": "hrm", "thresholds": [0.0, 1.0]}, "pass/fail ratings only"),
        ({"thresholds": "high"}, "thresholds is 'high'"),
        ({"thresholds": [10**400]}, "thresholds is"),
        ({"severity": [10**400]}, "severity"),
        ({"thresholds": np.zeros((3, 2))}, "one for each of the 5 items"),
        ({"thresholds": np.zeros((5, 2))}, "use scale=.partial credit."),
        ({"thresholds": [0.0, 1.0], "link": "probit"}, "needs scale 'graded'"),
        ({"thresholds": [1.0, 0.0], "scale": "graded"}, "must rise"),
        ({"scale": "steep"}, "unknown scale 'steep'"),
        ({"common_students": 3, "raters_per_student": 2}, "different designs"),
        ({"common_students": 501}, "more than the 500 students"),
        ({"common_students": 0, "students": 5}, "leave some of the 20 raters without one"),
        ({"design": 3}, "design is of type int"),
        ({"design": pl.DataFrame({"student": [1], "rater": [1]})}, "no column 'item' among student, rater"),
        ({"design": ([1, 2], [1], [1])}, "have 1, 2 rows"),
        ({"design": (["a", None], [1, 1], [1, 1])}, "student is missing in a row"),
    ],
)
def test_bad_arguments_are_named_with_what_to_do(arguments, message):
    with pytest.raises(OptionError, match=message) as caught:
        simulate(**arguments)
    assert caught.value.remedy
    assert caught.value.option in arguments
