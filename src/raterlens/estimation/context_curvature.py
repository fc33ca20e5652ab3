"""Second derivatives of expected ratings in the slopes and intercepts of their contexts."""

import numpy as np
from scipy import sparse

from raterlens.engine.protocol import Nodes
from raterlens.models.responses import Predictor, Response
from raterlens.types import Array


def context_curvature(
    response: Response, predictor: Predictor, nodes: Nodes, counts: Array
) -> sparse.csr_array:
    """Expected second derivatives in the slopes, then the intercepts, of the contexts."""
    t, lever = nodes.points, response.lever
    curvature = response.curvature(predictor, t, counts)
    n, steps = len(predictor.slope), len(lever)
    slopes = np.einsum("cqjk,j,k,q->c", curvature, lever, lever, t**2, optimize=True)
    mixed = np.einsum("cqjk,k,q->cj", curvature, lever, t, optimize=True)
    context = np.arange(n)
    intercept = n + context[:, None] * steps + np.arange(steps)
    across, down = np.broadcast_arrays(intercept[:, None, :], intercept[:, :, None])
    slope = np.broadcast_to(context[:, None], intercept.shape)
    values = np.concatenate([slopes, mixed.ravel(), mixed.ravel(), curvature.sum(axis=1).ravel()])
    rows = np.concatenate([context, slope.ravel(), intercept.ravel(), down.ravel()])
    columns = np.concatenate([context, intercept.ravel(), slope.ravel(), across.ravel()])
    return sparse.csr_array((values, (rows, columns)), shape=(n * (1 + steps),) * 2)
