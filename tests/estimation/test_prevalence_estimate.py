"""Prevalences at the maximum: their standard errors are those of draws, and a ridge is known for one."""

import numpy as np
import polars as pl
import pytest
from scipy import special

import raterlens as rl
from raterlens.estimation.prevalence import UNKNOWN, PrevalenceProblem
from raterlens.estimation.prevalence_estimate import PrevalenceEstimate


def estimate(n_raters: int, seed: int, n: int = 300) -> PrevalenceEstimate:
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.7
    frames = [
        pl.DataFrame(
            {
                "student": np.arange(n),
                "rater": f"r{k}",
                "score": np.where(rng.random(n) < 0.85, truth, ~truth).astype(int),
            }
        )
        for k in range(n_raters)
    ]
    ratings = rl.read(pl.concat(frames))
    one, unknown = np.zeros(ratings.n_ratings, int), np.full(ratings.n_ratings, UNKNOWN)
    nobody = np.zeros(n_raters, dtype=bool)
    return PrevalenceEstimate.of(PrevalenceProblem.of(ratings, one, 1, unknown, nobody))


def test_standard_errors_are_the_spread_of_estimates():
    found = [estimate(3, seed) for seed in range(60)]
    logits = np.array([each.parameters[0] for each in found])
    assert all(each.covariance is not None for each in found)
    errors = np.mean([np.sqrt(each.covariance[0, 0]) for each in found])  # type: ignore[index]
    # The standard deviation of 60 draws is known to 9 %.
    assert logits.std() == pytest.approx(errors, rel=0.3)
    assert special.expit(logits).mean() == pytest.approx(0.7, abs=0.02)


def test_rates_and_intervals_follow_from_logits():
    found = estimate(4, 1)
    assert found.determined
    assert not found.shared
    rate, spread = found.rates()
    centre, low, high = found.interval(found.problem.blocks["prevalence"])
    assert rate[0] == centre[0]
    assert (high[0] - low[0]) / (2 * 1.96) == pytest.approx(np.sqrt(spread[0, 0]), rel=0.02)


def test_two_raters_leave_it_open():
    assert not estimate(2, 1).determined
