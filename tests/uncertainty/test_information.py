"""Observed information against differences of the gradient, for every kind of model."""

import numpy as np
import pytest
from scipy import sparse

from raterlens.capability.links import get_link
from raterlens.engine.protocol import Nodes
from raterlens.estimation.extremes import pseudo_ratings
from raterlens.estimation.marginal import marginal
from raterlens.estimation.methods import estimate
from raterlens.models.build import Options, build
from raterlens.models.redundancy import redundancy
from raterlens.models.registry import facets_spec
from raterlens.uncertainty.covariance import covariance, in_full
from raterlens.uncertainty.information import observed_information
from tests.support.facets_models import KINDS, by_differences, make, ordered, somewhere, with_facet


@pytest.mark.parametrize("kind", KINDS)
def test_information_agrees_with_differences(small, kind):
    ratings = small
    if kind in ("rating scale", "partial credit", "graded"):
        ratings = ordered(small)
    elif "facet" in kind:
        ratings = with_facet(small)
    model, response = make(small, kind)
    problem = marginal(ratings, model, response, pseudo_ratings(model, response.n_categories))
    x, nodes = somewhere(model), Nodes.equally_spaced(-6, 6, 0.2)
    expected = by_differences(problem, x, nodes)
    found = observed_information(problem, ratings, x, nodes).toarray()
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize(("model", "link"), [("tfm", "logit"), ("gmf", "logit"), ("gmf", "cauchit")])
def test_standard_errors_on_the_writing_data(writing, model, link):
    options = Options(facets_spec(model), get_link(link))
    facets, response = build(writing, options)
    found = estimate(writing, facets, response, options.link, "mml")
    free = np.zeros(facets.blocks.size, dtype=bool)
    redundant = redundancy(facets, found.parameters)
    exact = observed_information(found.problem, writing, found.parameters, found.nodes)
    numerical = by_differences(found.problem, found.parameters, found.nodes)
    se, expected = (
        np.sqrt(np.diag(covariance(sparse.csr_array(information), redundant, free).matrix))
        for information in (exact, numerical)
    )
    np.testing.assert_allclose(se, expected, rtol=1e-4)


def test_covariance_gives_centred_directions_no_variance():
    random = np.random.default_rng(0)
    root = random.normal(size=(9, 4))
    direction, constraint = np.array([[1.0, 1, -1, -1]]), np.array([[0.0, 0, 1, 1]])
    information = root.T @ root
    project = np.eye(4) - direction.T @ direction / 4
    information = project @ information @ project
    from raterlens.models.redundancy import Redundancy

    found = covariance(
        sparse.csr_array(information), Redundancy(constraint, direction), np.zeros(4, dtype=bool)
    ).matrix
    basis = np.linalg.svd(constraint)[2][1:].T  # parameters that meet the constraint
    np.testing.assert_allclose(
        found, basis @ np.linalg.inv(basis.T @ information @ basis) @ basis.T, atol=1e-10
    )


def test_undetermined_parameters_are_named_and_finite():
    from raterlens.models.redundancy import Redundancy

    nothing = Redundancy(np.zeros((0, 3)), np.zeros((0, 3)))
    found = covariance(sparse.csr_array(np.diag([4.0, 0.0, 1.0])), nothing, np.zeros(3, dtype=bool))
    assert found.undetermined.tolist() == [1]
    assert np.isfinite(found.matrix).all()
    assert found.matrix[0, 0] == pytest.approx(0.25)


@pytest.mark.parametrize("kind", ["gmf", "rating scale"])
def test_essays_of_many_kinds_are_taken_apart(small, kind, monkeypatch):
    """Where a table of whole essays would be too large, single ratings give the same."""
    ratings = ordered(small) if kind == "rating scale" else small
    model, response = make(small, kind)
    problem = marginal(ratings, model, response, pseudo_ratings(model, response.n_categories))
    x, nodes = somewhere(model), Nodes.equally_spaced(-6, 6, 0.2)
    by_essays = in_full(observed_information(problem, ratings, x, nodes))
    monkeypatch.setattr("raterlens.uncertainty.information.few_kinds", lambda *_: False)
    by_ratings = in_full(observed_information(problem, ratings, x, nodes))
    np.testing.assert_allclose(by_ratings, by_essays, atol=1e-6 * np.abs(by_essays).max())
