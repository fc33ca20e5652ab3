"""Probabilities of grades, held to numerical integration of single students' posteriors."""

import numpy as np
import polars as pl
import pytest
from scipy import integrate, special, stats

import raterlens as rl
from raterlens.estimation.scoring import place
from raterlens.grading.grades import Grid, cuts_of, graded
from tests.support.calibrations import DIFFICULTIES, SEVERITIES, SLOPES, calibration

PATTERNS = {"A": [1, 0, 0, 1, 1, 0], "B": [1, 1, 1, 1, 1, 1], "C": [0, 0, 0, 0, 1, 0]}


@pytest.fixture(scope="module")
def ratings():
    rows = [
        (student, f"R{place // 3}", f"I{place % 3}", score)
        for student, pattern in PATTERNS.items()
        for place, score in enumerate(pattern)
    ]
    return rl.read(pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row"))


def _density(theta, pattern):
    s = np.repeat(SLOPES[:2], 3) * theta - np.repeat(SEVERITIES[:2], 3) - np.tile(DIFFICULTIES, 2)
    return np.prod(np.where(pattern, special.expit(s), special.expit(-s))) * stats.norm.pdf(theta)


def _mean(value, pattern, low=-10.0, high=10.0):
    whole, _ = integrate.quad(_density, -10, 10, args=(pattern,), epsabs=1e-14)
    found, _ = integrate.quad(lambda t: value(t) * _density(t, pattern), low, high, epsabs=1e-14, limit=200)
    return found / whole


def test_probabilities_are_integrals_of_the_posterior(ratings):
    known = calibration()
    placed = place(known, ratings)
    cuts = cuts_of(known, [-0.4, 0.37], "ability")
    found = graded(Grid.of(known, placed, placed.abilities(), cuts), np.zeros(3))
    for pattern, p in zip(PATTERNS.values(), found.probabilities, strict=True):
        ends = [-10, -0.4, 0.37, 10]
        wanted = [_mean(lambda _: 1.0, pattern, *ends[k : k + 2]) for k in range(3)]
        np.testing.assert_allclose(p, wanted, atol=2e-9)


def test_the_error_of_the_estimates_moves_the_posterior_as_a_whole(ratings):
    known = calibration()
    placed = place(known, ratings)
    grid = Grid.of(known, placed, placed.abilities(), cuts_of(known, 0.37, "ability"))
    extra = np.array([0.02, 0.0, 0.09])
    found = graded(grid, extra)
    for pattern, p, v in zip(PATTERNS.values(), found.probabilities, extra, strict=True):
        sd = max(v, 1e-30) ** 0.5
        wanted = _mean(lambda t, sd=sd: stats.norm.sf((0.37 - t) / sd), pattern, -4, 6)
        np.testing.assert_allclose(p[1], wanted, atol=1e-6)
