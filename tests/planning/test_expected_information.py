"""Expected information against brute force: tables of a reading, every pattern of scores."""

from itertools import product

import numpy as np
import pytest

from raterlens.base.arrays import Array
from raterlens.likelihood.nodes import Nodes
from raterlens.planning import precision
from raterlens.planning.assumed_panel import AssumedPanel, Spreads, reading_tables, stated
from raterlens.planning.precision import design_information

# --- expected information against brute force: every pattern of scores, with its gradient by finite differences


STUDENT = np.repeat(np.arange(3), 2)
RATER = np.array([0, 1, 0, 2, 1, 2])
NODES = np.linspace(-8, 8, 321)
WEIGHT = np.exp(-(NODES**2) / 2) / np.exp(-(NODES**2) / 2).sum()


def _chances(panel: AssumedPanel, x: Array, raters: Array) -> Array:
    """(patterns,): the marginal probability of every pattern of scores."""
    r, i = panel.n_raters, panel.n_items
    a, b, delta, tau = x[:r], x[r : 2 * r], x[2 * r : 2 * r + i], x[2 * r + i :]
    tables = []
    for rater, item in product(raters, range(i)):
        logit = a[rater] * NODES - b[rater] - delta[item]
        steps = np.cumsum([logit - t for t in (tau if len(tau) else [0.0])], axis=0)
        log = np.concatenate([np.zeros((1, len(NODES))), steps])
        tables.append(np.exp(log - np.logaddexp.reduce(log, axis=0)))
    scores = product(range(len(tables[0])), repeat=len(tables))
    return np.array(
        [WEIGHT @ np.prod([t[k] for t, k in zip(tables, y, strict=True)], axis=0) for y in scores]
    )


@pytest.mark.parametrize(("items", "categories"), [(1, 2), (2, 2), (1, 3)])
def test_information_is_that_of_every_pattern(items: int, categories: int) -> None:
    panel = stated(Spreads(), 3, items, categories, 0)
    tau = np.zeros(0) if panel.thresholds is None else panel.thresholds.ravel()
    x = np.concatenate([panel.slope, panel.severity, panel.difficulty, tau])
    wanted = np.zeros((len(x), len(x)))
    for raters in RATER.reshape(3, 2):
        step = 1e-5 * np.eye(len(x))
        gradient = np.array(
            [(_chances(panel, x + e, raters) - _chances(panel, x - e, raters)) / 2e-5 for e in step]
        )
        wanted += (gradient / _chances(panel, x, raters)) @ gradient.T
    found = design_information(panel, STUDENT, RATER).matrix
    np.testing.assert_allclose(found, wanted, atol=2e-6)


def test_ability_and_accuracy_are_those_of_every_pattern() -> None:
    panel = stated(Spreads(), 3, 1, 2, 0)
    found = design_information(panel, STUDENT[:2], RATER[:2], cut=0.4).patterns[0]
    pass_chance = 1 / (1 + np.exp(-(panel.slope[:, None] * NODES - panel.severity[:, None])))
    variance = right = 0.0
    fine = np.linspace(-8, 8, 16_001)
    for y in product((0, 1), repeat=2):
        chance = np.prod([pass_chance[r] if y[r] else 1 - pass_chance[r] for r in (0, 1)], axis=0)
        joint = WEIGHT * chance
        mean = joint @ NODES / joint.sum()
        variance += joint @ (NODES - mean) ** 2
        density = np.interp(fine, NODES, joint)
        above = density[fine > 0.4].sum() / density.sum()
        right += joint.sum() * max(above, 1 - above)
    np.testing.assert_allclose(found.ability_variance, variance, rtol=1e-5)
    np.testing.assert_allclose(found.accuracy, right, atol=4e-4)


def test_quadrature_stands_in_for_enumeration(monkeypatch: pytest.MonkeyPatch) -> None:
    panel = stated(Spreads(), 4, 5, 2, 0)
    student, rater = np.zeros(4, int), np.arange(4)
    exact = design_information(panel, student, rater)
    monkeypatch.setattr(precision, "MOST_OUTCOMES", 1)
    close = design_information(panel, student, rater)
    scale = np.sqrt(np.diag(exact.matrix))
    assert np.abs((close.matrix - exact.matrix) / np.outer(scale, scale)).max() < 0.03
    np.testing.assert_allclose(
        close.patterns[0].ability_variance, exact.patterns[0].ability_variance, rtol=0.02
    )
    np.testing.assert_allclose(close.patterns[0].accuracy, exact.patterns[0].accuracy, atol=0.005)


def test_some_sets_of_raters_stand_for_all() -> None:
    panel = stated(Spreads(), 12, 1, 2, 0)
    student = np.repeat(np.arange(400), 3)
    rater = np.concatenate([np.random.default_rng(k).choice(12, 3, replace=False) for k in range(400)])
    every, some = (design_information(panel, student, rater, most=most) for most in (None, 60))
    assert len(some.patterns[0].raters) == 60
    assert some.patterns[0].times.sum() == 400
    np.testing.assert_allclose(np.trace(some.matrix), np.trace(every.matrix), rtol=0.02)


# ------------------------------------------------------- tables of a reading, against sums over its scores


def test_sums_have_the_distribution_of_the_scores() -> None:
    panel = stated(Spreads(), 2, 2, 3, 0)
    tables = reading_tables(panel, Nodes.equally_spaced(-5.0, 5.0, 0.25))
    chance = np.exp(tables.log_chance)
    t, rater = tables.nodes.points, 1
    assert panel.thresholds is not None
    by_hand = np.zeros_like(chance[rater])
    for scores in product(range(3), repeat=2):
        log = np.zeros_like(t)
        for item, y in enumerate(scores):
            logit = panel.slope[rater] * t - panel.severity[rater] - panel.difficulty[item]
            steps = [np.zeros_like(t), *np.cumsum([logit - tau for tau in panel.thresholds[0]], axis=0)]
            log = log + steps[y] - np.logaddexp.reduce(steps, axis=0)
        by_hand[sum(scores)] += np.exp(log)
    np.testing.assert_allclose(chance[rater], by_hand, atol=1e-12)
    sums = np.arange(5.0)[:, None]
    np.testing.assert_allclose(tables.score[rater], (sums * by_hand).sum(axis=0))
    np.testing.assert_allclose(
        tables.variance[rater], (sums**2 * by_hand).sum(axis=0) - tables.score[rater] ** 2
    )


def test_information_of_known_abilities_is_the_variance_of_the_score() -> None:
    panel = stated(Spreads(), 2, 3, 2, 0)
    tables = reading_tables(panel, Nodes.equally_spaced(-6.0, 6.0, 0.1))
    t, weight = tables.nodes.points, np.exp(tables.nodes.log_weights)
    for power, (row, column) in ((2, (0, 0)), (0, (1, 1))):
        expected = (tables.variance * weight * t**power).sum(axis=1)
        np.testing.assert_allclose(tables.complete[:, row, column], expected)
    np.testing.assert_allclose(tables.complete[:, 1, 2:].sum(axis=1), tables.complete[:, 1, 1])
