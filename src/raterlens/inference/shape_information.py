"""What the shape of the students' distribution adds to the observed information.

Its parameters enter a student's log-likelihood through the log-density of the ability alone, as one more cell that
every student has once: with scores of its own, and an expected second derivative.
"""

from dataclasses import replace

import numpy as np
from scipy import sparse

from raterlens.base.types import Array
from raterlens.engine.protocol import CellScores, Matrix, Nodes
from raterlens.estimation.marginal import SHAPE_RIDGE, FacetsMarginal
from raterlens.models.facets import SHAPE

# How fast the scores change with ability, as the slope of a rater whose scores change as fast.
_STEEPEST = 2.0


def with_everyone(problem: FacetsMarginal, scores: CellScores, parameters: Array, nodes: Nodes) -> CellScores:
    """The cells of ratings, and where the shape is estimated the one that every student has."""
    model = problem.model
    if not model.smooth:
        return scores
    at = model.blocks[SHAPE]
    return replace(
        scores,
        first=np.append(scores.first, scores.first[-1] + 2),
        parameter=np.append(scores.parameter, np.arange(at.start, at.stop)),
        table=np.concatenate([scores.table, model.shape(parameters).scores(nodes.points)]),
        steepest=np.append(scores.steepest, _STEEPEST),
    )


def shape_added(
    problem: FacetsMarginal, second: Matrix, parameters: Array, everyone: Array | None, nodes: Nodes
) -> Matrix:
    """Second derivatives of what was maximised, with those by the shape: expected over abilities, and of the ridge."""
    if everyone is None:
        return second
    at, size = problem.model.blocks[SHAPE], problem.model.blocks.size
    own = problem.model.shape(parameters).curvature(nodes.points) @ everyone - np.diag(SHAPE_RIDGE)
    place = np.arange(at.start, at.stop)
    row, column = np.repeat(place, 2), np.tile(place, 2)
    return second + sparse.csr_array((own.ravel(), (row, column)), shape=(size, size))
