"""Prevalences at the maximum: their standard errors are those of draws, and a ridge is known for one."""

from dataclasses import replace

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


@pytest.mark.nightly
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


def test_pass_rates_average_over_what_is_shared():
    """Without anything shared they are those of the lines; with it, those of many draws of z."""
    found = estimate(4, 2)
    rate, low, high = found.pass_rates()
    for ours, ends in zip((rate, low, high), found.interval(found.problem.blocks["line"]), strict=True):
        np.testing.assert_allclose(ours.ravel(), ends, rtol=1e-10)
    problem = replace(found.problem, sharing=np.array([False, True, True, True]))
    parameters = np.append(found.parameters, [1.0, 2.0, 0.5])
    shared = replace(found, problem=problem, parameters=parameters, covariance=np.eye(len(parameters)) / 100)
    z = np.random.default_rng(1).standard_normal(400_000)
    line, b = problem.lines(parameters), problem.loading(parameters)
    drawn = [[special.expit(line[r, c] + b[r] * z).mean() for c in (0, 1)] for r in range(4)]
    np.testing.assert_allclose(shared.pass_rates()[0], drawn, atol=2e-3)
    # The standard error of a logit is 0.1, less what averaging takes off, plus that of b.
    step = parameters.copy()
    step[problem.blocks["shared"].start + 1] += 1e-4
    moved = replace(shared, parameters=step).pass_rates()[0]
    by_b = (special.logit(moved) - special.logit(shared.pass_rates()[0]))[2, 1] / 1e-4
    step = parameters.copy()
    step[problem.blocks["line"].start + 5] += 1e-4
    moved = replace(shared, parameters=step).pass_rates()[0]
    by_line = (special.logit(moved) - special.logit(shared.pass_rates()[0]))[2, 1] / 1e-4
    _, low, high = shared.pass_rates()
    half = (special.logit(high) - special.logit(low))[2, 1] / 2
    assert half == pytest.approx(1.96 * 0.1 * np.hypot(by_line, by_b), rel=1e-3)


def test_two_raters_leave_it_open():
    assert not estimate(2, 1).determined
