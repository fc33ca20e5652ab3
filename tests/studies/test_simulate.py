"""Simulated ratings against the model they come from, and designs against what was asked."""

from time import process_time

import numpy as np
import pandas as pd
import polars as pl
import pytest

from raterlens import capability
from raterlens.errors import OptionError
from raterlens.links import LINKS
from raterlens.studies.simulate import simulate

# A proportion of n draws is within 4.5 standard errors of its probability: one test in 150,000 would err,
# and the seed is fixed.
STANDARD_ERRORS = 4.5


def columns(ratings):
    return np.column_stack([ratings.student, ratings.rater, ratings.item])


@pytest.mark.parametrize("link", LINKS)
def test_pass_rates_are_those_of_the_model(link):
    drawn = simulate(
        students=20_000,
        raters=3,
        items=2,
        link=link,
        slope=[0.4, 1.0, 1.8],
        severity=[-0.6, 0.1, 0.5],
        difficulty=[-0.3, 0.3],
        alpha=-0.4,
        seed=1,
    )
    ratings, truth = drawn.ratings, drawn.truth
    predictor = (
        truth.slope[ratings.rater] * truth.ability[ratings.student]
        - truth.severity[ratings.rater]
        - truth.difficulty[ratings.item]
        + truth.alpha
    )
    chance = np.exp(LINKS[link].log_pass(predictor))
    # By rater, item and tenth of the students in ability: a wrong sign or a swapped index shows somewhere.
    tenth = np.argsort(np.argsort(truth.ability)) * 10 // ratings.n_students
    cell = (ratings.rater * 2 + ratings.item) * 10 + tenth[ratings.student]
    excess = np.bincount(cell, ratings.score - chance)
    scatter = np.sqrt(np.bincount(cell, chance * (1 - chance)))
    assert (np.abs(excess) <= STANDARD_ERRORS * scatter + 1e-9).all()


def test_truth_is_centred_without_changing_the_probabilities():
    drawn = simulate(severity=np.arange(20) / 10 + 1, difficulty=[1, 2, 3, 4, 5], alpha=2.0)
    assert drawn.truth.severity.sum() == pytest.approx(0, abs=1e-12)
    assert drawn.truth.difficulty.sum() == pytest.approx(0, abs=1e-12)
    assert drawn.truth.alpha == pytest.approx(2.0 - 1.95 - 3.0)


def test_truth_knows_each_raters_capability():
    truth = simulate(raters=3, slope=[0.5, 2.0, 1.0], severity=[-1, 0, 1]).truth
    assert truth.sigma == 2
    np.testing.assert_array_equal(truth.rho, [0.25, 1, 0.5])
    np.testing.assert_array_equal(truth.kappa, capability.gmf(rho=[0.25, 1, 0.5], eta=[-1, 0, 1], sigma=2.0))
    np.testing.assert_array_equal(simulate(raters=2, slope=0.0).truth.kappa, [0, 0])


def test_complete_design_has_every_combination_once():
    ratings = simulate(students=7, raters=3, items=4).ratings
    assert len(np.unique(columns(ratings), axis=0)) == ratings.n_ratings == 7 * 3 * 4


@pytest.mark.parametrize(
    ("students", "raters", "each"), [(40, 12, 3), (100, 7, 3), (5, 5, 1), (2, 5, 3), (50, 4, 4)]
)
def test_incomplete_design_is_balanced_and_without_repeats(students, raters, each):
    ratings = simulate(students=students, raters=raters, items=2, raters_per_student=each, seed=3).ratings
    rows = columns(ratings)
    assert len(np.unique(rows, axis=0)) == len(rows) == students * each * 2
    assert (np.bincount(ratings.student) == each * 2).all()
    load = np.bincount(ratings.rater, minlength=raters) / 2
    laps = -(-students // -(-raters // each))
    assert load.min() >= max(1, laps - 1)
    assert load.max() <= 2 * laps


def test_incomplete_design_links_all_raters():
    ratings = simulate(students=500, raters=50, items=1, raters_per_student=2, seed=0).ratings
    linked = np.eye(50, dtype=bool)
    pairs = ratings.rater.reshape(-1, 2)
    linked[pairs[:, 0], pairs[:, 1]] = linked[pairs[:, 1], pairs[:, 0]] = True
    assert (np.linalg.matrix_power(linked.astype(float), 20) > 0).all()


def test_labels_sort_in_the_order_of_the_parameters():
    ratings = simulate(students=12, raters=100, items=2).ratings
    for labels in (ratings.students, ratings.raters, ratings.items):
        assert labels.is_sorted()
    assert ratings.raters[:2].to_list() == ["R001", "R002"]


def test_written_design_in_any_form_is_the_same():
    rows = {"student": [3, 3, 1, 1, 2], "rater": ["b", "a", "a", "b", "a"], "item": [1, 1, 2, 2, 1]}
    forms = [pl.DataFrame(rows), pd.DataFrame(rows), tuple(rows.values())]
    drawn = [simulate(design=form, severity=[-3.0, 3.0], seed=4) for form in forms]
    for other in drawn:
        assert other.ratings.raters.to_list() == ["a", "b"]
        np.testing.assert_array_equal(other.ratings.student, [2, 2, 0, 0, 1])
        np.testing.assert_array_equal(other.ratings.rater, [1, 0, 0, 1, 0])
        np.testing.assert_array_equal(other.ratings.score, drawn[0].ratings.score)


def test_written_design_may_repeat_a_rating():
    ratings = simulate(design=([1, 1, 2], [1, 1, 1], [1, 1, 1])).ratings
    assert ratings.n_ratings == 3


def test_the_seed_decides_and_parts_are_independent():
    first, again, other = simulate(seed=5), simulate(seed=5), simulate(seed=6)
    np.testing.assert_array_equal(first.ratings.score, again.ratings.score)
    assert (first.ratings.score != other.ratings.score).any()
    fixed = simulate(seed=5, severity=0.0)
    np.testing.assert_array_equal(first.truth.ability, fixed.truth.ability)
    np.testing.assert_array_equal(first.truth.slope, fixed.truth.slope)
    assert (simulate(seed=[5, 0]).truth.ability != simulate(seed=[5, 1]).truth.ability).any()


def test_tfm_gives_all_raters_one_slope():
    assert np.ptp(simulate(model="tfm").truth.slope) == 0
    assert simulate(model="tfm", slope=0.7).truth.sigma == pytest.approx(0.7)


def test_ratings_are_marked_as_simulated():
    assert simulate(seed=9).ratings.notes == ("simulated: gmf, logit link, seed 9",)


def test_four_million_ratings_are_quick():
    start = process_time()
    ratings = simulate(students=200_000, raters=1_000, items=5, raters_per_student=4).ratings
    assert ratings.n_ratings == 4_000_000
    # 0.7 s on one core; a loop over students would take minutes.
    assert process_time() - start < 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": "gmff"}, "unknown model 'gmff'; did you mean 'gmf'"),
        ({"link": "probitt"}, "unknown link 'probitt'; did you mean 'probit'"),
        ({"students": 1}, "students is 1; give a whole number from 2 on"),
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
        ({"design": 3}, "design is a int"),
        ({"design": pl.DataFrame({"student": [1], "rater": [1]})}, "no column 'item' among student, rater"),
        ({"design": ([1, 2], [1], [1])}, "have 1, 2 rows"),
        ({"design": (["a", None], [1, 1], [1, 1])}, "student is missing in a row"),
    ],
)
def test_bad_arguments_are_named_with_what_to_do(arguments, message):
    with pytest.raises(OptionError, match=message):
        simulate(**arguments)
