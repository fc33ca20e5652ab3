"""Pairs of raters against statsmodels and scikit-learn."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.diagnostics.agreement import paired_ratings, rater_pairs
from tests.support.three_raters import panel, read, units

EXACT = 1e-12


def test_cohens_kappa_equals_statsmodels_and_scikit_learn():
    ratings = read(panel())
    table = rater_pairs(ratings, paired_ratings(ratings, units(ratings)))
    assert table["kappa"].to_list() == pytest.approx(
        [0.19259882253994953, 0.29765886287625415, 0.3570219966159053], rel=EXACT
    )
    assert table["kappa_se"].to_list() == pytest.approx(
        [0.10194449195075292, 0.10158511277818547, 0.10208020754725616], rel=EXACT
    )
    y = panel()
    assert table["agreement"][0] == np.mean(y[:, 0] == y[:, 1])


def test_weighted_kappa_equals_statsmodels_and_scikit_learn():
    # statsmodels: cohens_kappa(table, wt="quadratic"), .kappa and .std_kappa;
    # scikit-learn: cohen_kappa_score(y[:, a], y[:, b], weights="quadratic")
    ratings = read(panel())
    table = rater_pairs(ratings, paired_ratings(ratings, units(ratings)))
    kappa = [0.7013574660633485, 0.6202531645569622, 0.7383966244725739]
    error = [0.06911965535245934, 0.09195356315552557, 0.07037401243736977]
    assert table["weighted_kappa"].to_list() == pytest.approx(kappa, rel=EXACT)
    assert table["weighted_kappa_se"].to_list() == pytest.approx(error, rel=EXACT)
    assert (table["weighted_kappa_low"] < table["weighted_kappa"]).all()


def test_a_rater_met_nobody_by_meeting_oneself():
    scores = {"student": [1, 1, 1, 2], "rater": ["b", "b", "a", "a"], "score": [0, 1, 1, 0]}
    ratings = rl.read(pl.DataFrame(scores), duplicates="keep")
    table = rater_pairs(ratings, paired_ratings(ratings, units(ratings)))
    assert table.select("n", "agreement").rows() == [(2, 0.5)]
