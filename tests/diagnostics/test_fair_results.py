"""Raw and fair results: the file's scale, chance allowed for, one number everywhere."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.inference.expected_scores import _between, _towards, fair_results

EQUAL = {"students": 60, "raters": 5, "items": 1, "slope": 1.5, "severity": 0.0}


def half_marks():
    table = rl.simulate(
        students=120, raters=5, items=1, raters_per_student=2, thresholds=[-1, 0, 1], seed=3
    ).ratings.table()
    return rl.read(table.with_columns(pl.col("score") / 2 + 4))


def test_everything_is_on_the_scale_of_the_file():
    ratings = half_marks()
    fit = rl.fit(ratings, model="gmf")
    table = ratings.table().with_columns(pl.col("score") * ratings.score_step)
    means = table.group_by("student").agg(pl.col("score").mean()).sort("student")["score"]
    np.testing.assert_allclose(fit.students["mean_score"], means)
    decided = fit.decisions(ratings, cut=4.75).table
    assert (decided["raw_grade"] == "pass").to_list() == (means >= 4.75).to_list()
    assert decided["fair"].is_between(3.5, 6.0).all()
    assert fit.diagnose(ratings).tables["unexpected"]["score"].is_in([4.0, 4.5, 5.0, 5.5]).all()
    assert fit.calibration.values.tolist() == [4.0, 4.5, 5.0, 5.5]
    assert not any("nobody ever gave" in warning for warning in fit.warnings)


def test_one_fair_result_for_all_who_ask():
    ratings = half_marks()
    fit = rl.fit(ratings, model="gmf")
    results = fair_results(fit, ratings)
    decided = fit.decisions(ratings, cut=4.75)
    np.testing.assert_allclose(decided.table["fair"], results.fair, atol=1e-6)
    np.testing.assert_allclose(fit.diagnose(ratings).tables["students"]["fair_average"], results.fair)
    assert decided.changed == fit.consequences(ratings, cut=4.75).changed
    assert fit.consequences(ratings).changed is None  # no pass mark is invented
    assert "marks on average" in fit.consequences(ratings).words()[0]


def test_variance_between_raters_is_what_is_left_of_it_without_errors():
    values = np.array([-1.0, 0.5, 2.0, 0.1])
    assert _between(values, np.full(4, 0.3)) == pytest.approx(np.var(values, ddof=1) - 0.3)
    assert _between(values, np.full(4, 9.0)) == 0.0
    unequal = np.array([0.1, 0.2, 0.4, 0.8])
    weight = 1 / (_between(values, unequal) + unequal)
    assert weight @ (values - weight @ values / weight.sum()) ** 2 == pytest.approx(3)


def test_a_severity_goes_back_with_the_slope_that_took_it_along():
    """The rater whose slope is too steep as well is drawn further than another of the same severity and error."""
    values = np.array([[1.0, 0.5], [2.5, 2.0], [1.0, 2.0], [1.0, -1.5], [1.1, -0.5], [0.9, 0.0]])
    error = np.tile(np.diag([0.2, 0.4]), (6, 1, 1))
    error[1] += 0.25 * (1 - np.eye(2))  # severity and slope err together
    drawn, left = _towards(values, error, np.array([1.0, 0.0]), np.ones((6, 2), bool))
    assert drawn[1, 1] < drawn[2, 1] < 2.0
    assert (left[:, 1] < np.sqrt(0.4)).all()


@pytest.mark.nightly
def test_equal_raters_change_next_to_nobody():
    shares = []
    for seed in range(10):
        ratings = rl.simulate(**EQUAL, seed=seed).ratings
        shares.append(rl.fit(ratings, model="gmf").consequences(ratings).changed / 60)
    assert np.mean(shares) <= 0.003


def test_agreement_is_what_was_observed():
    scores = pl.DataFrame({"student": [1, 1, 2, 2, 3, 3], "rater": [*"ababab"], "score": [1, 1, 0, 1, 0, 0]})
    ratings = rl.read(scores)
    assert (
        rl.fit(ratings, model="gmf", standard_errors=False).consequences(ratings).observed_agreement == 2 / 3
    )
