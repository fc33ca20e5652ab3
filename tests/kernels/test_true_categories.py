"""The compiled pass over student-items equals the readable tables."""

import numpy as np
import pytest

import raterlens as rl
from raterlens.capability.links import get_link
from raterlens.kernels import library
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.true_category import LatentClassMarginal
from raterlens.models.signal_detection import LatentClassModel

NODES = Nodes.equally_spaced(-6.0, 6.0, 0.23)


@pytest.mark.parametrize("items", [1, 3, 40])
@pytest.mark.parametrize("sigma", [1.3, 9.0])
def test_values_and_gradients(items, sigma, monkeypatch):
    ratings = rl.simulate(
        model="hrm", students=60, raters=7, items=items, raters_per_student=3, sigma=2.0, seed=items
    ).ratings
    problem = LatentClassMarginal.of(
        ratings, LatentClassModel(ratings.n_raters, ratings.n_items, get_link("logit"), rasch=True)
    )
    parameters = np.random.default_rng(0).normal(1, 0.5, problem.model.blocks.size)
    parameters[problem.model.blocks["sigma"]] = sigma
    parameters[0] = 30.0  # a rater who never passes anybody
    expected = problem.value(parameters, NODES)
    monkeypatch.setattr(library, "NUMBERS", 0)
    found = problem.value(parameters, NODES)
    assert found.loglik == pytest.approx(expected.loglik, rel=1e-12)
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-9, atol=1e-9)
