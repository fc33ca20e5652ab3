"""Totals of readings, held to enumeration of all scores."""

from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest
from scipy import integrate, special, stats

from raterlens.grading.marking import convolved, reading_totals
from tests.support.calibrations import calibration, rows_on

THETA = np.array([-1.2, 0.1, 1.7])


def _probabilities(known, rater, item, theta, shift=0.0):
    """Adjacent categories, spelled out: log p_k = k s - sum of thresholds."""
    effects = known.effects
    s = effects["slope"][rater] * theta - effects["severity"][rater] - effects["difficulty"][item] + shift
    logs = [k * s - effects["threshold"][0, :k].sum() for k in range(len(known.scores))]
    return special.softmax(logs)


@pytest.mark.parametrize("scores", [(0, 1, 2), (2, 3, 6)])
def test_totals_are_those_of_all_patterns(scores):
    known = calibration(thresholds=[-0.5, 0.4], scores=scores)
    found = reading_totals(known, rows_on(known, [0, 2, 1]), THETA)
    for rater, (place, theta) in product(range(3), enumerate(THETA)):
        wanted = np.zeros(3 * (scores[-1] - scores[0]) + 1)
        p = [_probabilities(known, rater, item, theta) for item in range(3)]
        for pattern in product(range(3), repeat=3):
            total = sum(scores[k] - scores[0] for k in pattern)
            wanted[total] += np.prod([p[item][k] for item, k in enumerate(pattern)])
        np.testing.assert_allclose(found[rater, :, place], wanted, rtol=1e-10, atol=1e-14)


def test_with_halo_totals_are_averaged_over_the_impression():
    known = calibration(thresholds=[-0.5, 0.4], scores=(0, 1, 2), halo=(0.0, 0.8, 1.5))
    found = reading_totals(known, rows_on(known, [0, 1]), THETA)

    def highest(u, rater, theta):
        both = [
            _probabilities(known, rater, item, theta, known.effects["halo"][rater] ** 0.5 * u)[2]
            for item in (0, 1)
        ]
        return np.prod(both) * stats.norm.pdf(u)

    for rater, (place, theta) in product(range(3), enumerate(THETA)):
        wanted, _ = integrate.quad(highest, -9, 9, args=(rater, theta), epsabs=1e-12)
        np.testing.assert_allclose(found[rater, 4, place], wanted, rtol=1e-6)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-9)


def test_further_facets_add_to_the_difficulty():
    known, every = calibration(), np.arange(3)
    topics = {"facet topic": np.array([0.3, -0.5])}
    labels = {"facet topic": pl.Series(["Sport", "Work"])}
    known = replace(known, effects={**known.effects, **topics}, labels={**known.labels, **labels})
    rows = [known.rows(every, item, {"topic": np.full(3, item)}) for item in (0, 1)]
    shifted = calibration(difficulties=(-0.4 + 0.3, 0.2 - 0.5, 0.6))
    found, wanted = (
        reading_totals(one, of_items, THETA)
        for one, of_items in ((known, rows), (shifted, rows_on(shifted, [0, 1])))
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_independent_parts_add_up():
    coin, die = np.full((2, 1), 0.5), np.full((6, 1), 1 / 6)
    np.testing.assert_allclose(convolved([coin, die])[:, 0], np.convolve(coin[:, 0], die[:, 0]))
