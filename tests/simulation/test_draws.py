"""Draws against the probabilities of each model; the truth in the terms of a fit."""

import numpy as np
import pytest
from scipy import special, stats

from raterlens import capability
from raterlens.capability.links import LINKS
from raterlens.simulation.simulate import simulate

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
