"""Functions to climb."""

import numpy as np
from scipy import optimize

from raterlens.likelihood.marginal import Value


def negative(function):
    """A function to be minimised, with its gradient, as an objective to be maximised."""

    def objective(x):
        value, gradient = function(x)
        return Value(-value, -value, -gradient)

    return objective


def rosenbrock(x):
    return optimize.rosen(x), optimize.rosen_der(x)


def quadratic(seed=0, size=8):
    random = np.random.default_rng(seed)
    root = random.normal(size=(size, size))
    matrix, centre = root @ root.T + np.eye(size), random.normal(size=size)
    return lambda x: (0.5 * (x - centre) @ matrix @ (x - centre), matrix @ (x - centre)), centre
