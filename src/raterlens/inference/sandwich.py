"""Covariances from the students' own scores: robust to what the model gets wrong about them.

A student's score is the gradient of that student's log-likelihood; by Fisher's identity it is the posterior mean of
the complete-data score. Students are independent, whatever their ratings are among themselves, so the sum of the
scores' outer products estimates the variance of the gradient:

    sandwich = inv(I) (sum_n g_n g_n') inv(I)

It is right where ratings of a student depend on each other in ways that the model leaves out (a halo, say).
"""

import numpy as np
from scipy import sparse

from raterlens.inference.covariance import Covariance


def outer_products(scores: sparse.csr_array) -> sparse.csr_array:
    """(parameters, parameters): sum of the students' outer products, an estimate of the information."""
    return sparse.csr_array(scores.T @ scores)


def sandwich(bread: Covariance, scores: sparse.csr_array) -> Covariance:
    """The covariance that holds where students are independent, with n / (n - 1) as for a mean."""
    n = scores.shape[0]
    half = np.asarray(scores @ bread.matrix)
    return Covariance(half.T @ half * (n / (n - 1)), bread.undetermined)
