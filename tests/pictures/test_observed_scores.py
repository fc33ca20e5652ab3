"""Observed means: those of the ratings."""

import pytest

from raterlens.pictures.observed_scores import expected_data


def test_observed_means_are_those_of_the_ratings(example):
    data = expected_data(example.fit, example.ratings, "AM:Sport")
    code = example.ratings.raters.to_list().index("AM:Sport")
    mine = example.ratings.score[example.ratings.rater == code]
    assert data["n"].sum() == len(mine)
    assert (data["observed"] * data["n"]).sum() == pytest.approx(mine.sum())
    assert (data["low"] < data["expected"]).all()
