"""The truth in the terms of a fit."""

import numpy as np

from raterlens import capability
from raterlens.simulation.simulate import simulate


def test_truth_knows_each_raters_capability():
    truth = simulate(raters=3, slope=[0.5, 2.0, 1.0], severity=[-1, 0, 1]).truth
    assert truth.sigma == 2
    np.testing.assert_array_equal(truth.rho, [0.25, 1, 0.5])
    np.testing.assert_array_equal(truth.kappa, capability.gmf(rho=[0.25, 1, 0.5], eta=[-1, 0, 1], sigma=2.0))
    np.testing.assert_array_equal(simulate(raters=2, slope=0.0).truth.kappa, [0, 0])
