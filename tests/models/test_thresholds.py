import numpy as np
import pytest

from raterlens.models.contexts import Contexts
from raterlens.models.thresholds import Thresholds
from tests.support.facets_models import ordered


@pytest.mark.parametrize("graded", [True, False])
@pytest.mark.parametrize("per_item", [True, False])
def test_intercepts_fall_by_the_thresholds(small, graded, per_item):
    """adjacent: e_k = -(tau_1 + .. + tau_k); graded: e_k = -tau_k"""
    contexts = Contexts.of(ordered(small))
    thresholds = Thresholds.build(contexts, 4, graded=graded, per_item=per_item)
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
    bounds = Thresholds.build(contexts, 4, graded=True, per_item=False).lower_bounds()
    assert bounds[0] == -np.inf
    assert (bounds[1:] > 0).all()
