"""Accuracy and consistency, held to R's cacIRT 1.4 on complete designs.

In the folder R of github.com/cran/cacIRT (three raters of three items each):

    for (f in list.files(".", "[.]R$")) source(f)
    slope <- c(1.2, 0.8, 1.6); severity <- c(0.3, -0.5, 0.1); difficulty <- c(-0.4, 0.2, 0.6)
    g <- expand.grid(item = 1:3, rater = 1:3); t <- seq(-5, 5, 0.05); quad <- list(t, dnorm(t))
    ip <- cbind(slope[g$rater] / 1.7, (severity[g$rater] + difficulty[g$item]) / slope[g$rater], 0)
    class.Lee(4.5, ip, quadrature = quad)$Marginal; class.Lee(c(3, 6), ip, quadrature = quad)$Marginal
    x <- rbind(c(1,0,0, 1,1,0, 0,0,0), c(1,1,0, 1,0,1, 1,1,0), c(0,0,0, 1,0,0, 0,0,0), c(1,1,1, 1,1,1, 1,1,0),
               c(1,1,1, 1,1,1, 1,1,1), c(0,1,0, 1,1,0, 1,0,0))
    m <- MLE(x, ip); m; SEM(ip, m); theta <- c(-0.3, 0.4, 1.1, -1.6)
    Rud.P(0.25, theta, SEM(ip, theta))$Marginal; Rud.P(c(-0.5, 0.25), theta, SEM(ip, theta))$Marginal
    # Scores 0 to 3: two raters, two items, a rating scale.
    tau <- c(-0.7, 0.1, 0.9); tt <- seq(-2.52, 2.48, 0.1); P <- array(0, c(length(tt), 4, 4)); k <- 0
    for (r in 1:2) for (i in 1:2) { k <- k + 1; s <- slope[r] * tt - severity[r] - difficulty[i]
      e <- sapply(0:3, function(y) exp(y * s - sum(tau[seq_len(y)]))); P[,,k] <- e / rowSums(e) }
    Lee.poly.D(6, P, list(tt, dnorm(tt)))$Marginal; Lee.poly.D(c(4, 8), P, list(tt, dnorm(tt)))$Marginal
"""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.arrays import Array
from raterlens.estimation.scoring import place
from raterlens.grading.grades import lee, rudner, unshrunk
from raterlens.grading.marking import convolved, reading_totals
from tests.support.calibrations import DIFFICULTIES, SEVERITIES, SLOPES, calibration, rows_on

PATTERNS = [
    [1, 0, 0, 1, 1, 0, 0, 0, 0],
    [1, 1, 0, 1, 0, 1, 1, 1, 0],
    [0, 0, 0, 1, 0, 0, 0, 0, 0],
    [1, 1, 1, 1, 1, 1, 1, 1, 0],
    [1, 1, 1, 1, 1, 1, 1, 1, 1],
    [0, 1, 0, 1, 1, 0, 1, 0, 0],
]
THETA = np.array([-0.3, 0.4, 1.1, -1.6])


def _normal(t: Array) -> Array:
    density = np.exp(-(t**2) / 2)
    return np.asarray(density / density.sum())


def _sem(theta: Array) -> Array:
    """By the information of a logistic model, sum of a² p (1 - p)."""
    a = np.repeat(SLOPES, 3)[:, None]
    s = a * theta - np.repeat(SEVERITIES, 3)[:, None] - np.tile(DIFFICULTIES, 3)[:, None]
    p = 1 / (1 + np.exp(-s))
    return np.asarray(1 / np.sqrt((a**2 * p * (1 - p)).sum(axis=0)))


@pytest.mark.parametrize(
    ("cuts", "accuracy", "consistency"),
    [
        ([4.5], 0.836834203958, 0.77362894943),
        ([3.0], 0.844853109243, 0.800639028276),
        ([3.0, 6.0], 0.687923457585, 0.609650596673),
    ],
)
def test_lee_of_pass_and_fail_equals_cacirt(cuts: list[float], accuracy: float, consistency: float) -> None:
    known, t = calibration(), np.arange(-100, 101) * 0.05
    totals = convolved(reading_totals(known, rows_on(known, [0, 1, 2]), t))
    found = lee(totals, np.array(cuts))
    np.testing.assert_allclose(found.accuracy @ _normal(t), accuracy, atol=1e-9)
    np.testing.assert_allclose(found.consistency @ _normal(t), consistency, atol=1e-9)


@pytest.mark.parametrize(
    ("cuts", "accuracy", "consistency"),
    [([6.0], 0.829703164280, 0.777082146734), ([4.0, 8.0], 0.708197291096, 0.623896486909)],
)
def test_lee_of_ordered_scores_equals_cacirt(cuts: list[float], accuracy: float, consistency: float) -> None:
    known = calibration(
        SLOPES[:2], SEVERITIES[:2], DIFFICULTIES[:2], thresholds=[-0.7, 0.1, 0.9], scores=(0, 1, 2, 3)
    )
    t = np.arange(-25, 26) * 0.1 - 0.02
    found = lee(convolved(reading_totals(known, rows_on(known, [0, 1]), t)), np.array(cuts))
    np.testing.assert_allclose(found.accuracy @ _normal(t), accuracy, atol=1e-9)
    np.testing.assert_allclose(found.consistency @ _normal(t), consistency, atol=1e-9)


@pytest.mark.parametrize(
    ("cuts", "accuracy", "consistency"),
    [([0.25], 0.829404053316, 0.755677686588), ([-0.5, 0.25], 0.714901670118, 0.620110198557)],
)
def test_rudner_equals_cacirt(cuts: list[float], accuracy: float, consistency: float) -> None:
    found = rudner(THETA, _sem(THETA), np.array(cuts))
    np.testing.assert_allclose(found.accuracy.mean(), accuracy, atol=1e-9)
    np.testing.assert_allclose(found.consistency.mean(), consistency, atol=1e-9)


def test_unshrunk_abilities_are_maximum_likelihood_with_their_information() -> None:
    rows = [
        (f"S{n}", f"R{place // 3}", f"I{place % 3}", score)
        for n, pattern in enumerate(PATTERNS)
        for place, score in enumerate(pattern)
    ]
    ratings = rl.read(pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row"))
    found = unshrunk(place(calibration(), ratings))
    # R's optimize stops at 1e-4; students who pass everything are at the limit.
    printed = [
        -0.753239253921,
        0.695716480411,
        -2.180803359677,
        1.569484566278,
        3.999932076008,
        -0.177612400399,
    ]
    np.testing.assert_allclose(found.estimate, printed, atol=2e-4)
    np.testing.assert_allclose(found.se, _sem(found.estimate), rtol=1e-7)
    at = found.estimate[:4]
    a = np.repeat(SLOPES, 3)[:, None]
    p = 1 / (1 + np.exp(-(a * at - (np.repeat(SEVERITIES, 3) + np.tile(DIFFICULTIES, 3))[:, None])))
    np.testing.assert_allclose((a * (np.array(PATTERNS[:4]).T - p)).sum(axis=0), 0, atol=1e-7)
