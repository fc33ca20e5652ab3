"""Derivatives of the log-probabilities of ratings, as functions of ability: each cell's part in a student's score, and
second derivatives in the contexts."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.likelihood.engines.contract import CellScores
from raterlens.likelihood.nodes import Nodes
from raterlens.models.responses import Adjacent, Predictor, Response


class Term(NamedTuple):
    """The derivative of each cell's log-probability in one of its context's intercepts."""

    through: Indices
    """(cells,): that intercept, as a row of the model's Jacobian: slopes of contexts come first, then intercepts."""
    lever: Array
    """(cells,): how much ability, times the slope, adds to it."""
    table: Array
    """(cells, nodes); a row of zeros counts for nothing."""


class ScoreTerms(NamedTuple):
    """All of a cell's derivatives."""

    context: Indices
    """(cells,): which is the row of its slope, too."""
    terms: list[Term]

    def along(self, t: Array) -> Array:
        """(cells, nodes): the derivative in the slope, which moves every intercept by t."""
        moved = sum(term.lever[:, None] * term.table for term in self.terms)
        return np.asarray(moved * t, np.float64)


def cell_terms(response: Response, predictor: Predictor, t: Array) -> ScoreTerms:
    """Derivatives of every context with every score."""
    contexts, scores, lever = len(predictor.slope), response.n_categories, response.lever
    context = np.repeat(np.arange(contexts), scores)
    own = contexts + context * len(lever)
    return ScoreTerms(
        context,
        [
            Term(own + np.tile(step, contexts), np.tile(lever[step], contexts), table.reshape(-1, len(t)))
            for step, table in response.score_tables(predictor, t)
        ],
    )


def context_terms(response: Adjacent, predictor: Predictor, t: Array) -> ScoreTerms:
    """Derivatives of every context alone: its scores differ by no more than constants."""
    tables = -response.probabilities(predictor, t).transpose(1, 0, 2)
    context = np.arange(len(predictor.slope))
    own = len(context) + context * len(tables)
    return ScoreTerms(
        context,
        [
            Term(own + step, np.full(len(context), response.lever[step]), table)
            for step, table in enumerate(tables)
        ],
    )


def cell_scores(
    members: sparse.csr_array,
    found: ScoreTerms,
    through: sparse.csr_array,
    t: Array,
    reach: Array,
    slopes: sparse.csr_array | None = None,
) -> CellScores:
    """Scores of cells that are sets of contexts, or of contexts with scores.

    Parameters
    ----------
    members
        (cells, what `found` is of): how often each occurs in a cell.
    through
        Derivatives of the contexts' slopes, then their intercepts, in the parameters.
    reach
        (contexts,): how fast scores change with ability.
    slopes
        (sums, parameters): where cells leave sums of scores out.
    """
    steepest = np.zeros(members.shape[0])
    cell = np.repeat(np.arange(len(steepest)), np.diff(members.indptr))
    np.maximum.at(steepest, cell, reach[found.context][members.indices])
    terms = [(through[found.context], found.along(t))]
    terms += [(through[term.through], term.table) for term in found.terms]
    size = through.shape[1]
    without = sparse.csr_array((1, size)) if slopes is None else sparse.csr_array(slopes)
    return CellScores(*score_rows(members, terms, size), without, steepest)


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
