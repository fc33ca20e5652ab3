"""Scores' probabilities: they sum to one, and derivatives agree with differences."""

import numpy as np
import pytest

from raterlens.capability.links import LINKS
from raterlens.models.responses import (
    Adjacent,
    Graded,
    Linked,
    Predictor,
)

T = np.linspace(-3, 3, 7)
STEP = 1e-5
SMOOTH = ["logit", "probit", "cauchit", "cloglog"]
RESPONSES = [
    Adjacent(2),
    Adjacent(4),
    *(Linked(LINKS[name]) for name in SMOOTH),
    *(Graded(LINKS[name], 4) for name in SMOOTH),
]


def name(response) -> str:
    return f"{type(response).__name__}-{response.n_categories}-{getattr(response, 'link', None) and response.link.name}"


def at(response, shift: np.ndarray | float = 0.0) -> Predictor:
    random = np.random.default_rng(0)
    steps = response.n_categories - 1
    intercepts = -np.sort(random.normal(size=(5, steps)), axis=1) - 0.3 * np.arange(steps)
    return Predictor(random.uniform(0.3, 1.2, 5), intercepts + shift)


@pytest.mark.parametrize("response", RESPONSES, ids=name)
def test_probabilities_sum_to_one(response):
    np.testing.assert_allclose(np.exp(response.log_prob(at(response), T)).sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("response", RESPONSES, ids=name)
def test_scores_and_curvature_agree_with_differences(response):
    steps = response.n_categories - 1
    counts = np.random.default_rng(1).uniform(size=(5, response.n_categories, len(T)))
    scores = response.scores(at(response), T)
    curvature = response.curvature(at(response), T, counts)
    for j in range(steps):
        e = STEP * np.eye(steps)[j]
        up, down = at(response, e), at(response, -e)
        first = (response.log_prob(up, T) - response.log_prob(down, T)) / (2 * STEP)
        np.testing.assert_allclose(scores[j], first, rtol=1e-6, atol=1e-8)
        counted = response.counted_scores(at(response), T, counts)[..., j]
        np.testing.assert_allclose(counted, np.einsum("cyq,cyq->cq", first, counts), rtol=1e-6, atol=1e-8)
        second = (response.scores(up, T) - response.scores(down, T)) / (2 * STEP)
        counted = np.einsum("kcyq,cyq->cqk", second, counts)
        np.testing.assert_allclose(curvature[..., j], counted, rtol=1e-5, atol=1e-7)


def test_two_ordered_categories_are_the_binary_model():
    logit = LINKS["logit"]
    one = Predictor(np.array([0.7]), np.array([[-0.4]]))
    np.testing.assert_allclose(Adjacent(2).log_prob(one, T), Linked(logit).log_prob(one, T), rtol=1e-13)
    np.testing.assert_allclose(Graded(logit, 2).log_prob(one, T), Linked(logit).log_prob(one, T), rtol=1e-13)


@pytest.mark.parametrize("link", SMOOTH)
def test_graded_middle_scores_keep_their_digits_in_both_tails(link):
    """P(1) between thresholds a hair apart is the density times the gap, however far out."""
    gap = 1e-6
    for centre in (-4.0, 4.0 if link != "cloglog" else 1.5):
        where = Predictor(np.zeros(1), np.array([[centre + gap / 2, centre - gap / 2]]))
        log_prob = Graded(LINKS[link], 3).log_prob(where, np.zeros(1))[0, 1, 0]
        assert log_prob == pytest.approx(LINKS[link].log_density(np.array(centre)) + np.log(gap), abs=1e-6)


@pytest.mark.parametrize("response", RESPONSES, ids=name)
def test_as_the_predictor_is_shifted(response):
    counts = np.random.default_rng(2).uniform(size=(5, response.n_categories, len(T)))
    lever = response.lever
    up, down = (at(response, sign * STEP * lever) for sign in (1, -1))
    first = (response.log_prob(up, T) - response.log_prob(down, T)) / (2 * STEP)
    np.testing.assert_allclose(response.shift_scores(at(response), T), first, rtol=1e-6, atol=1e-8)
    bend = -(response.curvature(at(response), T, counts) @ lever @ lever)
    found = response.shift_information(at(response), T, counts)
    np.testing.assert_allclose(found, bend, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("response", RESPONSES, ids=name)
def test_sums_over_nodes(response):
    counts = np.random.default_rng(3).uniform(size=(5, response.n_categories, len(T)))
    at_nodes = response.counted_scores(at(response), T, counts)
    by_slope, by_intercept = response.summed_scores(at(response), T, counts)
    np.testing.assert_allclose(by_slope, at_nodes @ response.lever @ T, rtol=1e-12)
    np.testing.assert_allclose(by_intercept, at_nodes.sum(axis=1), rtol=1e-12)
