"""Observed information against differences of the gradient, for every kind of model."""

import numpy as np
import pytest
from scipy import sparse

from raterlens.capability.links import get_link
from raterlens.estimation.methods import estimate
from raterlens.inference.covariance import covariance, in_full
from raterlens.likelihood.forms import marginal
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.pseudo_ratings import pseudo_ratings
from raterlens.models.build import Options, build
from raterlens.models.redundancy import redundancy
from raterlens.models.registry import facets_spec
from tests.support.facets_models import INTERACTING, KINDS, by_differences, make, ratings_of, somewhere


@pytest.mark.parametrize("kind", [*KINDS, *INTERACTING])
def test_information_agrees_with_differences(small, kind):
    ratings = ratings_of(small, kind)
    model, response = make(small, kind)
    problem = marginal(ratings, model, response, pseudo_ratings(model, response.n_categories))
    x, nodes = somewhere(model), Nodes.equally_spaced(-6, 6, 0.2)
    expected = by_differences(problem, x, nodes)
    found = in_full(problem.information(x, nodes))
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize(("model", "link"), [("tfm", "logit"), ("gmf", "logit"), ("gmf", "cauchit")])
def test_standard_errors_on_the_writing_data(writing, model, link):
    options = Options(facets_spec(model), get_link(link))
    facets, response = build(writing, options)
    found = estimate(writing, facets, response, options.link, "mml")
    free = np.zeros(facets.blocks.size, dtype=bool)
    redundant = redundancy(facets, found.parameters)
    exact = found.problem.information(found.parameters, found.nodes)
    numerical = by_differences(found.problem, found.parameters, found.nodes)
    se, expected = (
        np.sqrt(np.diag(covariance(sparse.csr_array(information), redundant, free).matrix))
        for information in (exact, numerical)
    )
    np.testing.assert_allclose(se, expected, rtol=1e-4)


@pytest.mark.parametrize("kind", ["gmf", "rating scale"])
def test_essays_of_many_kinds_are_taken_apart(small, kind, monkeypatch):
    """Where a table of whole essays would be too large, single ratings give the same."""
    ratings = ratings_of(small, kind)
    model, response = make(small, kind)
    problem = marginal(ratings, model, response, pseudo_ratings(model, response.n_categories))
    x, nodes = somewhere(model), Nodes.equally_spaced(-6, 6, 0.2)
    by_essays = in_full(problem.information(x, nodes))
    monkeypatch.setattr("raterlens.likelihood.forms.LARGEST_SCORES", 1)
    by_ratings = in_full(problem.information(x, nodes))
    np.testing.assert_allclose(by_ratings, by_essays, atol=1e-6 * np.abs(by_essays).max())
