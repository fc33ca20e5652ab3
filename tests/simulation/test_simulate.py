"""Simulation as a whole: seeds, notes and speed."""

from time import process_time

import numpy as np
import pytest
from scipy import special

import raterlens as rl
from raterlens.base.errors import OptionError
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


def test_groups_of_students_have_raters_of_their_own_and_a_share_crosses() -> None:
    drawn = simulate(students=400, raters=10, items=2, groups=5, crossed=0.25, group_spread=1.0, seed=3)
    ratings, truth = drawn.ratings, drawn.truth
    assert ratings.group is not None
    assert ratings.student_groups is not None
    assert truth.group_means is not None
    student, rater = np.divmod(ratings.marked_pairs(), ratings.n_raters)
    group = ratings.student_groups[student]
    away = group != rater % 5
    assert away.sum() == 100
    assert np.bincount(student[away]).max() == 1
    assert np.bincount(student[~away], minlength=400).tolist() == [1] * 400
    assert np.bincount(ratings.student_groups) @ truth.group_means == pytest.approx(0)
    by_group = np.array([truth.ability[ratings.student_groups == g].mean() for g in range(5)])
    np.testing.assert_allclose(by_group, truth.group_means, atol=0.5)
    plain = simulate(students=400, raters=10, items=2, groups=5, crossed=0.25, group_spread=0.0, seed=3)
    np.testing.assert_allclose(plain.truth.ability, truth.ability - truth.group_means[ratings.student_groups])
    with pytest.raises(OptionError, match="add raters"):
        simulate(raters=4, groups=5)


def test_thresholds_of_raters_are_drawn_around_those_of_all() -> None:
    given = {
        "students": 4000,
        "raters": 2,
        "items": 1,
        "thresholds": [-1.0, 0.0, 1.0],
        "ability": 0.0,
        "seed": 5,
    }
    drawn = simulate(**given, threshold_spread=0.8, severity=0.0, difficulty=0.0)
    own = drawn.truth.own_thresholds
    assert own is not None
    np.testing.assert_allclose(own.sum(axis=1), 0, atol=1e-12)
    steps = np.cumsum(np.concatenate([np.zeros((2, 1)), -(np.array([-1.0, 0.0, 1.0]) + own)], axis=1), axis=1)
    expected = special.softmax(steps, axis=1)
    seen = (
        np.array([np.bincount(drawn.ratings.score[drawn.ratings.rater == r], minlength=4) for r in (0, 1)])
        / 4000
    )
    np.testing.assert_allclose(seen, expected, atol=0.03)
    with pytest.raises(OptionError, match="pass or fail"):
        simulate(threshold_spread=0.5)
