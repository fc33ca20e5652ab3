"""Second derivatives of expected ratings in the slopes and intercepts of their contexts."""

import numpy as np
from scipy import sparse

from raterlens.base.types import Array
from raterlens.engine.protocol import Nodes
from raterlens.models.responses import Predictor, Response


def context_curvature(
    response: Response, predictor: Predictor, nodes: Nodes, counts: Array
) -> sparse.csr_array:
    """Expected second derivatives in the slopes, then the intercepts, of the contexts."""
    slopes, mixed, intercepts = response.summed_curvature(predictor, nodes.points, counts)
    n, steps = mixed.shape
    context = np.arange(n)
    intercept = n + context[:, None] * steps + np.arange(steps)
    across, down = np.broadcast_arrays(intercept[:, None, :], intercept[:, :, None])
    slope = np.broadcast_to(context[:, None], intercept.shape)
    values = np.concatenate([slopes, mixed.ravel(), mixed.ravel(), intercepts.ravel()])
    rows = np.concatenate([context, slope.ravel(), intercept.ravel(), down.ravel()])
    columns = np.concatenate([context, intercept.ravel(), slope.ravel(), across.ravel()])
    return sparse.csr_array((values, (rows, columns)), shape=(n * (1 + steps),) * 2)


def placed_at(block: Array, at: slice, size: int) -> sparse.csr_array:
    """(size, size): a block on the diagonal, zeros elsewhere."""
    place = np.arange(at.start, at.stop)
    row, column = np.repeat(place, len(place)), np.tile(place, len(place))
    return sparse.csr_array((block.ravel(), (row, column)), shape=(size, size))
