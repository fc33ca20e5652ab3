"""The score of another shape than a normal one of the students' distribution, without fitting again.

The shape has two parameters c (`capability/population.py`), which enter a student's log-likelihood through the
log-density of abilities alone. With s its derivatives in c at 0 and E, Var and Cov over the posterior of each student,

    score        u = sum_n E[s]
    information  I = -sum_n (E[ds/dc] + Var[s]),     J = -sum_n Cov[s, d log P / d parameters]

J is how the gradient in the parameters changes with c: a difference of gradients under two distributions of students.
The parameters, whose covariance is V, have absorbed J V J' of the information, so that u' (I - J V J')^-1 u has a
chi-squared distribution with two degrees of freedom where abilities are normal.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from raterlens.base.arrays import Array
from raterlens.capability.population import AbilityShape
from raterlens.estimation.scoring import Placed
from raterlens.inference.covariance import covariance, in_full
from raterlens.likelihood.nodes import Nodes
from raterlens.models.redundancy import redundancy
from raterlens.models.terms.shape import SHAPE_RIDGE

# Of a central difference in c: what it leaves out is of its square.
_STEP = 1e-4
# Information, relative to that of known abilities, below which there is none.
_LEAST = 1e-6


class ShapeScore(NamedTuple):
    """Rao's test of a normal shape."""

    statistic: float
    """Infinite where the log-likelihood has no top nearby."""
    step: Array
    """(2,): where one step of Newton's method leads, from 0."""


def shape_score(at: Placed) -> ShapeScore:
    """Score of the shape of the fit's students."""
    nodes = at.rough_nodes
    score, information = _own_part(at, nodes)
    absorbed = _with_parameters(at, nodes)
    spread = _spread(at, nodes) if at.covariance is None else at.covariance
    left = information - absorbed @ spread @ absorbed.T
    # In proportion to what students of known abilities would tell.
    known = np.sqrt(SHAPE_RIDGE * at.problem.n_students)
    if np.linalg.eigvalsh(left / np.outer(known, known)).min() <= _LEAST:
        # The likelihood bends upwards: the top is far from a normal shape, or there is next to no information.
        return ShapeScore(np.inf, np.where(score < 0, -np.inf, np.inf))
    step = np.asarray(np.linalg.solve(left, score), np.float64)
    return ShapeScore(float(score @ step), step)


def _own_part(at: Placed, nodes: Nodes) -> tuple[Array, Array]:
    """(2,) and (2, 2): the score, and the information were all parameters known."""
    normal = AbilityShape.of(0.0, 0.0)
    scores, everyone, spread = normal.scores(nodes.points), np.zeros(len(nodes.points)), np.zeros((2, 2))
    tables = at.problem.tables(at.parameters, nodes)
    for _, posterior, _ in at.problem.engine.posteriors(tables, nodes):
        everyone += posterior.sum(axis=0)
        mean = posterior @ scores.T
        spread -= mean.T @ mean
    spread += (scores * everyone) @ scores.T
    return scores @ everyone, np.diag(SHAPE_RIDGE) - normal.curvature(nodes.points) @ everyone - spread


def _with_parameters(at: Placed, nodes: Nodes) -> Array:
    """(2, parameters): minus the second derivatives in the shape and the parameters."""

    def gradient(shape: Array) -> Array:
        ratio = AbilityShape.of(*shape.tolist()).log_ratio(nodes.points)
        moved = replace(nodes, log_weights=nodes.log_weights + ratio)
        return at.problem.value(at.parameters, moved).gradient

    return np.stack([(gradient(-axis) - gradient(axis)) / (2 * _STEP) for axis in _STEP * np.eye(2)])


def _spread(at: Placed, nodes: Nodes) -> Array:
    """(parameters, parameters): the covariance of the estimates."""
    model, x = at.problem.model, at.parameters
    information = at.problem.information(x, nodes)
    return in_full(covariance(information, redundancy(model, x), np.zeros(len(x), dtype=bool)).matrix)
