import numpy as np

from raterlens.models.registry import TFM


def test_all_raters_share_a_slope_whatever_the_covariates():
    for covariates in (None, np.ones((3, 1))):
        slopes = TFM.slopes(3, covariates)
        assert slopes.size == 1
        np.testing.assert_array_equal(slopes(np.array([1.7])), [1.7] * 3)
