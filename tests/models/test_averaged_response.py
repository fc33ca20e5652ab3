import numpy as np
import pytest

from raterlens.capability.links import get_link
from raterlens.models.responses import Adjacent, AveragedResponse, Linked, Predictor

T = np.linspace(-2, 2, 5)
X = Predictor(np.array([1.0, 1.5]), np.array([[0.2], [-0.5]]))


@pytest.mark.parametrize("response", [Adjacent(), Linked(get_link("probit"))])
def test_probabilities_are_averages(response):
    spread = np.array([0.0, 1.3])
    averaged = AveragedResponse(response, spread)
    found = np.exp(averaged.log_prob(X, T))
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(found[0], np.exp(response.log_prob(X, T))[0], atol=1e-12)
    if isinstance(response, Linked):  # a normal variable and another are one
        from scipy import special

        expected = special.ndtr((1.5 * T - 0.5) / np.sqrt(1 + 1.3**2))
        np.testing.assert_allclose(found[1, 1], expected, atol=1e-9)
    h = 1e-5
    above, below = (averaged.log_prob(Predictor(X.slope, X.intercepts + sign * h), T) for sign in (1, -1))
    np.testing.assert_allclose(averaged.scores(X, T)[0], (above - below) / (2 * h), atol=1e-7)
