"""A result as data."""

import pandas as pd
import pytest

import raterlens as rl
from raterlens.base.errors import OptionError


@pytest.fixture(scope="module")
def fit():
    return rl.fit(
        rl.simulate(students=40, raters=3, items=2, seed=1).ratings, model="gmf", standard_errors=False
    )


def test_information_criteria_count_parameters_and_students(fit):
    """AIC = 2 k - 2 l; BIC = k log(students) - 2 l."""
    import math

    k = 3 + 3 + 2 - 1
    assert fit.n_parameters == k
    assert fit.aic == pytest.approx(2 * k - 2 * fit.loglik)
    assert fit.bic == pytest.approx(k * math.log(40) - 2 * fit.loglik)


def test_tables_come_back_as_the_kind_that_came_in(small):
    frame = pd.DataFrame({"student": [1, 1, 2, 2], "rater": list("abab"), "score": [1, 1, 0, 1]})
    fit = rl.fit(frame, model="gmf", standard_errors=False)
    assert isinstance(fit.raters, pd.DataFrame)
    assert fit.raters["kappa"].tolist() == fit.table("raters")["kappa"].to_list()


def test_a_table_that_is_not_there_is_named_with_those_that_are(fit):
    with pytest.raises(OptionError, match="did you mean 'raters'"):
        fit.table("rater")


def test_what_needs_slopes_says_so(small):
    fit = rl.fit(small, model="dawid-skene", starts=1, standard_errors=False)
    with pytest.raises(OptionError, match=r"'dawid-skene' has no slopes.*; fit 'gmf' or 'tfm'") as caught:
        fit.calibrated("no curves")
    assert caught.value.option == "model"
