import numpy as np

from raterlens.inference.covariance import differenced_information, in_full
from raterlens.likelihood.forms import marginal
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.priors import pseudo_ratings
from raterlens.models.facets import redundancy
from tests.support.facets_models import make, somewhere


def test_differences_of_the_gradient_are_near_the_exact_information(small):
    model, response = make(small, "gmf")
    problem = marginal(small, model, response, pseudo_ratings(model, 2))
    x, nodes = somewhere(model), Nodes.equally_spaced(-6, 6, 0.2)
    exact = in_full(problem.information(x, nodes))
    found = differenced_information(problem, x, nodes, redundancy(model, x)).toarray()
    np.testing.assert_allclose(found, exact, atol=0.02 * np.abs(exact).max())
