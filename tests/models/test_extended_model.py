"""What an extension leaves as it was."""

import numpy as np
import pytest

from raterlens.capability.links import get_link
from raterlens.models.build import Options, build
from raterlens.models.extended_model import ExtendedModel
from raterlens.models.registry import facets_spec
from raterlens.models.shared_dimension import SharedModel
from tests.support.facets_models import flat


@pytest.fixture
def extended(small) -> ExtendedModel:
    model, _ = build(small, Options(facets_spec("probit"), get_link("probit")))
    return SharedModel.of(model, np.arange(small.n_raters) > 0)


def test_the_inner_model_sees_its_own_parameters(extended: ExtendedModel) -> None:
    x = np.random.default_rng(1).normal(size=extended.blocks.size)
    inner, own = extended.split(x)
    assert len(own) == extended.n_own == extended.n_raters - 1
    np.testing.assert_array_equal(flat(extended.predictor(x)), flat(extended.inner.predictor(inner)))
    assert extended.n_items == extended.inner.n_items
    assert extended.n_rated == len(extended.contexts)


def test_derivatives_in_the_last_block_are_none_of_the_predictor(extended: ExtendedModel) -> None:
    x, random = np.random.default_rng(1).normal(size=extended.blocks.size), np.random.default_rng(2)
    d_slope, d_intercepts = (
        random.normal(size=len(extended.contexts)),
        random.normal(size=(len(extended.contexts), 1)),
    )
    found = extended.pullback(x, d_slope, d_intercepts)
    np.testing.assert_allclose(found, extended.jacobian(x).T @ np.append(d_slope, d_intercepts.ravel()))
    assert not found[-extended.n_own :].any()
    second = extended.second(x, d_slope, d_intercepts).toarray()
    step = 1e-6 * np.eye(len(x))
    differences = [
        (extended.pullback(x + d, d_slope, d_intercepts) - extended.pullback(x - d, d_slope, d_intercepts))
        / 2e-6
        for d in step
    ]
    np.testing.assert_allclose(second, differences, atol=1e-6)
