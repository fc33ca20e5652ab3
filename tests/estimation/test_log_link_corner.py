import numpy as np
import pytest

from raterlens.capability.links import get_link
from raterlens.estimation.log_link_corner import corner_step
from raterlens.likelihood.forms import marginal
from raterlens.likelihood.pseudo_ratings import pseudo_ratings
from raterlens.models.build import Options, build
from raterlens.models.capped_log import CORNER
from raterlens.models.registry import facets_spec


def test_the_steepest_context_has_its_corner_resolved(small):
    model, response = build(small, Options(facets_spec("gmf"), get_link("log")))
    problem = marginal(small, model, response, pseudo_ratings(model, 2))
    x = np.zeros(model.blocks.size)
    x[model.blocks["slope"]] = [0.1, 2.0, 0.5, 1.0, 0.7]
    assert corner_step(problem, x, within=4) == pytest.approx(CORNER / 8)
    assert corner_step(problem, 0 * x, within=1) == pytest.approx(CORNER / 0.5)
