"""Newton's method within bounds, for objectives whose exact information is at hand.

Where a likelihood is nearly flat in some directions (raters who never err, true categories that are hardly
determined), a quasi-Newton method needs hundreds of steps and Newton's a dozen.
"""

from collections.abc import Callable

import numpy as np
from scipy import linalg

from raterlens.base.arrays import Array
from raterlens.estimation.optimiser import TOLERANCE, USUAL, Optimiser, Optimum, Progress, Search, Space
from raterlens.likelihood.marginal import Value

_DAMPING = 1e-3
_LEAST_DAMPING = 1e-9
# A step that has to be damped so strongly is smaller than rounding in the objective.
_MOST_DAMPING = 1e6
# Of differences, in parameters of about unit size.
_STEP = 1e-5


def newton(
    objective: Callable[[Array], Value],
    curvature: Callable[[Array], Array],
    start: Array,
    space: Space,
    search: Search = USUAL,
    *,
    stage: str,
    tolerance: float = TOLERANCE,
) -> Optimum:
    """Maximise `objective` from a start not far away, by damped (Levenberg-Marquardt) Newton steps.

    Parameters
    ----------
    curvature
        Minus the second derivative of the objective.
    """
    (lower, upper), scale, max_iterations = space.bounds, np.sqrt(space.information), search.max_iterations
    x = np.clip(start, lower, upper)
    value = objective(x)
    damping, evaluations, iterations = _DAMPING, 1, 0
    while True:
        held = ((x <= lower) & (value.gradient < 0)) | ((x >= upper) & (value.gradient > 0))
        free = np.flatnonzero(~held)
        scaled = (value.gradient / scale)[free]
        left = float(np.abs(scaled).max(initial=0.0))
        if search.on_progress is not None:
            search.on_progress(Progress(stage, iterations, value.loglik, left))
        if left <= tolerance or iterations == max_iterations or damping > _MOST_DAMPING:
            break
        matrix = curvature(x)[np.ix_(free, free)] / np.outer(scale[free], scale[free])
        iterations += 1
        while damping <= _MOST_DAMPING:
            step = _solve(matrix, scaled, damping)
            if step is not None:
                moved = x.copy()
                moved[free] += step / scale[free]
                moved = np.clip(moved, lower, upper)
                there = objective(moved)
                evaluations += 1
                if there.objective > value.objective:
                    x, value = moved, there
                    damping = max(damping / 10, _LEAST_DAMPING)
                    break
            damping *= 10
    if left <= tolerance:
        stopped = "the gradient is zero within the tolerance"
    elif iterations == max_iterations:
        stopped = f"it reached the limit of {max_iterations} iterations"
    else:
        stopped = "no further step improved the likelihood within rounding"
    record = Optimiser(
        "Newton", tolerance, max_iterations, iterations, evaluations, left, left <= 10 * tolerance, stopped
    )
    return Optimum(x, value, record)


def differenced_curvature(
    objective: Callable[[Array], Value], x: Array, bounds: tuple[Array, Array]
) -> Array:
    """Minus the second derivative of a small objective, from differences of its exact gradient within bounds."""
    here, upper = objective(x).gradient, bounds[1]
    found = np.empty((len(x), len(x)))
    for k in range(len(x)):
        moved = x.copy()
        moved[k] += _STEP if x[k] + _STEP <= upper[k] else -_STEP
        found[k] = (here - objective(moved).gradient) / (moved[k] - x[k])
    return (found + found.T) / 2


def _solve(matrix: Array, right: Array, damping: float) -> Array | None:
    """The damped step, or None where the damped matrix is not positive definite."""
    try:
        factor = linalg.cho_factor(matrix + damping * np.eye(len(matrix)))
    except linalg.LinAlgError:
        return None
    return np.asarray(linalg.cho_solve(factor, right))
