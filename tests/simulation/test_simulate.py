"""Simulation as a whole: seeds, notes and speed."""

from time import process_time

import numpy as np

import raterlens as rl
from raterlens.simulation.simulate import simulate


def test_the_seed_decides_and_parts_are_independent():
    first, again, other = simulate(seed=5), simulate(seed=5), simulate(seed=6)
    np.testing.assert_array_equal(first.ratings.score, again.ratings.score)
    assert (first.ratings.score != other.ratings.score).any()
    fixed = simulate(seed=5, severity=0.0)
    np.testing.assert_array_equal(first.truth.ability, fixed.truth.ability)
    np.testing.assert_array_equal(first.truth.slope, fixed.truth.slope)
    assert (simulate(seed=[5, 0]).truth.ability != simulate(seed=[5, 1]).truth.ability).any()


def test_ratings_are_marked_as_simulated():
    assert simulate(seed=9).ratings.notes == ("simulated: gmf, logit link, seed 9",)


def test_four_million_ratings_are_quick():
    start = process_time()
    ratings = simulate(students=200_000, raters=1_000, items=5, raters_per_student=4).ratings
    assert ratings.n_ratings == 4_000_000
    # 0.7 s on one core; a loop over students would take minutes.
    assert process_time() - start < 10


def test_dawid_skene_categories_do_not_depend_on_ability_and_raters_are_recovered():
    made = rl.simulate(
        model="dawid-skene",
        students=3000,
        raters=4,
        items=2,
        slope=[1.0, 2.0, 3.0, 4.0],
        difficulty=[-0.5, 0.5],
        seed=3,
    )
    passed = np.bincount(made.ratings.student, made.ratings.score)
    assert abs(np.corrcoef(passed, made.truth.ability)[0, 1]) < 0.06
    fit = rl.fit(made.ratings, model="dawid-skene")
    np.testing.assert_allclose(fit.raters["kappa"], made.truth.kappa, atol=0.06)
