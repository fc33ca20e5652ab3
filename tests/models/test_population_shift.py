import numpy as np
import pytest

from raterlens.inference.covariance import in_full
from raterlens.likelihood.forms import marginal
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.pseudo_ratings import pseudo_ratings
from tests.support.facets_models import SHIFTED, by_differences, make, ordered, somewhere, with_facet


@pytest.mark.parametrize("kind", SHIFTED)
def test_information_of_a_shifted_model_agrees_with_differences(small, kind):
    ratings = ordered(small) if "partial credit" in kind else with_facet(small) if "probit" in kind else small
    model, response = make(small, kind)
    problem = marginal(ratings, model, response, pseudo_ratings(model, response.n_categories))
    x, nodes = somewhere(model), Nodes.equally_spaced(-6, 6, 0.2)
    expected = by_differences(problem, x, nodes)
    found = in_full(problem.information(x, nodes))
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())
