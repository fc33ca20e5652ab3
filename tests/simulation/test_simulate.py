"""Simulated ratings and their designs."""

from time import process_time

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import special, stats

import raterlens as rl
from raterlens import capability
from raterlens.base.errors import OptionError
from raterlens.capability.links import LINKS
from raterlens.simulation.simulate import simulate

# ------------ simulation: seeds, notes, true values, and draws against the probabilities of each model


# ----------------------------------------------------------- simulation as a whole: seeds, notes and speed


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


# ------------------------------------------------- true values: centred as a fit reports them, and checked


def test_truth_is_centred_without_changing_the_probabilities():
    drawn = simulate(severity=np.arange(20) / 10 + 1, difficulty=[1, 2, 3, 4, 5], alpha=2.0)
    assert drawn.truth.severity.sum() == pytest.approx(0, abs=1e-12)
    assert drawn.truth.difficulty.sum() == pytest.approx(0, abs=1e-12)
    assert drawn.truth.alpha == pytest.approx(2.0 - 1.95 - 3.0)


def test_tfm_gives_all_raters_one_slope():
    assert np.ptp(simulate(model="tfm").truth.slope) == 0
    assert simulate(model="tfm", slope=0.7).truth.sigma == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": "gmff"}, "unknown model 'gmff'; did you mean 'gmf'"),
        ({"link": "probitt"}, "unknown link 'probitt'; did you mean 'probit'"),
        ({"students": 1}, "students=1 is not possible; give a whole number of at least 2"),
        ({"raters": 2.5}, "raters=2.5 is not possible; give a whole number"),
        ({"items": 0}, "items=0"),
        ({"raters": 3, "raters_per_student": 4}, "raters_per_student=4 is more than the 3 raters"),
        ({"students": 3, "raters": 10, "raters_per_student": 2}, "leave some of the 10 raters without"),
        (
            {"raters": 3, "severity": [0.0, 1.0]},
            "severity has 2 values for 3 raters; give one, or one for each",
        ),
        ({"items": 2, "difficulty": [0.0, np.nan]}, "difficulty has the value nan"),
        ({"slope": "steep"}, "slope='steep'; give a number"),
        ({"model": "tfm", "raters": 2, "slope": [1.0, 2.0]}, "in the TFM all raters have one"),
        ({"seed": -1}, "seed=-1"),
        (
            {"model": "probit", "slope": 1.0},
            "model 'probit' has no slope; its raters have .noise., .threshold.",
        ),
        ({"model": "hrm", "severity": 1.0}, "its raters have .slope., .criterion."),
        ({"noise": 1.0}, "model 'gmf' has no noise"),
        ({"model": "probit", "noise": 0.0}, "noise has the value 0"),
        (
            {"model": "probit", "link": "logit"},
            "link=.logit., but model .probit. is defined with link .probit.",
        ),
        ({"sigma": 1.0}, "only model 'hrm' takes it"),
        ({"model": "hrm", "thresholds": [0.0, 1.0]}, "pass/fail ratings only"),
        ({"thresholds": "high"}, "thresholds='high'"),
        ({"thresholds": [10**400]}, "thresholds="),
        ({"severity": [10**400]}, "severity"),
        ({"thresholds": np.zeros((3, 2))}, "one for each of the 5 items"),
        ({"thresholds": np.zeros((5, 2))}, "use scale=.partial credit."),
        ({"thresholds": [0.0, 1.0], "link": "probit"}, "needs scale 'graded'"),
        ({"thresholds": [1.0, 0.0], "scale": "graded"}, "must rise"),
        ({"scale": "steep"}, "unknown scale 'steep'"),
        ({"scale": "continuous", "model": "hrm"}, "use model 'gmf' or 'tfm'"),
        ({"scale": "continuous", "thresholds": [0.0, 1.0]}, "leave thresholds out"),
        ({"scale": "continuous", "halo": [0.0, 1.0], "raters": 2}, "leave halo out"),
        ({"scale": "continuous", "link": "probit"}, "leave link out"),
        ({"scale": "continuous", "noise": 0.0}, "noise has the value 0"),
        ({"scale": "continuous", "criterion": 1.0}, "its raters have .slope., .severity., .noise."),
        ({"common_students": 3, "raters_per_student": 2}, "different designs"),
        ({"common_students": 501}, "more than the 500 students"),
        ({"common_students": 0, "students": 5}, "leave some of the 20 raters without one"),
        ({"design": 3}, "design is of type int"),
        ({"design": pl.DataFrame({"student": [1], "rater": [1]})}, "no column 'item' among student, rater"),
        ({"design": ([1, 2], [1], [1])}, "have 1, 2 rows"),
        ({"design": (["a", None], [1, 1], [1, 1])}, "student is missing in a row"),
    ],
)
def test_bad_arguments_are_named_with_what_to_do(arguments, message):
    with pytest.raises(OptionError, match=message) as caught:
        simulate(**arguments)
    assert caught.value.remedy
    assert caught.value.option in arguments


