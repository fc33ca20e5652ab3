import numpy as np
import pytest

from raterlens.capability.links import get_link
from raterlens.likelihood.forms import CellMarginal, EssayMarginal, marginal
from raterlens.likelihood.pseudo_ratings import Pseudo
from raterlens.likelihood.readings import HaloMarginal
from raterlens.models.build import Options, build
from raterlens.models.registry import facets_spec


@pytest.mark.parametrize(
    ("link", "halo", "form"),
    [("logit", "none", EssayMarginal), ("probit", "none", CellMarginal), ("probit", "common", HaloMarginal)],
)
def test_the_cheapest_form_that_will_do(small, link, halo, form):
    model, response = build(small, Options(facets_spec("gmf"), get_link(link), halo=halo))
    problem = marginal(small, model, response, Pseudo(np.zeros((len(model.contexts), 2))))
    assert type(problem) is form
    assert problem.n_students == small.n_students
