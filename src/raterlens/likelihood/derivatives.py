"""Derivatives of the log-probabilities of ratings, as functions of ability: each cell's part in a student's score, and
second derivatives in the contexts."""

from collections.abc import Iterable

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.likelihood.engines.contract import CellScores
from raterlens.likelihood.nodes import Nodes
from raterlens.models.responses import Predictor, Response


def score_terms(
    response: Response, predictor: Predictor, t: Array, *, by_sums: bool
) -> list[tuple[Indices, Array]]:
    """The derivative of the log-probability of each cell in its context's slope, then in intercepts, as rows of the
    model's Jacobian, (cells,), in which slopes of contexts come first, with tables (cells, nodes); a row of zeros
    counts for nothing.

    A cell is a context with a score; `by_sums`: a context alone, whose scores differ by no more than constants.
    """
    contexts, lever = len(predictor.slope), response.lever
    if by_sums:
        own = -response.probabilities(predictor, t)[:, :, None]  # type: ignore[attr-defined]  # adjacent categories
        tables = [(np.array([step]), own[:, step]) for step in range(len(lever))]
    else:
        tables = response.score_tables(predictor, t)
    context = np.repeat(np.arange(contexts), len(tables[0][0]))
    by_slope, found = np.zeros((len(context), len(t))), []
    for step, table in tables:
        which, rows = np.tile(step, contexts), table.reshape(-1, len(t))
        found.append((contexts + context * len(lever) + which, rows))
        by_slope += lever[which][:, None] * rows
    return [(context, by_slope * t), *found]


def cell_scores(
    members: sparse.csr_array,
    terms: list[tuple[Indices, Array]],
    through: sparse.csr_array,
    reach: Array,
    slopes: sparse.csr_array | None = None,
) -> CellScores:
    """Scores of cells that are sets of contexts, or of contexts with scores.

    Parameters
    ----------
    members
        (cells, what `terms` are of): how often each occurs in a cell.
    through
        Derivatives of the contexts' slopes, then their intercepts, in the parameters.
    reach
        (contexts,): how fast scores change with ability.
    slopes
        (sums, parameters): where cells leave sums of scores out.
    """
    steepest = np.zeros(members.shape[0])
    cell = np.repeat(np.arange(len(steepest)), np.diff(members.indptr))
    np.maximum.at(steepest, cell, reach[terms[0][0]][members.indices])
    size = through.shape[1]
    without = sparse.csr_array((1, size)) if slopes is None else sparse.csr_array(slopes)
    rows = score_rows(members, [(through[row], table) for row, table in terms], size)
    return CellScores(*rows, without, steepest)


def slope_reach(response: Response, predictor: Predictor) -> Array:
    """(contexts,): how fast scores change with ability; infinite where no slope tells."""
    if not response.bounded_turns:
        return np.full(len(predictor.slope), np.inf)
    return np.asarray(np.maximum(response.reach(predictor), 1e-3))


def score_rows(
    members: sparse.csr_array, terms: list[tuple[sparse.csr_array, Array]], n_parameters: int
) -> tuple[Indices, Indices, Array]:
    """For every cell, a row for each parameter that one of its members depends on."""
    # Of graded scores most are 0: a score depends on the two thresholds around it.
    used = [np.asarray(scores.any(axis=1)) for _, scores in terms]
    parts = [_spread(members, term[0], own, n_parameters) for term, own in zip(terms, used, strict=True)]
    keys, place = np.unique(np.concatenate([key for key, _, _ in parts]), return_inverse=True)
    # One product for all terms: each by itself would fill the table again.
    member = np.concatenate([own + term * members.shape[1] for term, (_, own, _) in enumerate(parts)])
    value = np.concatenate([own for _, _, own in parts])
    shape = len(keys), len(terms) * members.shape[1]
    scores = np.concatenate([of_term for _, of_term in terms])
    table = np.asarray(sparse.csr_array((value, (place, member)), shape=shape) @ scores)
    cell, parameter = np.divmod(keys, n_parameters)
    return np.searchsorted(cell, np.arange(members.shape[0] + 1)), parameter, table


def _spread(
    members: sparse.csr_array, derivatives: sparse.csr_array, used: Mask, n_parameters: int
) -> tuple[Indices, Indices, Array]:
    """Every (cell, member, parameter): cell and parameter in one number, the member, and the derivative; members that
    are not `used` left out."""
    listed = members.tocoo()
    kept = used[listed.col]
    row, column, times = listed.row[kept], listed.col[kept], listed.data[kept]
    length = np.diff(derivatives.indptr)[column]
    place = np.repeat(derivatives.indptr[column] - np.cumsum(length) + length, length)
    place += np.arange(len(place))
    cell, member = (np.repeat(which.astype(np.int64), length) for which in (row, column))
    key = cell * n_parameters + derivatives.indices[place]
    return key, member, np.repeat(times, length) * derivatives.data[place]


def context_curvature(
    response: Response, predictor: Predictor, nodes: Nodes, counts: Array
) -> sparse.csr_array:
    """Expected second derivatives in the slopes, then the intercepts, of the contexts."""
    n, steps = predictor.intercepts.shape
    places = context_places(np.arange(n), n, steps)
    return summed_blocks(
        [(places, summed_curvature(response, predictor, nodes.points, counts))], n * (1 + steps)
    )


def summed_curvature(response: Response, predictor: Predictor, t: Array, counts: Array) -> Array:
    """(contexts, 1 + intercepts, 1 + intercepts): the same of each context."""
    slopes, mixed, intercepts = response.summed_curvature(predictor, t, counts)
    found = np.empty((len(slopes), 1 + mixed.shape[1], 1 + mixed.shape[1]))
    found[:, 0, 0], found[:, 1:, 1:] = slopes, intercepts
    found[:, 0, 1:] = found[:, 1:, 0] = mixed
    return found


def context_places(contexts: Indices, n: int, steps: int) -> Indices:
    """(contexts, 1 + intercepts): where the slope and the intercepts of each stand, among those of all n."""
    return np.concatenate([contexts[:, None], n + contexts[:, None] * steps + np.arange(steps)], axis=1)


def summed_blocks(blocks: Iterable[tuple[Indices, Array]], size: int) -> sparse.csr_array:
    """(size, size): the sum of blocks (n, m, m), which stand at the places (n, m)."""
    rows, columns, values = [], [], []
    for place, block in blocks:
        down, across = np.broadcast_arrays(place[:, :, None], place[:, None, :])
        rows.append(down.ravel())
        columns.append(across.ravel())
        values.append(block.ravel())
    at = np.concatenate(rows), np.concatenate(columns)
    return sparse.csr_array((np.concatenate(values), at), shape=(size, size))


def placed_at(block: Array, at: slice, size: int) -> sparse.csr_array:
    """(size, size): a block on the diagonal, zeros elsewhere."""
    return summed_blocks([(np.arange(at.start, at.stop)[None], block[None])], size)
