"""One optimiser for every method: L-BFGS-B in coordinates scaled to standard errors, and a record of what it did."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

Array = NDArray[np.float64]

# In scaled coordinates a gradient of g leaves a parameter about g standard errors from its optimum.
TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True)
class Value:
    """An objective at its parameters."""

    loglik: float
    """Of the data alone."""
    objective: float
    """With the half rating that extreme raters and items get: what is maximised."""
    gradient: Array
    """Of the objective."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where an optimisation stands, once an iteration."""

    stage: str
    iteration: int
    loglik: float
    gradient: float
    """Largest scaled gradient: about how many standard errors are left to go."""


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Optimiser:
    """What the optimiser was asked for, what it did and why it stopped."""

    name: str
    tolerance: float
    max_iterations: int
    iterations: int
    evaluations: int
    gradient: float
    """Largest scaled gradient at the end, over the parameters that are free to move."""
    converged: bool
    stopped: str
    """Why it stopped, in words."""
    n_nodes: int | None = None
    """Ability nodes of the final grid, where there is one."""


@dataclass(frozen=True, slots=True)
class Optimum:
    parameters: Array
    value: Value
    record: Optimiser


def maximise(
    objective: Callable[[Array], Value],
    start: Array,
    information: Array,
    bounds: tuple[Array, Array],
    *,
    stage: str,
    tolerance: float = TOLERANCE,
    max_iterations: int = 500,
    on_progress: OnProgress | None = None,
) -> Optimum:
    """Maximise `objective` within bounds.

    Parameters
    ----------
    information
        Diagonal of an approximate information matrix; its square root scales the parameters, so that all of
        them are in units of about one standard error.
    """
    scale = np.sqrt(information)
    lower, upper = bounds
    last: Value | None = None
    evaluations = iteration = 0

    def negative(scaled: Array) -> tuple[float, Array]:
        nonlocal last, evaluations
        evaluations += 1
        last = objective(scaled / scale)
        return -last.objective, -last.gradient / scale

    def each_iteration(intermediate_result: optimize.OptimizeResult) -> None:
        nonlocal iteration
        iteration += 1
        if on_progress is not None and last is not None:
            gradient = _free_gradient(last.gradient, intermediate_result.x / scale, lower, upper) / scale
            on_progress(Progress(stage, iteration, last.loglik, float(np.abs(gradient).max())))

    result = optimize.minimize(
        negative,
        np.clip(start, lower, upper) * scale,
        jac=True,
        method="L-BFGS-B",
        bounds=optimize.Bounds(lower * scale, upper * scale),
        callback=each_iteration,
        options={
            "maxcor": 20,
            "gtol": tolerance,
            "ftol": 0.0,
            "maxiter": max_iterations,
            "maxfun": 20 * max_iterations,
        },
    )
    parameters = np.clip(result.x / scale, lower, upper)
    iterations = int(result.get("nit", 0))  # none where every parameter is held by its bounds
    value = objective(parameters)
    left = _free_gradient(value.gradient, parameters, lower, upper) / scale
    gradient = float(np.abs(left).max())
    # A line search that cannot improve within rounding has arrived, too, if the gradient says so.
    converged = gradient <= 10 * tolerance
    if gradient <= tolerance:
        stopped = "the gradient vanished"
    elif iterations >= max_iterations:
        stopped = f"it reached the limit of {max_iterations} iterations"
    else:
        stopped = "no further step improved the likelihood within rounding"
    record = Optimiser(
        "L-BFGS-B", tolerance, max_iterations, iterations, evaluations + 1, gradient, converged, stopped
    )
    return Optimum(parameters, value, record)


def _free_gradient(gradient: Array, parameters: Array, lower: Array, upper: Array) -> Array:
    """The gradient where a step along it is allowed, zero where a bound holds."""
    held = ((parameters <= lower) & (gradient < 0)) | ((parameters >= upper) & (gradient > 0))
    return np.where(held, 0.0, gradient)
