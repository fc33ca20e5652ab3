import numpy as np

from raterlens.models.registry import GMF, own_slopes


def test_every_rater_has_a_slope_or_covariates_explain_its_logarithm():
    own = own_slopes(3, None)
    np.testing.assert_array_equal(own(np.array([0.5, 1.0, 2.0])), [0.5, 1.0, 2.0])
    explained = GMF.slopes(3, np.column_stack([np.ones(3), [0.0, 1.0, 2.0]]))
    np.testing.assert_allclose(explained(np.array([0.2, 0.3])), np.exp([0.2, 0.5, 0.8]))
