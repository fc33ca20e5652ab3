import numpy as np
import pytest

from raterlens.studies.bootstrap_intervals import bias_corrected, percentile


def test_bias_corrected_percentiles():
    """Without bias they are the percentiles; replicates that lie low by half a standard deviation shift them up."""
    z = np.sort(np.random.default_rng(3).normal(size=20_000))
    assert percentile(z) == pytest.approx((-1.96, 1.96), abs=0.05)
    assert bias_corrected(z, float(np.median(z))) == pytest.approx(percentile(z), abs=1e-3)
    assert bias_corrected(z, 0.5) == pytest.approx((1 - 1.96, 1 + 1.96), abs=0.1)
