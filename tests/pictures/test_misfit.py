"""Misfit: infit and outfit, and observed against expected scores."""

from dataclasses import replace

import numpy as np
import pytest

import raterlens as rl
from raterlens.pictures.misfit import NOISY, diagnosis_table, expected_data, fit_statistics_data


@pytest.mark.parametrize("table", ["raters", "curves"])
def test_tables_are_those_of_the_diagnosis(three, table):
    from_ratings = diagnosis_table(three.fit, three.ratings, table)
    from_diagnosis = diagnosis_table(three.fit, three.fit.diagnose(three.ratings), table)
    assert from_ratings.equals(from_diagnosis.select(from_ratings.columns))


def test_fit_statistics_are_those_of_the_diagnosis_and_a_random_rater_stands_out():
    found = rl.simulate(students=400, raters=6, items=3, raters_per_student=3, seed=9).ratings
    score = found.score.copy()
    mine = found.rater == 0
    score[mine] = np.random.default_rng(0).integers(0, 2, mine.sum())
    ratings = replace(found, score=score)
    fit = rl.fit(ratings, model="tfm")
    data, diagnosis = fit_statistics_data(fit, ratings), fit.diagnose(ratings)
    assert data.equals(fit_statistics_data(fit, diagnosis))
    assert data["infit"].to_list() == diagnosis.table("raters")["infit"].to_list()
    assert data.filter(kind=NOISY)["rater"].to_list() == [str(ratings.raters[0])]


def test_observed_means_are_those_of_the_ratings(example):
    data = expected_data(example.fit, example.ratings, "AM:Sport")
    code = example.ratings.raters.to_list().index("AM:Sport")
    mine = example.ratings.score[example.ratings.rater == code]
    assert data["n"].sum() == len(mine)
    assert (data["observed"] * data["n"]).sum() == pytest.approx(mine.sum())
    assert (data["low"] < data["expected"]).all()
