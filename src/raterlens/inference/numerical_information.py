"""Observed information by differences of the gradient, for a likelihood whose curvature jumps (the log link's corner).

Louis's identity (information.py) would need the corner resolved in every student's scores; the gradient has it
resolved already.
"""

import numpy as np
from scipy import sparse

from raterlens.base.types import Array
from raterlens.engine.protocol import Nodes
from raterlens.estimation.starting_values import information_scale
from raterlens.likelihood.marginal import FacetsMarginal
from raterlens.models.redundancy import Redundancy

# In standard errors: far enough to average over the jumps, near enough for a quadratic likelihood.
_STEP = 0.2


def differenced_information(
    problem: FacetsMarginal, parameters: Array, nodes: Nodes, redundant: Redundancy
) -> sparse.csr_array:
    """(parameters, parameters): minus the second derivative of what was maximised."""
    size = len(parameters)
    steps = _STEP / np.sqrt(
        np.maximum(information_scale(problem.model, parameters, problem.n_students), 1e-12)
    )
    information = np.empty((size, size))
    for j in range(size):
        ahead, back = parameters.copy(), parameters.copy()
        ahead[j] += steps[j]
        back[j] -= steps[j]
        change = problem.value(ahead, nodes).gradient - problem.value(back, nodes).gradient
        information[:, j] = -change / (2 * steps[j])
    # Along redundant directions the likelihood is flat, and differences only nearly so: take the part off them.
    u, d = redundant.constraints, redundant.directions
    off = np.eye(size) - d.T @ np.linalg.solve(u @ d.T, u)
    information = off.T @ information @ off
    return sparse.csr_array((information + information.T) / 2)
