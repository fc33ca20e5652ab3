"""Tests and ranks against closed forms and a normal world with known truth."""

import numpy as np
import pytest
from scipy import stats

import raterlens as rl
from raterlens.capability.curves import PassCurve
from raterlens.capability.index import Index
from raterlens.capability.links import get_link
from raterlens.capability.population import Normal
from raterlens.capability.yardstick import Measure
from raterlens.inference.intervals import measure
from raterlens.inference.measurement import Measurement, measured_fit
from raterlens.inference.rater_comparison import (
    _drawn,
    against_mean,
    each_pair,
    holm,
    kappa_covariance,
    ranks,
    ratings_needed,
)
from raterlens.models.panel import Panel

INDEX = Index(PassCurve(get_link("logit")), Normal())
# Of 2,000 draws.
BY_CHANCE = 0.04


def on_yardstick(slope, severity, covariance, sigma=2.0):
    n = len(slope)
    panel = Panel(np.asarray(slope, float), np.asarray(severity, float), covariance, np.zeros(n))
    origin = Measure(0.0, np.zeros(n))
    yardstick = Measure(sigma, np.zeros(n))
    on = measure(panel, yardstick, origin, is_most=False)
    return Measurement(panel, on, INDEX, yardstick, origin, absolute=False)


def test_holm_on_a_worked_example():
    """Holm (1979): 0.01, 0.02, 0.03, 0.005 times 3, 2, 1, 4, made monotone."""
    np.testing.assert_allclose(holm(np.array([0.01, 0.02, 0.03, 0.005])), [0.03, 0.04, 0.04, 0.02])


def test_differences_of_independent_raters():
    kappa, variance = np.array([0.8, 0.5, 0.6]), np.array([0.01, 0.02, 0.03])
    one, other, tests = each_pair(kappa, np.diag(variance))
    assert list(zip(one, other, strict=True)) == [(0, 1), (0, 2), (2, 1)]
    np.testing.assert_allclose(tests.difference, [0.3, 0.2, 0.1])
    np.testing.assert_allclose(tests.se, np.sqrt([0.03, 0.04, 0.05]))
    np.testing.assert_allclose(tests.p, 2 * stats.norm.sf([0.3 / 0.03**0.5, 1.0, 0.1 / 0.05**0.5]))
    mean = against_mean(kappa, np.diag(variance))
    # kappa_1 - mean = (2 k_1 - k_2 - k_3) / 3
    assert mean.se[0] == pytest.approx(np.sqrt(4 * 0.01 + 0.02 + 0.03) / 3)


def test_raters_who_err_together_differ_by_less_than_they_err():
    covariance = np.full((2, 2), 0.04) + 0.0001 * np.eye(2)
    _, _, tests = each_pair(np.array([0.6, 0.55]), covariance)
    assert tests.p[0] < 0.001


def test_covariance_of_kappas_by_differences():
    random = np.random.default_rng(2)
    root = 0.1 * random.normal(size=(6, 6))
    slope, severity, weights = np.array([1.0, 1.4, 0.6]), np.array([0.2, -0.7, 0.9]), np.full(3, 1 / 3)
    panel = Panel(slope, severity, root @ root.T, np.zeros(3))
    origin, yardstick = Measure(0.0, weights), Measure(1.4, np.zeros(3))
    on = measure(panel, yardstick, origin, is_most=False)
    found = kappa_covariance(Measurement(panel, on, INDEX, yardstick, origin, absolute=False))

    def kappa(x):
        return INDEX.kappa(x[:3], x[3:] - x[3:] @ weights, np.full(3, 1.4))

    x, step = np.concatenate([slope, severity]), 1e-6
    through = np.column_stack([(kappa(x + d) - kappa(x - d)) / (2 * step) for d in step * np.eye(6)])
    np.testing.assert_allclose(found, through @ panel.covariance @ through.T, rtol=1e-6)


