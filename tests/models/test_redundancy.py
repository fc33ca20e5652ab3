"""Directions that change no probability."""

import numpy as np
import polars as pl
import pytest

from raterlens.capability.links import get_link
from raterlens.models.build import Options, build
from raterlens.models.redundancy import centre, redundancy
from raterlens.models.registry import facets_spec
from tests.support.facets_models import KINDS, flat, make, somewhere


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
