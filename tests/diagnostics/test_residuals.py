"""Residuals and their averages over posteriors, against brute force and compiled code."""

import numpy as np
import pytest
from scipy import special

import raterlens as rl
from raterlens.diagnostics.residuals import averages_for, residuals, tables_of
from raterlens.likelihood.nodes import Nodes
from tests.support.facets_models import make, somewhere

# ----------------------------------------------------- residuals against brute force, rating by rating


@pytest.mark.parametrize("options", [{}, {"link": "probit"}, {"model": "probit"}])
def test_residuals_equal_brute_force(options):
    """Posterior and cavity of every student on a grid, rating by rating."""
    ratings = rl.simulate(students=150, raters=4, items=3, raters_per_student=2, slope=1.0, seed=6).ratings
    fit = rl.fit(ratings, **{"model": "gmf"} | options)
    got = residuals(fit, ratings)
    effects = fit.calibration.effects
    t = np.linspace(-6.5, 6.5, 2001)
    shape = special.ndtr if "probit" in str(options) else special.expit
    weight = effects["slope"] if options.get("model") == "probit" else np.ones(4)
    a, b = effects["slope"][ratings.rater], effects["severity"][ratings.rater]
    s = np.multiply.outer(a, t) - (b + weight[ratings.rater] * effects["difficulty"][ratings.item])[:, None]
    mu = shape(s)
    p = shape(np.where(ratings.score[:, None] == 1, s, -s))
    for i in range(0, ratings.n_ratings, 17):
        mine = ratings.student == ratings.student[i]
        posterior = np.exp(-(t**2) / 2) * p[mine].prod(axis=0)
        posterior /= posterior.sum()
        cavity = np.exp(-(t**2) / 2) * p[mine & (ratings.rater != ratings.rater[i])].prod(axis=0)
        cavity /= cavity.sum()
        y, m = ratings.score[i], mu[i]
        assert got.expected[i] == pytest.approx(posterior @ m, abs=1e-5)
        assert got.squared[i] == pytest.approx(posterior @ (y - m) ** 2, abs=1e-5)
        assert got.standardised[i] == pytest.approx(posterior @ (1 / p[i] - 1), rel=1e-3)
        assert got.probability[i] == pytest.approx(cavity @ p[i], abs=1e-4)
        pair = got.pairs.of_rating[i]
        assert got.rest[pair] == pytest.approx(cavity @ t, abs=1e-3)
        both = np.flatnonzero(mine & (ratings.rater == ratings.rater[i]))
        away = ratings.score[both][:, None] - mu[both]
        together = posterior @ (away.sum(axis=0) ** 2 - (away**2).sum(axis=0))
        assert got.together[pair] == pytest.approx(together, abs=1e-4)


@pytest.mark.parametrize("model", ["gmf", "tfm"])
def test_mean_squares_average_one_and_severity_scores_vanish_at_the_fit(model):
    ratings = rl.simulate(students=600, raters=8, items=4, raters_per_student=3, model=model, seed=8).ratings
    got = residuals(rl.fit(ratings, model=model), ratings)
    assert got.squared.sum() / got.variance.sum() == pytest.approx(1, abs=0.02)
    assert np.bincount(ratings.rater, got.score) == pytest.approx(0, abs=0.01)


def test_probabilities_of_ratings_are_calibrated():
    """A share p was given of the ratings whose probability is p according to others."""
    ratings = rl.simulate(students=2_000, raters=8, items=4, raters_per_student=3, seed=9).ratings
    got = residuals(rl.fit(ratings, model="gmf"), ratings)
    passed = np.where(ratings.score == 1, got.probability, 1 - got.probability)
    for low in np.arange(0.05, 0.95, 0.1):
        inside = (passed >= low) & (passed < low + 0.1)
        assert ratings.score[inside].mean() == pytest.approx(passed[inside].mean(), abs=0.04)


# ------------------------------------------------------------------------------------------- posterior


@pytest.mark.parametrize("kind", ["gmf", "probit", "rating scale", "graded"])
def test_predictions_have_their_expectations(small, kind):
    model, response = make(small, kind)
    nodes = Nodes.equally_spaced(-3, 3, 0.5)
    tables = tables_of(response, model.predictor(somewhere(model)), nodes)
    k = response.n_categories
    y = np.arange(k)[:, None]
    np.testing.assert_allclose(tables.prob.sum(axis=1), 1)
    np.testing.assert_allclose(tables.mean, (tables.prob * y).sum(axis=1))
    np.testing.assert_allclose(tables.variance, (tables.prob * y**2).sum(axis=1) - tables.mean**2, rtol=1e-8)
    # A squared standardised residual is 1 on average.
    z2 = tables.standardised.reshape(tables.prob.shape)
    np.testing.assert_allclose((tables.prob * z2).sum(axis=1), 1)
    np.testing.assert_allclose((tables.prob * z2**2).sum(axis=1) - 1, tables.kurtosis, atol=1e-6, rtol=1e-6)
    assert (tables.middle is None) == (k == 2)
    if tables.score is not None:
        score = tables.score.reshape(tables.prob.shape)
        np.testing.assert_allclose((tables.prob * score).sum(axis=1), 0, atol=1e-10)


@pytest.mark.parametrize("n_ratings", [10, 10**9], ids=["readable", "compiled"])
def test_sums_written_out(n_ratings):
    random = np.random.default_rng(0)
    weights, table, prob = random.random((4, 6)), random.random((5, 6)), random.random((5, 3, 6))
    weight, one, two = random.integers(4, size=20), random.integers(5, size=20), random.integers(5, size=20)
    averaged, agreeing = averages_for(n_ratings)
    expected = [weights[w] @ table[r] for w, r in zip(weight, one, strict=True)]
    np.testing.assert_allclose(averaged(weights, weight, table, one), expected, rtol=1e-12)
    expected = [
        weights[w] @ (prob[a] * prob[b]).sum(axis=0) for w, a, b in zip(weight, one, two, strict=True)
    ]
    np.testing.assert_allclose(agreeing(weights, weight, prob, one, two), expected, rtol=1e-12)