def test_tests_hold_their_level_where_raters_are_alike():
    """Estimates of five equal raters, drawn anew from the covariance that the panel claims."""
    random, runs, hits, any_hit = np.random.default_rng(4), 400, 0.0, 0
    covariance = np.diag(np.r_[np.full(5, 0.01), np.full(5, 0.02)])
    for _ in range(runs):
        x = np.r_[np.ones(5), np.full(5, 0.3)] + np.sqrt(np.diag(covariance)) * random.normal(size=10)
        where = on_yardstick(x[:5], x[5:], covariance)
        kappa = INDEX.kappa(where.on.a, where.on.eta, where.on.sigmas)
        _, _, tests = each_pair(kappa, kappa_covariance(where))
        hits += (tests.p < 0.05).mean() / runs
        any_hit += bool((tests.holm < 0.05).any())
    assert hits == pytest.approx(0.05, abs=0.02)
    assert any_hit / runs < 0.08


def test_probability_of_being_best_has_a_closed_form_for_two():
    """Small errors, so that kappa is linear: P = Phi(difference / se of the difference)."""
    covariance = np.diag([1e-4, 1e-4, 0.0, 0.0])
    found = ranks(on_yardstick([1.0, 1.01], [0.0, 0.0], covariance), 1)
    assert found.best[1] == pytest.approx(stats.norm.cdf(0.01 / np.sqrt(2e-4)), abs=BY_CHANCE)
    assert found.worst[0] == pytest.approx(found.best[1])
    assert found.rank.tolist() == [2, 1]


def test_ranks_of_a_sure_panel_are_sure():
    found = ranks(on_yardstick([0.5, 1.5, 1.0], np.zeros(3), 1e-8 * np.eye(6)), 1)
    assert found.rank.tolist() == found.low.tolist() == found.high.tolist() == [3, 1, 2]
    assert found.best.tolist() == [0, 1, 0]


def test_a_sparse_covariance_gives_the_same_as_a_dense_one():
    from scipy import sparse

    dense = np.diag(np.r_[np.full(4, 0.04), np.full(4, 0.02)])
    dense[np.arange(4), 4 + np.arange(4)] = dense[4 + np.arange(4), np.arange(4)] = 0.01
    slope, severity = [0.5, 1.5, 1.0, 1.1], [0.1, 0.2, -0.4, 0.0]
    thick = on_yardstick(slope, severity, dense)
    thin = on_yardstick(slope, severity, sparse.csr_array(dense))
    np.testing.assert_allclose(kappa_covariance(thick), kappa_covariance(thin).toarray(), atol=1e-14)
    np.testing.assert_allclose(ranks(thick, 1).best, ranks(thin, 1).best, atol=BY_CHANCE)


def test_ratings_needed():
    """Half the standard error takes four times the ratings; what comes from the yardstick stays."""
    given, own, total = (
        np.array([100, 100, 100, 100]),
        np.array([0.1, 0.1, 0.1, 0.03]),
        np.array([0.1, 0.12, 0.2, 0.04]),
    )
    needed = ratings_needed(given, own, total, 0.05)
    assert needed[0] == 300
    assert needed[1] == np.inf
    assert needed[2] == np.inf
    assert needed[3] == 0
    assert ratings_needed(given[:1], np.array([0.08]), np.array([0.082]), 0.05)[0] == pytest.approx(
        194, abs=1
    )


def test_draws_reach_as_far_as_the_intervals_where_a_slope_ran_to_its_limit():
    """Standard errors say nothing about a rater who seems never to err; comparisons use its interval."""
    raters = {"slope": [3.0, 1.0, 1.2], "severity": [0.2, 0.0, -0.2]}
    ratings = rl.simulate(students=40, raters=3, items=1, difficulty=0.0, seed=10, **raters).ratings
    fit = rl.fit(ratings, model="gmf", reference=3.0)
    where = measured_fit(fit, fit.yardstick)
    kappa = np.concatenate(list(_drawn(where)))
    ends = np.quantile(kappa, [0.025, 0.975], axis=0)
    np.testing.assert_allclose(ends, fit.raters.select("kappa_low", "kappa_high").to_numpy().T, atol=0.08)
    np.testing.assert_allclose(kappa_covariance(where), np.cov(kappa, rowvar=False))
    steep = int(np.flatnonzero(fit.calibration.at_limit)[0])
    assert fit.compare_raters().raters["rank_high"][steep] > 1
