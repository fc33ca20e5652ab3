"""Tables of a reading, against sums over its scores."""

from itertools import product

import numpy as np

from raterlens.likelihood.nodes import Nodes
from raterlens.planning.assumed_panel import Spreads, reading_tables, stated


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
