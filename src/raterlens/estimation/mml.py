"""Marginal maximum likelihood: quadrature on a grid that follows the posteriors' widths."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from raterlens.engine.seam import Engine, Moments, Nodes, Tables
from raterlens.estimation.grid import ACCURACY, finer, first_nodes, nodes_for
from raterlens.estimation.optimise import TOLERANCE, OnProgress, Optimum, Value, maximise

Array = NDArray[np.float64]

# The first grid only has to bring the parameters near; the last one decides.
_ROUGH_TOLERANCE = 1e-1
_MOST_ROUNDS = 8
_ROUNDING = 50 * float(np.finfo(float).eps)


class Marginal(Protocol):
    """A model on data: the marginal log-likelihood on a grid, and what gives posteriors."""

    @property
    def engine(self) -> Engine: ...

    def tables(self, parameters: Array, nodes: Nodes) -> Tables: ...

    def value(self, parameters: Array, nodes: Nodes) -> Value: ...


@dataclass(frozen=True, slots=True)
class Quadrature:
    """The optimum, on the grid that was found fine enough for it."""

    optimum: Optimum
    nodes: Nodes
    moments: Moments


def fit_mml(
    problem: Marginal,
    start: Array,
    information: Array,
    bounds: tuple[Array, Array],
    widths: Array,
    *,
    max_iterations: int = 500,
    on_progress: OnProgress | None = None,
) -> Quadrature:
    """Maximise the marginal likelihood, refining the grid until a finer one changes nothing.

    Parameters
    ----------
    widths
        Posterior standard deviations expected at `start`, for the first grid.
    """
    nodes = first_nodes(widths)
    accuracy, tolerance, evaluations, iterations = ACCURACY, _ROUGH_TOLERANCE, 0, 0
    for round_ in range(_MOST_ROUNDS):
        optimum = maximise(
            partial(problem.value, nodes=nodes),
            start,
            information,
            bounds,
            stage=f"marginal likelihood, {len(nodes.points)} ability nodes",
            tolerance=tolerance,
            max_iterations=max_iterations,
            on_progress=on_progress,
        )
        evaluations += optimum.record.evaluations
        iterations += optimum.record.iterations
        start = optimum.parameters
        moments = problem.engine.moments(problem.tables(start, nodes), nodes)
        if round_ > 0:
            check = problem.value(start, finer(nodes))
            evaluations += 1
            if abs(check.loglik - optimum.value.loglik) <= max(2e-5, 1e-9 * abs(check.loglik)):
                break
            accuracy /= 100
        # A discrete posterior narrower than the step tells only that it is narrower; go there by degrees.
        seen = Moments(moments.mean, np.maximum(moments.sd, nodes.step / 4))
        nodes = nodes_for(seen, accuracy)
        # A gradient g promises g^2 / 2 more; nothing can be gained that rounding of the sum would hide.
        tolerance = max(TOLERANCE, float(np.sqrt(_ROUNDING * abs(optimum.value.loglik))))
    record = replace(
        optimum.record, evaluations=evaluations, iterations=iterations, n_nodes=len(nodes.points)
    )
    return Quadrature(replace(optimum, record=record), nodes, moments)
