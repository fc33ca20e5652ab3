"""Every facets model: its derivatives by finite differences, and directions that change no probability."""

import numpy as np
import polars as pl
import pytest

from raterlens.capability.links import get_link
from raterlens.models.build import Options, build
from raterlens.models.redundancy import centre, redundancy
from raterlens.models.registry import facets_spec
from tests.support.facets_models import KINDS, SHIFTED, make, somewhere

STEP = 1e-6
# Central differences of functions of order one, with this step.
CLOSE = {"rtol": 1e-7, "atol": 1e-8}


def flat(predictor) -> np.ndarray:
    return np.concatenate([predictor.slope, predictor.intercepts.ravel()])


@pytest.mark.parametrize("kind", [*KINDS, *SHIFTED])
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


@pytest.mark.parametrize("kind", KINDS)
def test_redundant_directions_change_nothing_and_all_are_known(small, kind):
    model, _ = make(small, kind)
    x = somewhere(model)
    jacobian, known = model.jacobian(x).toarray(), redundancy(model, x)
    np.testing.assert_allclose(jacobian @ known.directions.T, 0, atol=1e-12)
    assert np.linalg.matrix_rank(jacobian) == model.blocks.size - len(known)


@pytest.mark.parametrize("kind", KINDS)
def test_centring_keeps_the_model_and_meets_its_constraints(small, kind):
    model, _ = make(small, kind)
    x = somewhere(model)
    centred = centre(model, x)
    np.testing.assert_allclose(flat(model.predictor(centred)), flat(model.predictor(x)), atol=1e-11)
    np.testing.assert_allclose(redundancy(model, centred).constraints @ centred, 0, atol=1e-11)


def test_items_that_no_rater_connects_are_centred_apart():
    frame = pl.DataFrame(
        {
            "student": list("aabbccdd"),
            "rater": list("xxxxyyyy"),
            "item": list("ijijklkl"),
            "score": [0, 1, 1, 0, 1, 1, 0, 0],
        }
    )
    from raterlens import read

    model, _ = build(read(frame), Options(facets_spec("gmf"), get_link("logit")))
    centred = centre(model, somewhere(model))
    difficulty = centred[model.blocks["difficulty"]]
    np.testing.assert_allclose([difficulty[:2].sum(), difficulty[2:].sum()], 0, atol=1e-12)
