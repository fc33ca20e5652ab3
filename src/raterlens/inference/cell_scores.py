"""Each rating cell's part in a student's score, as a function of ability: covariances of scores sum them."""

import numpy as np
from scipy import sparse

from raterlens.base.memo import forget, latest_with
from raterlens.base.types import Array, Indices, Mask
from raterlens.engine.protocol import CellScores, Nodes
from raterlens.estimation.marginal import EssayMarginal, FacetsMarginal
from raterlens.models.responses import Linked, Predictor, Response, steepness
from raterlens.models.score_terms import cell_terms, context_terms

LARGEST = 2**26
"""Numbers in the table of scores of whole essays, up to which it is worth having: 512 MB."""
# Numbers up to which it is kept: 4 MB.
_SMALL = 2**19


def few_kinds(problem: FacetsMarginal, nodes: Nodes, largest: int = LARGEST) -> bool:
    """Whether the problem's own cells will do: all but essays of which there are too many kinds."""
    return (
        not isinstance(problem, EssayMarginal) or 3 * problem.kinds.members.nnz * len(nodes.points) <= largest
    )


def cell_scores(problem: FacetsMarginal, parameters: Array, nodes: Nodes) -> CellScores:
    """By the cells of the problem's engine; small ones are kept for whoever asks next at the same place."""
    place = parameters.tobytes(), nodes.points.tobytes()
    known = latest_with(problem, "cell scores", place, lambda: _cell_scores(problem, parameters, nodes))
    if known.table.size > _SMALL:
        forget(problem, "cell scores")
    return known


def _cell_scores(problem: FacetsMarginal, parameters: Array, nodes: Nodes) -> CellScores:
    jacobian = problem.jacobian(parameters)
    model, response, t = problem.model, problem.response, nodes.points
    predictor = model.predictor(parameters)
    if isinstance(problem, EssayMarginal):
        found, members = context_terms(problem.response, predictor, t), problem.kinds.members
        slopes = jacobian[problem.shown_by]
    else:
        found = cell_terms(response, predictor, t)
        members = sparse.eye_array(len(found.context), format="csr")
        slopes = sparse.csr_array((1, jacobian.shape[1]))
    steepest = np.zeros(members.shape[0])
    reach = slope_reach(response, predictor)[found.context]
    np.maximum.at(
        steepest, np.repeat(np.arange(len(steepest)), np.diff(members.indptr)), reach[members.indices]
    )
    terms = [(jacobian[found.context], found.along(t))]
    terms += [(jacobian[term.through], term.table) for term in found.terms]
    return CellScores(*score_rows(members, terms, jacobian.shape[1]), sparse.csr_array(slopes), steepest)


def slope_reach(response: Response, predictor: Predictor) -> Array:
    """(contexts,): how fast scores change with ability. Infinite for the cauchit, whose posteriors can have several
    peaks."""
    if isinstance(response, Linked) and response.link.name == "cauchit":
        return np.full(len(predictor.slope), np.inf)
    return np.asarray(np.maximum(np.abs(predictor.slope) * steepness(response), 1e-3))


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
