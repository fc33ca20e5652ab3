"""Second derivatives of expected ratings in the slopes and intercepts of their contexts."""

import numpy as np
from scipy import sparse

from raterlens.base.types import Array
from raterlens.engine.protocol import Nodes
from raterlens.models.responses import Adjacent, Graded, Predictor, Response


def context_curvature(
    response: Response, predictor: Predictor, nodes: Nodes, counts: Array
) -> sparse.csr_array:
    """Expected second derivatives in the slopes, then the intercepts, of the contexts."""
    if isinstance(response, Adjacent):
        slopes, mixed, intercepts = _adjacent_sums(response, predictor, nodes.points, counts)
    elif isinstance(response, Graded):
        slopes, mixed, intercepts = _graded_sums(response, predictor, nodes.points, counts)
    else:
        slopes, mixed, intercepts = _sums(response, predictor, nodes.points, counts)
    n, steps = mixed.shape
    context = np.arange(n)
    intercept = n + context[:, None] * steps + np.arange(steps)
    across, down = np.broadcast_arrays(intercept[:, None, :], intercept[:, :, None])
    slope = np.broadcast_to(context[:, None], intercept.shape)
    values = np.concatenate([slopes, mixed.ravel(), mixed.ravel(), intercepts.ravel()])
    rows = np.concatenate([context, slope.ravel(), intercept.ravel(), down.ravel()])
    columns = np.concatenate([context, intercept.ravel(), slope.ravel(), across.ravel()])
    return sparse.csr_array((values, (rows, columns)), shape=(n * (1 + steps),) * 2)


def _sums(response: Response, predictor: Predictor, t: Array, counts: Array) -> tuple[Array, Array, Array]:
    """Over nodes: (contexts,) by the slope twice, (contexts, steps) by both, (contexts, steps, steps)."""
    curvature, lever = response.curvature(predictor, t, counts), response.lever
    slopes = np.einsum("cqjk,j,k,q->c", curvature, lever, lever, t**2, optimize=True)
    mixed = np.einsum("cqjk,k,q->cj", curvature, lever, t, optimize=True)
    return slopes, mixed, curvature.sum(axis=1)


def _adjacent_sums(
    response: Adjacent, predictor: Predictor, t: Array, counts: Array
) -> tuple[Array, Array, Array]:
    """The same without a table of each step by each at every node: minus the covariances of the scores' indicators."""
    p, lever = response.probabilities(predictor, t), response.lever
    if response.n_categories == 2:
        p *= 1 - p
        p *= counts.sum(axis=1, keepdims=True)
        slopes, mixed, intercepts = -(p[:, 0] @ np.stack([t**2, t, np.ones_like(t)], axis=1)).T
        return slopes, mixed[:, None], intercepts[:, None, None]
    given = counts.sum(axis=1, keepdims=True) * p
    mean = np.einsum("j,cjq->cq", lever, p)
    by_score = lever[:, None] - mean[:, None]
    intercepts = given @ p.transpose(0, 2, 1)
    intercepts[:, np.arange(len(lever)), np.arange(len(lever))] -= given.sum(axis=2)
    mixed = -np.einsum("cjq,cjq,q->cj", given, by_score, t)
    slopes = -np.einsum("j,cjq,cjq,q->c", lever, given, by_score, t**2, optimize=True)
    return slopes, mixed, intercepts


def _graded_sums(
    response: Graded, predictor: Predictor, t: Array, counts: Array
) -> tuple[Array, Array, Array]:
    """The same where a score depends on the two steps around it alone."""
    slopes, mixed, twice, beside = response.bends(predictor, t, counts)
    step = np.arange(mixed.shape[1])
    intercepts = np.zeros((*mixed.shape, len(step)))
    intercepts[:, step, step] = twice
    intercepts[:, step[1:], step[:-1]] = intercepts[:, step[:-1], step[1:]] = beside
    return slopes, mixed, intercepts


def placed_at(block: Array, at: slice, size: int) -> sparse.csr_array:
    """(size, size): a block on the diagonal, zeros elsewhere."""
    place = np.arange(at.start, at.stop)
    row, column = np.repeat(place, len(place)), np.tile(place, len(place))
    return sparse.csr_array((block.ravel(), (row, column)), shape=(size, size))
