"""How sure a fit is: information, covariance, intervals, profile likelihood, bootstrap and ranks."""
