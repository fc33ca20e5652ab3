"""The posterior of the truth, against a slow twin that loops over verdicts, and simulated panels with known truth."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import digamma, expit

from raterlens.judging.truth import POOLING, Verdicts, _regress, answer_features, estimate_truth
from tests.support.simulated_verdicts import panel

TIGHT = 1e-9
"""Sums in another order."""


def slow_naive_bayes(verdicts, known):
    """Log-odds from loops, with the beta prior's strength by search over the same powers of two."""
    judged, passes = verdicts.judged.toarray(), verdicts.passes.toarray()
    logs = {}
    for side in (1, 0):
        rows = np.flatnonzero(known == side)
        k, n = passes[rows].sum(axis=0), judged[rows].sum(axis=0)
        mean = (k.sum() + 0.5) / (n.sum() + 1)

        def evidence(s, k=k, n=n, mean=mean):
            a, b = s * mean, s * (1 - mean)
            return sum(
                math.lgamma(a + x) + math.lgamma(b + m - x) - math.lgamma(s + m)
                + math.lgamma(s) - math.lgamma(a) - math.lgamma(b)
                for x, m in zip(k, n, strict=True)
            )  # fmt: skip

        s = max((2.0**e for e in range(9)), key=evidence)
        a, b = s * mean + k, s * (1 - mean) + n - k
        logs[side] = digamma(a) - digamma(a + b), digamma(b) - digamma(a + b)
    prior = np.log((np.sum(known == 1) + 1) / (np.sum(known == 0) + 1))
    found = np.full(len(known), prior)
    for i in range(len(known)):
        for r in np.flatnonzero(judged[i]):
            which = 0 if passes[i, r] else 1
            found[i] += logs[1][which][r] - logs[0][which][r]
    return found


def test_naive_bayes_is_cross_fitted_and_agrees_with_the_slow_twin():
    verdicts, _ = panel()
    expected = slow_naive_bayes(verdicts, verdicts.known)
    for part in verdicts.folds():
        hidden = verdicts.known.copy()
        hidden[part] = -1
        expected[part] = slow_naive_bayes(verdicts, hidden)[part]
    expected *= 2 / np.sqrt(np.mean(expected**2))
    np.testing.assert_allclose(answer_features(verdicts)[:, 1], expected, rtol=1e-8)


def test_features_have_root_mean_square_two():
    verdicts, _ = panel()
    np.testing.assert_allclose(np.mean(answer_features(verdicts) ** 2, axis=0), 4.0)


def test_folds_keep_linked_answers_together_and_hold_every_known_answer_once():
    verdicts, _ = panel()
    linked = Verdicts(verdicts.passes, verdicts.judged, verdicts.known, np.arange(300) // 2)
    folds = linked.folds()
    assert sorted(np.concatenate(folds)) == sorted(linked.rows)
    clusters = [set(linked.cluster[part]) for part in folds]
    assert not any(one & other for i, one in enumerate(clusters) for other in clusters[:i])


def test_the_mode_is_that_of_a_general_optimiser():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(40, 3)), (rng.random(40) < 0.5).astype(float)
    mean, precision = np.array([0.0, 0.5, 0.0]), np.array([1.0, 2.0, 0.3])

    def loss(b):
        return -(y * (x @ b) - np.logaddexp(0, x @ b)).sum() + 0.5 * (precision * (b - mean) ** 2).sum()

    found = _regress(x, y, (mean, precision))
    np.testing.assert_allclose(found.mode, minimize(loss, mean, tol=1e-12).x, atol=1e-5)
    p = expit(x @ found.mode)
    information = (x * (p * (1 - p))[:, None]).T @ x + np.diag(precision)
    np.testing.assert_allclose(found.root @ found.root.T, np.linalg.inv(information), rtol=1e-8)


def test_a_coefficient_with_infinite_precision_is_left_out():
    x, y = np.ones((10, 2)), np.r_[np.ones(7), np.zeros(3)]
    found = _regress(x, y, (np.zeros(2), np.array([1.0, np.inf])))
    assert found.mode[1] == 0.0
    assert not found.root[1].any()


def test_verdicts_that_repeat_count_once():
    verdicts, _ = panel()
    coo = verdicts.passes.tocoo()
    answer, judge, verdict = (np.tile(part, 2) for part in (coo.row, coo.col, coo.data))
    again = Verdicts.of(answer, judge, verdict, verdicts.known)
    np.testing.assert_allclose(
        estimate_truth(again).probability, estimate_truth(verdicts).probability, rtol=TIGHT
    )


def test_truth_of_a_simulated_panel():
    verdicts, truth = panel(n=1000, seed=3)
    found = estimate_truth(verdicts)
    hidden = verdicts.known < 0
    np.testing.assert_array_equal(found.probability[~hidden], truth[~hidden])
    p = found.probability[hidden]
    loss = -np.log(np.where(truth[hidden] == 1, p, 1 - p)).mean()
    # Bayes' rule with the true rates has 0.28 on this panel
    assert loss < 0.33
    assert found.weights.sum() == pytest.approx(1.0)
    assert len(found.weights) == len(POOLING)


def test_a_panel_that_shares_a_bias_is_overruled_by_known_answers():
    """Eight judges follow a cue that points away from the truth, two follow the truth."""
    rng = np.random.default_rng(4)
    n = 400
    truth = rng.random(n) < 0.5
    cue = np.where(rng.random(n) < 0.7, ~truth, truth)
    verdict = np.column_stack(
        [np.where(rng.random(n) < 0.9, side, ~side) for side in [cue] * 8 + [truth] * 2]
    ).astype(int)
    known = np.full(n, -1)
    known[:40] = truth[:40]
    answer, judge = (part.ravel() for part in np.indices(verdict.shape))
    found = estimate_truth(Verdicts.of(answer, judge, verdict.ravel(), known))
    right = (found.probability > 0.5)[40:] == truth[40:]
    assert right.mean() > 0.85


def test_drawn_truths_keep_what_is_known_and_average_to_the_probability():
    verdicts, truth = panel()
    found = estimate_truth(verdicts)
    drawn = np.concatenate(list(found.draws(400)), axis=1)
    assert drawn.shape == (300, 400)
    rows = verdicts.rows
    assert (drawn[rows] == truth[rows, None]).all()
    assert np.abs(drawn.mean(axis=1) - found.probability).max() < 0.2
    assert abs(drawn.mean() - found.probability.mean()) < 0.03


def test_without_judges_forgets_their_verdicts():
    verdicts, _ = panel()
    left = verdicts.without_judges(np.array([1, 3]))
    assert (left.answers_per_judge == [300, 0, 300, 0, 300]).all()
    np.testing.assert_array_equal(left.passes.toarray()[:, 0], verdicts.passes.toarray()[:, 0])
