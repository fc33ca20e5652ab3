"""Marginal maximum likelihood for the log link, whose likelihood has a corner: one fine grid of even steps.

Elsewhere the grid may be as coarse as smooth posteriors allow (grid.py); here it must resolve the rounded corner
of every context, whatever the posteriors' widths.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from raterlens.base.arrays import Array
from raterlens.estimation.optimiser import Search, Space, maximise
from raterlens.estimation.quadrature import Quadrature
from raterlens.likelihood.engines.contract import Moments, Tables
from raterlens.likelihood.grid import reached
from raterlens.likelihood.marginal import FacetsMarginal
from raterlens.likelihood.nodes import Nodes
from raterlens.models.capped_log import CORNER, Capped

# Nodes within the corner of the steepest context, roughly at first and finally.
_ROUGHLY, _FINALLY = 0.5, 4.0
# A corner left as it is needs a grid finer by this.
_FINER = 4
# In standard errors. The likelihood's curvature still jumps at the ends of a corner: the optimiser gets no further.
_TOLERANCE = 1e-3
# Of the posteriors' mass, so much may lie beyond the grid.
_BEYOND = 1e-9


def fit_with_corner(
    problem: FacetsMarginal,
    start: Array,
    space: Space,
    search: Search,
) -> Quadrature:
    """Maximise on a rough grid, then on one that is fine for the slopes found."""
    evaluations = iterations = 0
    moments = Moments(np.zeros(1), np.ones(1))
    for within, tolerance in ((_ROUGHLY, 0.1), (_FINALLY, _TOLERANCE), (_FINALLY, _TOLERANCE)):
        low, high = reached(moments, _BEYOND)
        nodes = Nodes.equally_spaced(low, high, corner_step(problem, start, within))
        optimum = maximise(
            partial(problem.value, nodes=nodes),
            start,
            space,
            search,
            stage=f"marginal likelihood, {len(nodes.points)} ability nodes",
            tolerance=tolerance,
        )
        evaluations += optimum.record.evaluations
        iterations += optimum.record.iterations
        start = optimum.parameters
        moments = problem.moments(start, nodes)
    value = replace(optimum.value, loglik=_sharp_loglik(problem, start, nodes))
    record = replace(
        optimum.record, evaluations=evaluations, iterations=iterations, n_nodes=len(nodes.points)
    )
    return Quadrature(replace(optimum, value=value, record=record), nodes, moments, problem)


def _sharp_loglik(problem: FacetsMarginal, parameters: Array, nodes: Nodes) -> float:
    """The log-likelihood with the corner as it is, on a grid that needs no rounding."""
    fine = Nodes.equally_spaced(nodes.low, nodes.high, nodes.step / _FINER)
    log_prob = Capped.sharp(problem.model.predictor(parameters), fine.points)
    return problem.engine.evaluate(Tables(log_prob.reshape(-1, len(fine.points))), fine).loglik


def corner_step(problem: FacetsMarginal, parameters: Array, within: float = _FINALLY) -> float:
    """The step that puts `within` nodes into the corner of the steepest context."""
    steepest = max(float(np.abs(problem.model.predictor(parameters).slope).max()), 0.5)
    return CORNER / (within * steepest)
