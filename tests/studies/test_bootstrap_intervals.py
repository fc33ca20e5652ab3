import numpy as np
import pytest
from scipy import stats

from raterlens.studies.bootstrap_intervals import bias_corrected, percentile


def test_bias_corrected_percentiles():
    """Without bias they are the percentiles; replicates that lie low by half a standard deviation shift them up."""
    z = np.sort(np.random.default_rng(3).normal(size=20_000))
    assert percentile(z) == pytest.approx((-1.96, 1.96), abs=0.05)
    assert bias_corrected(z, float(np.median(z))) == pytest.approx(percentile(z), abs=1e-3)
    assert bias_corrected(z, 0.5) == pytest.approx((1 - 1.96, 1 + 1.96), abs=0.1)


def test_replicates_that_equal_the_estimate_count_half():
    """30 of 100 are the estimate, the others above: 15 % lie below, and the percentiles are shifted accordingly."""
    drawn, tails = np.concatenate([np.zeros(30), np.linspace(0.01, 0.7, 70)]), [0.025, 0.975]
    shares = stats.norm.cdf(2 * stats.norm.ppf(0.15) + stats.norm.ppf(tails))
    assert bias_corrected(drawn, 0.0) == pytest.approx(tuple(np.quantile(drawn, shares)))
    # No replicate below the estimate, or none above: taken for one in a hundred.
    for estimate, share in ((-1.0, 0.01), (2.0, 0.99)):
        shares = stats.norm.cdf(2 * stats.norm.ppf(share) + stats.norm.ppf(tails))
        assert bias_corrected(drawn, estimate) == pytest.approx(tuple(np.quantile(drawn, shares)))
