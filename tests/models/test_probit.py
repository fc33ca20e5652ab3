import numpy as np
import pytest
from scipy import stats

from tests.support.facets_models import make, somewhere


def test_a_rater_passes_what_it_sees_above_its_threshold(small):
    """P(pass) = Phi((theta - alpha_r - delta_i) / sigma_r), with a_r = 1 / sigma_r and b_r = alpha_r / sigma_r."""
    model, response = make(small, "probit")
    x, theta = somewhere(model), 0.7
    a, b, delta = (x[model.blocks[name]] for name in ("slope", "severity", "difficulty"))
    log_prob = response.log_prob(model.predictor(x), np.array([theta]))[:, 1, 0]
    r, i = model.contexts.rater, model.contexts.item
    noise, threshold = 1 / a[r], b[r] / a[r]
    assert np.exp(log_prob) == pytest.approx(
        stats.norm.cdf((theta - threshold - delta[i]) / noise), rel=1e-12
    )
