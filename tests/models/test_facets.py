"""Every facets model: its derivatives by finite differences, and directions that change no probability."""

import numpy as np
import pytest

from tests.support.facets_models import INTERACTING, KINDS, SHIFTED, flat, make, somewhere

STEP = 1e-6
# Central differences of functions of order one, with this step.
CLOSE = {"rtol": 1e-7, "atol": 1e-8}


@pytest.mark.parametrize("kind", [*KINDS, *SHIFTED, *INTERACTING])
def test_derivatives_agree_with_differences(small, kind):
    model, _ = make(small, kind)
    x = somewhere(model)
    jacobian = model.jacobian(x).toarray()
    differences = np.column_stack(
        [
            (flat(model.predictor(x + d)) - flat(model.predictor(x - d))) / (2 * STEP)
            for d in STEP * np.eye(len(x))
        ]
    )
    np.testing.assert_allclose(jacobian, differences, **CLOSE)

    weights = np.random.default_rng(6).normal(size=len(jacobian))
    n = len(model.contexts)
    d_slope, d_intercepts = weights[:n], weights[n:].reshape(n, -1)
    np.testing.assert_allclose(model.pullback(x, d_slope, d_intercepts), jacobian.T @ weights, atol=1e-12)
    second = np.column_stack(
        [
            (model.pullback(x + d, d_slope, d_intercepts) - model.pullback(x - d, d_slope, d_intercepts))
            / (2 * STEP)
            for d in STEP * np.eye(len(x))
        ]
    )
    np.testing.assert_allclose(model.second(x, d_slope, d_intercepts).toarray(), second, **CLOSE)


@pytest.mark.parametrize("kind", [*KINDS, *SHIFTED, *INTERACTING])
def test_every_parameter_has_finite_bounds(small, kind):
    model, _ = make(small, kind)
    lower, upper = model.bounds(allow_reversed=False)
    assert np.isfinite(lower).all()
    assert np.isfinite(upper).all()
    assert (lower < upper).all()
    assert not model.at_limit((lower + upper) / 2).any()
    assert model.at_limit(upper).all()