# -------------------------- draws against the probabilities of each model; the truth in the terms of a fit


# A proportion of n draws is within 4.5 standard errors of its probability: one test in 150,000 would err,
# and the seed is fixed.
STANDARD_ERRORS = 4.5


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


def test_probit_pass_rates_are_those_of_thresholds_and_noise():
    # Over N(0, 1) abilities a rater passes P(θ - δ + σ ε > α_r) = Φ(-(α_r + δ) / sqrt(1 + σ²)).
    noise, threshold = np.array([0.5, 1.0, 2.0]), np.array([-0.5, 0.2, 1.0])
    drawn = simulate(
        model="probit",
        students=40_000,
        raters=3,
        items=1,
        noise=noise,
        threshold=threshold,
        difficulty=0.3,
        alpha=0.1,
        seed=2,
    )
    rate = np.bincount(drawn.ratings.rater, drawn.ratings.score) / 40_000
    expected = stats.norm.cdf(-(threshold + 0.3 - 0.1) / np.sqrt(1 + noise**2))
    np.testing.assert_allclose(rate, expected, atol=STANDARD_ERRORS * 0.5 / 200)
    np.testing.assert_allclose(drawn.truth.kappa, capability.probit(noise=noise, threshold=threshold + 0.2))
    np.testing.assert_allclose(drawn.truth.rho, 1 / np.sqrt(1 + noise**2))


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_hierarchical_raters_share_the_true_category(link):
    # Two raters: marginal pass rates and the joint one follow from the latent category they both see.
    n = 40_000
    drawn = simulate(
        model="hrm",
        link=link,
        students=n,
        raters=2,
        items=1,
        slope=[2.0, 4.0],
        criterion=[0.5, 2.5],
        difficulty=0.4,
        alpha=0.1,
        sigma=1.2,
        seed=3,
    )
    t = np.linspace(-8, 8, 2001)
    category = np.sum(special.expit(1.2 * t - 0.3) * stats.norm.pdf(t)) * (t[1] - t[0])
    below = {"logit": special.expit, "probit": stats.norm.cdf}[link]
    passed = 1 - below(np.array([[0.5, 2.5], [0.5 - 2.0, 2.5 - 4.0]]))
    scores = drawn.ratings.score.reshape(n, 2)
    tolerance = STANDARD_ERRORS * 0.5 / np.sqrt(n)
    np.testing.assert_allclose(scores.mean(axis=0), [1 - category, category] @ passed, atol=tolerance)
    both = [1 - category, category] @ passed.prod(axis=1)
    assert scores.prod(axis=1).mean() == pytest.approx(both, abs=tolerance)
    np.testing.assert_allclose(drawn.truth.kappa, passed[1] - passed[0])
    assert drawn.truth.sigma == 1.2


@pytest.mark.parametrize(
    ("scale", "link", "thresholds"),
    [
        ("rating scale", "logit", [-1.0, 0.2, 1.1]),
        ("partial credit", "logit", [[-1.0, 0.2, 1.1], [0.5, -0.5, 0.9]]),
        ("graded", "logit", [-1.0, 0.2, 1.1]),
        ("graded", "probit", [-1.0, 0.2, 1.1]),
    ],
)
def test_ordered_scores_have_the_probabilities_of_their_thresholds(scale, link, thresholds):
    n = 40_000
    drawn = simulate(
        students=n,
        raters=2,
        items=2,
        thresholds=thresholds,
        scale=scale,
        link=link,
        slope=[0.6, 1.4],
        severity=[-0.4, 0.4],
        difficulty=[-0.2, 0.2],
        alpha=0.3,
        ability=0.5,
        seed=4,
    )
    tau = np.broadcast_to(thresholds, (2, 3))
    below = {"logit": special.expit, "probit": stats.norm.cdf}[link]
    for rater, (a, eta) in enumerate([(0.6, -0.4), (1.4, 0.4)]):
        for item, delta in enumerate([-0.2, 0.2]):
            steps = a * 0.5 - eta - delta + 0.3 - tau[item]
            if scale == "graded":
                at_least = np.concatenate([[1.0], below(steps), [0.0]])
                expected = -np.diff(at_least)
            else:
                weight = np.exp(np.concatenate([[0.0], np.cumsum(steps)]))
                expected = weight / weight.sum()
            own = drawn.ratings.score[(drawn.ratings.rater == rater) & (drawn.ratings.item == item)]
            seen = np.bincount(own, minlength=4) / n
            np.testing.assert_allclose(seen, expected, atol=STANDARD_ERRORS * 0.5 / np.sqrt(n))
    truth = drawn.truth
    np.testing.assert_allclose(truth.thresholds.mean(axis=1), 0, atol=1e-12)
    assert truth.difficulty.sum() == pytest.approx(0, abs=1e-12)
    assert 0 < truth.kappa.min() < truth.kappa.max() <= 1 + 1e-9


