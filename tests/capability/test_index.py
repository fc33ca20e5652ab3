"""The index as a function of slope, severity and yardstick: the formulas, and finite differences."""

import numpy as np
import pytest

from raterlens import capability
from raterlens.capability.curves import AdjacentCurve, GradedCurve, MarkCurve, PassCurve
from raterlens.capability.index import Index, OwnCurves, Usual
from raterlens.capability.links import get_link
from raterlens.capability.population import Normal, Window

A, ETA, SIGMA = np.array([0.5, 1.2, -0.4]), np.array([0.3, -0.8, 1.1]), np.full(3, 1.7)
# Central differences with step 1e-5 of functions of order one; those of Delta have errors of their own.
DIFFERENCE = 1e-6
INDICES = {
    "logit": Index(PassCurve(get_link("logit")), Normal()),
    "cloglog": Index(PassCurve(get_link("cloglog")), Normal(0.4, 1.3)),
    "window": Index(PassCurve(get_link("probit")), Window(0.2, 0.7)),
    "ordered": Index(AdjacentCurve(np.array([[-0.5, 0.5]])), Normal()),
    "perfect": Index(PassCurve(get_link("probit")), Normal(), perfect=True),
}


def test_kappa_is_that_of_the_formulas():
    index = INDICES["logit"]
    expected = capability.gmf(rho=A / SIGMA, eta=ETA, sigma=SIGMA)
    np.testing.assert_allclose(index.kappa(A, ETA, SIGMA), expected, atol=1e-13)
    at = capability.gmf(rho=A / SIGMA, eta=ETA, sigma=SIGMA, theta=0.6)
    np.testing.assert_allclose(index.kappa_at(0.6, A, ETA, SIGMA), at, atol=1e-13)


def test_a_rater_without_noise_is_the_yardstick_of_the_probit_model():
    noise = 1 / A[:2]
    found = INDICES["perfect"].kappa(A[:2], ETA[:2], SIGMA[:2])
    expected = capability.probit(noise=noise, threshold=ETA[:2] * noise)
    np.testing.assert_allclose(found, expected, atol=1e-13)


HALO = np.array([0.5, 1.0, 2.0])


@pytest.mark.parametrize("halo", [0.0, HALO], ids=["no halo", "halo"])
@pytest.mark.parametrize("name", [*INDICES, "log"])
def test_both_at_once_are_each_by_itself(name, halo):
    index = INDICES.get(name, Index(PassCurve(get_link("log")), Normal()))
    kappa, sharpness, _ = index.all_shown(A, ETA, SIGMA, halo)
    np.testing.assert_allclose(kappa, index.kappa(A, ETA, SIGMA, halo), rtol=1e-13)
    np.testing.assert_allclose(sharpness, index.sharpness(A, ETA, halo), rtol=1e-13)
    shown = index.all_shown(A, ETA, SIGMA, halo)
    # The place where a rater is undecided is found to 1e-12.
    np.testing.assert_allclose(shown, [kappa, sharpness, index.standard(A, ETA, halo)], rtol=1e-11)


def test_both_of_many_draws_of_ordered_scores():
    """By one table for the two."""
    random, index = np.random.default_rng(1), INDICES["ordered"]
    a, eta = (1 + 0.2 * random.standard_normal((2, 1000)) for _ in range(2))
    kappa, sharpness, _ = index.all_shown(a, eta, np.full_like(a, 1.7))
    some = slice(None, None, 100)
    np.testing.assert_allclose(
        kappa[:, some], index.kappa(a[:, some], eta[:, some], np.full((2, 10), 1.7)), atol=1e-7
    )
    np.testing.assert_allclose(sharpness[:, some], index.sharpness(a[:, some], eta[:, some]), atol=1e-7)


@pytest.mark.parametrize("name", INDICES)
def test_gradients_are_differences(name):
    index, h = INDICES[name], 1e-5
    for value, gradient in (
        (index.kappa, index.gradient(A, ETA, SIGMA, HALO)),
        (lambda a, eta, sigma, halo: index.rho(a, sigma)[0], index.rho(A, SIGMA)[1]),
    ):
        for which, part in enumerate(gradient):
            steps = [
                [h * (place == which) for place in range(4)],
                [-h * (place == which) for place in range(4)],
            ]
            above, below = (
                value(*(one + step for one, step in zip((A, ETA, SIGMA, HALO), move, strict=True)))
                for move in steps
            )
            difference = (above - below) / (2 * h)
            np.testing.assert_allclose(np.broadcast_to(part, A.shape), difference, atol=DIFFERENCE)


