"""Requests, as users give them."""

import pandas as pd
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import InputError, OptionError
from raterlens.fitting.line import recorded


def test_a_fit_anchors_by_what_it_holds_and_brings_its_scale(small):
    fit = rl.fit(small, model="gmf", origin="absolute")
    anchors = recorded({"anchors": fit})["anchors"]
    assert set(anchors.raters) == set(small.raters)
    assert anchors.earlier is not None
    assert anchors.earlier.sigma == fit.sigma
    slope, severity = anchors.raters[small.raters[0]]
    assert slope == pytest.approx(fit.raters["rho"][0] * fit.sigma)
    assert severity == pytest.approx(fit.raters["eta"][0] - fit.alpha)


def test_a_fit_without_slopes_cannot_anchor(small):
    with pytest.raises(OptionError, match="a fit of model 'dawid-skene' cannot anchor another"):
        recorded({"anchors": rl.fit(small, model="dawid-skene", starts=1)})


@pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame, dict])
def test_covariates_are_kept_by_column(kind):
    given = {"rater": ["a", "b"], "years": [1, 2]}
    assert recorded({"covariates": kind(given)})["covariates"] == given


def test_covariates_may_be_in_a_file(tmp_path):
    path = tmp_path / "raters.csv"
    path.write_text("rater,years\n007,1.5\n8,2\n")
    assert recorded({"covariates": path})["covariates"] == {"rater": ["007", "8"], "years": [1.5, 2.0]}


def test_covariates_that_are_no_table_are_refused():
    with pytest.raises(InputError, match="cannot read a table from an object of type 'int'"):
        recorded({"covariates": 3})
    with pytest.raises(InputError, match=r"no such file: 'raters\.csv'"):
        recorded({"covariates": "raters.csv"})


def test_other_options_stay_as_they_are():
    assert recorded({"model": "tfm", "anchors": None}) == {"model": "tfm", "anchors": None}
