"""The record that every estimation ends in: the value is that of the problem at the parameters, on the nodes."""

import numpy as np
import pytest

from raterlens.capability.links import get_link
from raterlens.estimation.latent_estimate import estimate_latent_class
from raterlens.estimation.methods import estimate
from raterlens.estimation.optimiser import Estimate
from raterlens.models.signal_detection import LatentClassModel
from tests.support.facets_models import make


@pytest.mark.parametrize("kind", ["gmf", "hrm", "dawid-skene"])
def test_the_value_is_that_of_the_problem_at_the_estimates(small, kind):
    found: Estimate
    if kind == "gmf":
        gmf, response = make(small, "gmf")
        found = estimate(small, gmf, response, get_link("logit"), "mml")
    else:
        model = LatentClassModel(small.n_raters, small.n_items, get_link("logit"), kind == "hrm")
        found = estimate_latent_class(small, model, starts=1)
    value = found.problem.value(found.parameters, found.nodes)
    assert found.loglik == pytest.approx(value.loglik, abs=1e-6)
    assert len(found.moments.mean) == small.n_students
    assert np.isnan(found.moments.mean).all() == (kind == "dawid-skene")
    assert not found.held.any()
