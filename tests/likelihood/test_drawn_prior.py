"""The prior of interactions: a normal density, and what it adds to the information."""

import numpy as np
import pytest
from scipy import stats

from raterlens.likelihood.priors import DrawnPrior, Spread
from tests.support.facets_models import make, somewhere


@pytest.fixture
def model(small):
    return make(small, "probit facet interactions")[0]


def test_value_is_a_normal_density_and_its_gradient(model):
    prior, x = DrawnPrior.of(model, np.array([0.4, 0.9])), somewhere(model)
    value, gradient = prior.value(x)
    topic, item = (x[model.blocks[f"interaction {name}"]] for name in ("topic", "item"))
    expected = stats.norm(0, 0.4).logpdf(topic).sum() + stats.norm(0, 0.9).logpdf(item).sum()
    assert value == pytest.approx(expected + (len(topic) + len(item)) * np.log(2 * np.pi) / 2)
    for j, step in enumerate(1e-5 * np.eye(len(x))):
        rise = (prior.value(x + step)[0] - prior.value(x - step)[0]) / 2e-5
        assert gradient[j] == pytest.approx(rise, abs=1e-7)


def test_information_is_that_of_terms_with_a_spread(model):
    prior, x = DrawnPrior.of(model, np.array([0.0, 0.5])), somewhere(model)
    expected = np.zeros(len(x))
    expected[model.blocks["interaction item"]] = 4.0
    np.testing.assert_allclose(prior.information(x).toarray(), np.diag(expected))


def test_the_test_of_a_variance_that_may_be_0():
    assert Spread("item", 0.3, 0.1, 0.6, 2.7055).p == pytest.approx(0.05, abs=1e-4)
    assert Spread("item", 0.0, 0.0, 0.2, 0.0).p == 1.0
