"""Information of the methods without a grid, against differences of their gradients."""

import numpy as np
import pytest

from raterlens.capability.links import get_link
from raterlens.estimation.methods import Conditional, Laplace, estimate, ratings_given_abilities
from raterlens.inference.covariance import (
    information_given_abilities,
    laplace_curvature,
    stretch_of_abilities,
)
from raterlens.likelihood.priors import pseudo_ratings
from raterlens.models.build import build
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options
from tests.support.facets_models import somewhere

# Central differences of exact gradients in double precision.
BY_DIFFERENCES = 1e-6


def by_differences(gradient, x, step=1e-5) -> np.ndarray:
    return np.column_stack([(gradient(x - d) - gradient(x + d)) / (2 * step) for d in step * np.eye(len(x))])


@pytest.mark.parametrize(
    ("model", "link"),
    [("gmf", "logit"), ("gmf", "cloglog"), ("gmf", "probit"), ("probit", "probit"), ("tfm", "logit")],
)
def test_information_of_the_methods_without_a_grid(small, model, link):
    facets, _ = build(small, Options(MODELS[model], get_link(link)), 2)
    pseudo = pseudo_ratings(facets, 2)
    data = Conditional(small, facets, get_link(link))
    x = somewhere(facets)
    theta = data.modes(facets.predictor(x), np.zeros(small.n_students))
    approximation = Laplace(data, facets, pseudo)
    found = laplace_curvature(data, facets, pseudo, x, theta)
    expected = by_differences(lambda y: approximation.value(y).gradient, x)
    atol = BY_DIFFERENCES * np.abs(expected).max()
    np.testing.assert_allclose(found.information.toarray(), expected, atol=atol)
    gradient = approximation.value(x).gradient - pseudo.value(facets, data.response, x)[1]
    np.testing.assert_allclose(found.scores.sum(axis=0), gradient, atol=1e-8)
    fixed = information_given_abilities(data, facets, pseudo, x, theta).toarray()
    expected = by_differences(lambda y: ratings_given_abilities(data, facets, pseudo, theta, y).gradient, x)
    np.testing.assert_allclose(fixed, expected, atol=BY_DIFFERENCES * np.abs(expected).max())


def test_the_stretch_of_hierarchical_likelihood_is_found_again(small):
    options = Options(MODELS["gmf"], get_link("logit"))
    facets, response = build(small, options, 2)
    found = estimate(small, facets, response, options.link, "hl")
    data = Conditional(small, facets, options.link)
    stretch = stretch_of_abilities(data, facets, found.parameters, found.moments.mean)
    unscaled = found.parameters.copy()
    unscaled[facets.blocks["slope"]] /= stretch
    theta = data.modes(facets.predictor(unscaled), found.moments.mean)
    assert stretch == pytest.approx(theta.std(ddof=1), rel=1e-3)
