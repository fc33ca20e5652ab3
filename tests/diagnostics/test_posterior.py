import numpy as np
import pytest

from raterlens.diagnostics.residuals import averages_for, tables_of
from raterlens.likelihood.nodes import Nodes
from tests.support.facets_models import make, somewhere


@pytest.mark.parametrize("kind", ["gmf", "probit", "rating scale", "graded"])
def test_predictions_have_their_expectations(small, kind):
    model, response = make(small, kind)
    nodes = Nodes.equally_spaced(-3, 3, 0.5)
    tables = tables_of(response, model.predictor(somewhere(model)), nodes)
    k = response.n_categories
    y = np.arange(k)[:, None]
    np.testing.assert_allclose(tables.prob.sum(axis=1), 1)
    np.testing.assert_allclose(tables.mean, (tables.prob * y).sum(axis=1))
    np.testing.assert_allclose(tables.variance, (tables.prob * y**2).sum(axis=1) - tables.mean**2, rtol=1e-8)
    # A squared standardised residual is 1 on average.
    z2 = tables.standardised.reshape(tables.prob.shape)
    np.testing.assert_allclose((tables.prob * z2).sum(axis=1), 1)
    np.testing.assert_allclose((tables.prob * z2**2).sum(axis=1) - 1, tables.kurtosis, atol=1e-6, rtol=1e-6)
    assert (tables.middle is None) == (k == 2)
    if tables.score is not None:
        score = tables.score.reshape(tables.prob.shape)
        np.testing.assert_allclose((tables.prob * score).sum(axis=1), 0, atol=1e-10)


@pytest.mark.parametrize("n_ratings", [10, 10**9], ids=["readable", "compiled"])
def test_sums_written_out(n_ratings):
    random = np.random.default_rng(0)
    weights, table, prob = random.random((4, 6)), random.random((5, 6)), random.random((5, 3, 6))
    weight, one, two = random.integers(4, size=20), random.integers(5, size=20), random.integers(5, size=20)
    averaged, agreeing = averages_for(n_ratings)
    expected = [weights[w] @ table[r] for w, r in zip(weight, one, strict=True)]
    np.testing.assert_allclose(averaged(weights, weight, table, one), expected, rtol=1e-12)
    expected = [
        weights[w] @ (prob[a] * prob[b]).sum(axis=0) for w, a, b in zip(weight, one, two, strict=True)
    ]
    np.testing.assert_allclose(agreeing(weights, weight, prob, one, two), expected, rtol=1e-12)
