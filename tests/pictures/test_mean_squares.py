"""Infit and outfit: those of the diagnosis."""

from dataclasses import replace

import numpy as np

import raterlens as rl
from raterlens.pictures.mean_squares import NOISY, fit_statistics_data


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
