"""Joint likelihood: its estimates solve the score equations."""

import numpy as np
from scipy import optimize, special

from raterlens.simulation.simulate import simulate
from raterlens.studies.joint_tfm import joint_tfm


def test_joint_likelihood_has_no_slope_at_its_estimates():
    ratings = simulate(students=30, raters=4, items=6, model="tfm", slope=1.0, seed=3).ratings
    found = joint_tfm(ratings)
    s = found.ability[ratings.student] - found.severity[ratings.rater] - found.difficulty[ratings.item]
    # Means were taken out; the intercept comes back by matching the total.
    alpha = optimize.brentq(lambda a: np.sum(ratings.score - special.expit(s + a)), -5, 5)
    residual = ratings.score - special.expit(s + alpha)
    for codes in (ratings.student, ratings.rater, ratings.item):
        np.testing.assert_allclose(np.bincount(codes, residual), 0, atol=1e-6)
