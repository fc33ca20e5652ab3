"""Each rating cell's part in a student's score, as a function of ability: what covariances of scores are summed from.

The score is d log p(ratings | ability) by the parameters. Constants do not matter: covariances are wanted.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from raterlens.engine.cells import CellsByStudent
from raterlens.engine.numpy_engine import ReferenceEngine
from raterlens.engine.protocol import Nodes
from raterlens.estimation.marginal import EssayMarginal, FacetsMarginal
from raterlens.models.responses import Linked, Predictor, Response
from raterlens.ratings.coded import Ratings
from raterlens.types import Array, Indices

# Numbers in the table of scores of whole essays, up to which it is worth having: 512 MB.
_LARGEST = 2**26

# Nodes this far apart, in posterior standard deviations and no more than 1 / slope, lose less than 1e-8.
STEP = 0.8
# Parameters up to which covariances are added up in a full matrix: 200 MB.
DENSE = 5_000


@dataclass(frozen=True, slots=True)
class CellScores:
    """A student's score is the sum of its cells' rows, as often as they occur, plus ability times its sums."""

    cells: sparse.csr_array | CellsByStudent
    """(students, cells)"""
    first: Indices
    """(cells + 1,): where the rows of each cell begin."""
    parameter: Indices
    """(rows,): which parameter the row is the derivative by."""
    table: Array
    """(rows, nodes)"""
    sums: sparse.csr_array
    """(students, sums)"""
    slopes: sparse.csr_array
    """(sums, parameters): derivatives of the coefficient of ability."""
    steepest: Array
    """(cells,): the steepest slope of a member, infinite where it does not tell how fast scores change."""

    @property
    def n_parameters(self) -> int:
        return int(self.slopes.shape[1])

    def coupled(self) -> sparse.csr_array:
        """(parameters, parameters): nonzero above the diagonal where a student's ratings depend on both."""
        assert isinstance(self.cells, sparse.csr_array)
        ones = np.ones(len(self.parameter), dtype=np.float32)
        rows = sparse.csr_array(
            (ones, self.parameter, self.first), shape=(self.cells.shape[1], self.n_parameters)
        )
        touched = self.cells.astype(np.float32) @ rows
        upper = sparse.csr_array(sparse.triu(touched.T @ touched, format="csr"))
        upper.sort_indices()
        return upper


def by_engine(problem: FacetsMarginal, nodes: Nodes) -> bool:
    """Whether the cells of the problem's engine will do: all but essays of which there are too many kinds."""
    return (
        not isinstance(problem, EssayMarginal) or 3 * problem.sets.members.nnz * len(nodes.points) <= _LARGEST
    )


def cell_scores(
    problem: FacetsMarginal,
    engine: ReferenceEngine,
    parameters: Array,
    nodes: Nodes,
    ratings: Ratings | None = None,
) -> CellScores:
    """By the cells of the engine, or by single ratings where these are given."""
    model, response, t = problem.model, problem.response, nodes.points
    n, steps, jacobian = len(model.contexts), len(response.lever), model.jacobian(parameters)
    predictor = model.predictor(parameters)
    cells: sparse.csr_array | CellsByStudent
    if isinstance(problem, EssayMarginal) and ratings is None:
        assert engine.sums is not None
        cells, sums, members = engine.counts, engine.sums, problem.sets.members
        context = np.arange(n)
        scores = -problem.response.probabilities(predictor, t).transpose(1, 0, 2)
        slopes = jacobian[problem.shown_by]
    else:
        k = response.n_categories
        cells = engine.counts if ratings is None else CellsByStudent(ratings, model.contexts, k)
        members = sparse.eye_array(n * k, format="csr")
        sums, slopes = sparse.csr_array((engine.n_students, 1)), sparse.csr_array((1, jacobian.shape[1]))
        context = np.arange(n * k) // k
        scores = response.scores(predictor, t).reshape(steps, n * k, len(t))
    terms = [(jacobian[context], np.tensordot(response.lever, scores, 1) * t)]
    terms += [(jacobian[n + context * steps + j], scores[j]) for j in range(steps)]
    steepest = np.zeros(members.shape[0])
    reach = slope_reach(response, predictor)[context]
    np.maximum.at(
        steepest, np.repeat(np.arange(len(steepest)), np.diff(members.indptr)), reach[members.indices]
    )
    return CellScores(
        cells, *_rows(members, terms, jacobian.shape[1]), sums, sparse.csr_array(slopes), steepest
    )


def slope_reach(response: Response, predictor: Predictor) -> Array:
    """(contexts,): how fast scores change with ability. Infinite for the cauchit, whose posteriors can have several
    peaks."""
    if isinstance(response, Linked) and response.link.name == "cauchit":
        return np.full(len(predictor.slope), np.inf)
    return np.asarray(np.maximum(np.abs(predictor.slope) * len(response.lever), 1e-3))


def _rows(
    members: sparse.csr_array, terms: list[tuple[sparse.csr_array, Array]], n_parameters: int
) -> tuple[Indices, Indices, Array]:
    """For every cell, a row for each parameter that one of its members depends on."""
    parts = [_spread(members, derivatives, n_parameters) for derivatives, _ in terms]
    keys, place = np.unique(np.concatenate([key for key, _, _ in parts]), return_inverse=True)
    table = np.zeros((len(keys), terms[0][1].shape[1]))
    last = 0
    for (key, member, value), (_, scores) in zip(parts, terms, strict=True):
        at = place[last : last + len(key)]
        last += len(key)
        table += sparse.csr_array((value, (at, member)), shape=(len(keys), members.shape[1])) @ scores
    cell, parameter = np.divmod(keys, n_parameters)
    return np.searchsorted(cell, np.arange(members.shape[0] + 1)), parameter, table


def _spread(
    members: sparse.csr_array, derivatives: sparse.csr_array, n_parameters: int
) -> tuple[Indices, Indices, Array]:
    """Every (cell, member, parameter): cell and parameter in one number, the member, and the derivative."""
    listed = members.tocoo()
    length = np.diff(derivatives.indptr)[listed.col]
    place = np.repeat(derivatives.indptr[listed.col] - np.cumsum(length) + length, length)
    place += np.arange(len(place))
    cell, member = (np.repeat(which.astype(np.int64), length) for which in (listed.row, listed.col))
    key = cell * n_parameters + derivatives.indices[place]
    return key, member, np.repeat(listed.data, length) * derivatives.data[place]