def test_two_categories_with_a_threshold_are_pass_and_fail():
    given = {"raters": 3, "slope": [0.5, 1.0, 2.0], "severity": [-1, 0, 1]}
    plain, ordered = simulate(**given), simulate(**given, thresholds=[0.0])
    np.testing.assert_allclose(ordered.truth.kappa, plain.truth.kappa, atol=1e-9)
    assert set(ordered.ratings.score) == {0, 1}


def test_truth_knows_each_raters_capability():
    truth = simulate(raters=3, slope=[0.5, 2.0, 1.0], severity=[-1, 0, 1]).truth
    assert truth.sigma == 2
    np.testing.assert_array_equal(truth.rho, [0.25, 1, 0.5])
    np.testing.assert_array_equal(truth.kappa, capability.gmf(rho=[0.25, 1, 0.5], eta=[-1, 0, 1], sigma=2.0))
    np.testing.assert_array_equal(simulate(raters=2, slope=0.0).truth.kappa, [0, 0])


def test_a_fit_recovers_marks_out_of_100() -> None:
    drawn = simulate(
        scale="continuous",
        students=400,
        raters=6,
        items=2,
        raters_per_student=3,
        difficulty=[-2.0, 4.0],
        seed=2,
    )
    truth, fit = drawn.truth, rl.fit(drawn.ratings, model="gmf")
    assert (fit.config.scale, fit.link) == ("continuous", truth.link)
    raters = fit.table("raters")
    for name, value in (("eta", truth.severity), ("noise", truth.noise), ("kappa", truth.kappa)):
        off = np.abs(raters[name].to_numpy() - value)
        assert (off < 3 * raters[f"{name}_se"].to_numpy() + 1e-9).all(), (
            name
        )  # the yardstick's kappa is 1 without error
    slope = raters["rho"].to_numpy() * fit.sigma
    assert slope == pytest.approx(truth.slope, rel=0.12)
    assert fit.alpha == pytest.approx(truth.alpha, abs=2)
    assert fit.table("items")["delta"].to_numpy() == pytest.approx(truth.difficulty, abs=0.8)


def test_marks_have_the_mean_and_the_noise_that_are_given() -> None:
    one = simulate(
        scale="continuous", students=20_000, raters=2, items=1, ability=1.0, slope=[12.0, 6.0],
        severity=[3.0, -1.0], noise=[4.0, 9.0], difficulty=0.0, alpha=40.0, seed=3,
    )  # fmt: skip
    by_rater = (
        one.ratings.table().group_by("rater").agg(mean=pl.col("score").mean(), sd=pl.col("score").std())
    )
    by_rater = by_rater.sort("rater")
    assert by_rater["mean"].to_numpy() == pytest.approx([49, 47], abs=0.3)
    assert by_rater["sd"].to_numpy() == pytest.approx([4, 9], rel=0.03)
    assert one.truth.severity.tolist() == [2.0, -2.0]
    assert one.truth.alpha == 39.0
    assert one.truth.kappa.tolist() == [1.0, 0.5]
    assert (simulate(scale="continuous", alpha=99.0, items=1).ratings.score <= 100).all()


# ---------------------------------------------------------------------- designs against what was asked


def columns(ratings):
    return np.column_stack([ratings.student, ratings.rater, ratings.item])


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


@pytest.mark.parametrize(("students", "common"), [(30, 0), (30, 6), (30, 30)])
def test_linked_design_has_the_common_students(students, common):
    ratings = simulate(students=students, raters=5, items=2, common_students=common).ratings
    raters_of = [np.unique(ratings.rater[ratings.student == n]).size for n in range(students)]
    assert raters_of == [5] * common + [1] * (students - common)
    assert ratings.n_ratings == 2 * (5 * common + students - common)
    assert np.ptp(np.bincount(ratings.rater)) <= 2