def test_discrimination_beside_a_rater_without_noise():
    """a / sqrt(1 + a²) for the probit link, of either sign."""
    a = np.array([-1.0, 0.0, 1.0, 3.0])
    found, gradient = INDICES["perfect"].rho(a, np.ones(4))
    np.testing.assert_allclose(found, a / np.sqrt(1 + a**2), atol=1e-9)
    np.testing.assert_allclose(gradient.slope, (1 + a**2) ** -1.5, atol=1e-6)


@pytest.mark.parametrize("thresholds", [[[-1.5, 0.2, 1.0]], [[0.5, 1.0, 2.0]], [[-1.0, 1.0], [-0.5, np.nan]]])
def test_the_standard_of_ordered_scores_is_how_often_the_middle_mark_is_given(thresholds):
    """Against counts of simulated scores: of each scale, the mark that the average rater gives to half of the students,
    a mixture of the two around it."""
    random, tau = np.random.default_rng(2), np.array(thresholds)
    theta, usual = random.standard_normal(200_000), Usual(AdjacentCurve(tau), 1.4, 0.3)
    index = Index(usual.curve, Normal(), usual=usual)
    slope, severity = 0.9, 0.8

    def given(a, eta, steps):
        logs = np.cumsum(
            np.concatenate([np.zeros((1, len(theta))), (a * theta - eta + 0.3) - steps[:, None]]), axis=0
        )
        p = np.exp(logs - logs.max(axis=0))
        score = (np.cumsum(p / p.sum(axis=0), axis=0) < random.random(len(theta))).sum(axis=0)
        return np.array([np.mean(score >= k) for k in range(len(steps) + 2)])

    expected = []
    for own in tau:
        steps = own[np.isfinite(own)]
        average, rater = given(1.4, 0.0, steps), given(slope, severity, steps)
        k = int(np.flatnonzero(average >= 0.5)[-1])
        part = (0.5 - average[k + 1]) / (average[k] - average[k + 1])
        expected.append(part * rater[k] + (1 - part) * rater[k + 1])
    found = index.standard(np.array([slope, 1.4]), np.array([severity, 0.0]))
    assert found == pytest.approx([np.mean(expected), 0.5], abs=4e-3)


MOVED = np.array([[-0.4, 0.1, 0.3], [0.5, -0.2, -0.3], [0.0, 0.0, 0.0]])
TAU = np.array([[-1.0, 0.2, 0.8], [-0.5, 0.1, 0.4]])
OWN = {
    "adjacent": (
        AdjacentCurve(TAU),
        AdjacentCurve(TAU + MOVED[:, None]),
        lambda r: AdjacentCurve(TAU + MOVED[r]),
    ),
    "graded": (
        GradedCurve(TAU, get_link("probit")),
        GradedCurve(TAU + MOVED[:, None], get_link("probit")),
        lambda r: GradedCurve(TAU + MOVED[r], get_link("probit")),
    ),
    "marks": (
        MarkCurve(np.array([-0.5, 0.5]), 0.7, 6.0),
        MarkCurve(np.array([-0.5, 0.5]), np.array([[0.5], [0.9], [1.3]]), 6.0),
        lambda r: MarkCurve(np.array([-0.5, 0.5]), [0.5, 0.9, 1.3][r], 6.0),
    ),
}


@pytest.mark.parametrize("students", [Normal(0.2, 1.1), Window(0.2, 0.7)], ids=["normal", "window"])
@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("draws", [0, 600])
def test_raters_with_curves_of_their_own_are_each_measured_by_itself(name, students, draws):
    shared, own, alone = OWN[name]
    usual = Usual(shared, 1.1, 0.2)
    together = Index(shared, students, own=OwnCurves(own), usual=usual)
    a, eta, halo = A, ETA, np.array([0.0, 0.0, 0.0] if draws else [0.5, 0.0, 0.2])
    if draws:
        away = 0.1 * np.random.default_rng(3).standard_normal((2, 3, draws))
        a, eta, halo = A[:, None] + away[0], ETA[:, None] + away[1], halo[:, None]
    found = [
        together.rate(a, eta, halo),
        together.sharpness(a, eta, halo),
        together.standard(a, eta, halo),
        together.rate_at(0.4, a, eta, halo),
    ]
    for r in range(3):
        one, given = Index(alone(r), students, usual=usual), (a[r], eta[r], halo[r])
        expected = [one.rate(*given), one.sharpness(*given), one.standard(*given), one.rate_at(0.4, *given)]
        np.testing.assert_allclose([each[r] for each in found], expected, atol=2e-7)
