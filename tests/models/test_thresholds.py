from dataclasses import replace

import numpy as np
import pytest

from raterlens.models.contexts import Contexts
from raterlens.models.thresholds import Thresholds, highest_scores
from tests.support.facets_models import ordered


@pytest.mark.parametrize("graded", [True, False])
@pytest.mark.parametrize("per_item", [True, False])
def test_intercepts_fall_by_the_thresholds(small, graded, per_item):
    """adjacent: e_k = -(tau_1 + .. + tau_k); graded: e_k = -tau_k"""
    contexts = Contexts.of(ordered(small))
    highest = np.full(contexts.n_items, 3) if per_item else None
    thresholds = Thresholds.build(contexts, 4, graded=graded, highest=highest)
    values = np.sort(np.random.default_rng(0).normal(size=(thresholds.n_scales, 3)), axis=1)
    x = thresholds.parameters(values)
    np.testing.assert_allclose(thresholds.values(x), values)
    of_context = values[contexts.item if per_item else np.zeros(len(contexts), dtype=int)]
    expected = of_context if graded else np.cumsum(of_context, axis=1)
    np.testing.assert_allclose((thresholds.design @ x).reshape(len(contexts), 3), expected)
    np.testing.assert_allclose(thresholds.averages() @ x, values.mean(axis=1))
    raised = thresholds.values(x + thresholds.shift().sum(axis=0))
    np.testing.assert_allclose(raised, values + 1)


def test_graded_thresholds_are_kept_in_order(small):
    contexts = Contexts.of(ordered(small))
    bounds = Thresholds.build(contexts, 4, graded=True, highest=None).lower_bounds()
    assert bounds[0] == -np.inf
    assert (bounds[1:] > 0).all()


def test_an_item_has_as_many_thresholds_as_its_highest_score(small):
    contexts = Contexts.of(ordered(small))
    highest = 1 + np.arange(contexts.n_items) % 3
    thresholds = Thresholds.build(contexts, 4, graded=False, highest=highest)
    assert thresholds.size == highest.sum()
    values = thresholds.values(np.arange(1.0, thresholds.size + 1))
    np.testing.assert_array_equal(np.isfinite(values).sum(axis=1), highest)
    np.testing.assert_allclose(thresholds.parameters(values), np.arange(1.0, thresholds.size + 1))
    np.testing.assert_array_equal((~thresholds.beyond).sum(axis=1), highest[contexts.item])
    np.testing.assert_allclose(
        thresholds.averages() @ np.arange(1.0, thresholds.size + 1), np.nanmean(values, axis=1)
    )


def test_the_highest_score_that_anybody_gave_is_an_item_s_highest(small):
    scores = ordered(small)
    first, second = small.item == 0, small.item == 1
    capped = np.where(first, np.minimum(scores.score, 2), np.where(second, 0, scores.score))
    contexts = Contexts.of(replace(scores, score=capped.astype(np.int16)))
    # An item that only ever got 0 still has a step.
    assert highest_scores(contexts, 4)[:3].tolist() == [2, 1, 3]
