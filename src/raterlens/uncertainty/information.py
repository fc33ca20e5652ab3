"""Observed information of the marginal likelihood, exact, by Louis's identity.

    I = sum_n E_n[-d2 log p(y_n | theta)] - Cov_n[d log p(y_n | theta)]

The expectation follows from the expected counts. The covariance of a student's score over the posterior needs
no matrix a node: expand the score in the polynomials that are orthonormal under the student's posterior; each
gives a rank-one term, and they fall off geometrically (Parseval). Where too many would be needed, the nodes
themselves are the basis.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from raterlens.engine.cells import CellsByStudent
from raterlens.engine.numpy_engine import ReferenceEngine
from raterlens.engine.protocol import Matrix, Nodes
from raterlens.estimation.extremes import PSEUDO_NODES
from raterlens.estimation.marginal import FacetsMarginal
from raterlens.models.responses import Predictor, Response, counted_scores
from raterlens.ratings.coded import Ratings
from raterlens.types import Array
from raterlens.uncertainty.cell_scores import DENSE, STEP, by_engine, cell_scores, slope_reach

# Share of the covariance that the expansion may leave out.
_ACCURACY = 1e-9
# Sizes of the expansion: the smallest that is accurate enough is taken.
_TERMS = (5, 8, 12, 18, 26)
# Numbers gathered at a time. Single precision: their projections are summed, and 1e-7 is more than is asked.
_BLOCK, _GATHERED = 2**23, np.float32
# Weights below this are set to zero: processors are slow at the subnormal numbers that they would become.
_NEGLIGIBLE = 1e-20


def observed_information(
    problem: FacetsMarginal, ratings: Ratings, parameters: Array, nodes: Nodes
) -> Matrix:
    """(parameters, parameters): minus the second derivative of what was maximised.

    Sparse where the design is (two raters are coupled by the students they share), unless it was added up in full.
    """
    model = problem.model
    predictor = model.predictor(parameters)
    found = problem.derivatives(parameters, nodes)
    pseudo = problem.pseudo.spread()
    curvature = context_curvature(problem.response, predictor, nodes, found.counts)
    curvature = curvature + context_curvature(problem.response, predictor, PSEUDO_NODES, pseudo)
    jacobian = model.jacobian(parameters)
    at_nodes = counted_scores(problem.response, predictor, PSEUDO_NODES.points, pseudo)
    d_slope = found.d_slope + at_nodes @ problem.response.lever @ PSEUDO_NODES.points
    second = jacobian.T @ curvature @ jacobian
    second = second + model.second(parameters, d_slope, found.d_intercepts + at_nodes.sum(axis=1))
    information = -second
    if problem.engine.compiled and by_engine(problem, nodes):
        information = information - problem.engine.total(
            partial(_covariance, problem.apart(), parameters, nodes)
        )
    elif problem.engine.compiled and model.blocks.size <= DENSE:
        information = information - _covariance(problem, parameters, nodes, problem.engine, ratings)
    else:
        for scores in _posterior_scores(problem, ratings, parameters, nodes):
            through = scores @ jacobian
            information = information - through.T @ through
    if isinstance(information, np.ndarray):
        return information
    return sparse.csr_array((information + information.T) / 2)


def _covariance(
    problem: FacetsMarginal,
    parameters: Array,
    nodes: Nodes,
    engine: ReferenceEngine,
    ratings: Ratings | None = None,
) -> Matrix:
    """Covariances of the scores of an engine's students, by compiled code."""
    from raterlens.kernels.score_covariance import score_covariance

    if ratings is None:
        engine = engine.arranged()
    scores = cell_scores(problem, engine, parameters, nodes, ratings)
    posteriors = engine.posteriors(problem.tables(parameters, nodes), nodes)
    return score_covariance(scores, posteriors, nodes, engine.weight if ratings is None else None)


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


def _posterior_scores(
    problem: FacetsMarginal, ratings: Ratings, parameters: Array, nodes: Nodes
) -> Iterator[sparse.csr_array]:
    """Blocks of (students x terms, slopes and intercepts): the students' scores in a basis of their posterior."""
    response, contexts = problem.response, problem.model.contexts
    k, steps = response.n_categories, len(response.lever)
    cells = CellsByStudent(ratings, contexts, k)
    predictor = problem.model.predictor(parameters)
    tables = response.scores(predictor, nodes.points)
    tables = tables.reshape(steps, -1, len(nodes.points)).astype(_GATHERED)
    width, reach = len(contexts) * (1 + steps), slope_reach(response, predictor)
    for rows, posterior, _ in problem.engine.posteriors(problem.tables(parameters, nodes), nodes):
        block = cells[rows]
        steepest = np.maximum.reduceat(reach[block.indices // k], block.indptr[:-1])
        for basis in _bases(posterior, nodes, steepest):
            thin = np.ascontiguousarray(tables[:, :, :: basis.stride])
            terms = basis.weights.shape[1]
            both = np.concatenate([basis.weights * basis.points, basis.weights], axis=1, dtype=_GATHERED)
            for alike, place in _alike(block, basis.students, len(basis.points)):
                context = block.indices[place] // k
                columns: list[NDArray[np.int64]] = []
                values: list[Array] = []
                slope = np.zeros((*place.shape, terms), dtype=_GATHERED)
                for j in range(steps):
                    projected = thin[j][block.indices[place]] @ both[alike].transpose(0, 2, 1)
                    projected *= block.data[place][..., None]
                    slope += response.lever[j] * projected[..., :terms]
                    columns.append(len(contexts) + context * steps + j)
                    values.append(projected[..., terms:])
                yield _rows_of_terms([slope, *values], [context, *columns], width)


@dataclass(frozen=True, slots=True)
class _Basis:
    """An orthonormal basis, constants left out, for the posteriors of some students on every few nodes."""

    students: NDArray[np.int64]
    stride: int
    points: Array
    weights: Array
    """(students, terms, nodes): basis functions times the posterior."""


def _bases(posterior: Array, nodes: Nodes, steepest: Array) -> Iterator[_Basis]:
    """Group students: wide posteriors need fewer nodes, narrow ones and flat slopes fewer terms."""
    mean = posterior @ nodes.points
    sd = np.sqrt(np.sum(posterior * (nodes.points - mean[:, None]) ** 2, axis=1))
    reach = np.minimum(STEP * sd, 1 / steepest) / nodes.step
    strides = (2 ** np.floor(np.log2(np.maximum(reach, 1.0)))).astype(int)
    # Terms fall off like (s a / pi)^2, as far as a posterior of width s reaches towards the logistic curve's
    # poles at +- i pi / a.
    ratio = np.clip(sd * steepest / np.pi, 0.01, 0.99)
    terms = np.searchsorted(_TERMS, np.log(_ACCURACY) / (2 * np.log(ratio)))
    for stride, which in np.unique(np.stack([strides, terms], axis=1), axis=0):
        students = np.flatnonzero((strides == stride) & (terms == which))
        thinned = posterior[students, ::stride]
        thinned = thinned / thinned.sum(axis=1, keepdims=True)
        points = nodes.points[::stride]
        few = which < len(_TERMS) and 2 * _TERMS[which] <= len(points)
        weights = _weighted_polynomials(thinned, points, _TERMS[which]) if few else _weighted_nodes(thinned)
        weights[np.abs(weights) < _NEGLIGIBLE] = 0.0
        yield _Basis(students, int(stride), points, weights)


def _alike(
    block: sparse.csr_array, students: NDArray[np.int64], n_nodes: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Batches of these students with the same number of cells: their places among them, and of their cells."""
    length = np.diff(block.indptr)[students]
    for size in np.unique(length):
        alike = np.flatnonzero(length == size)
        step = max(1, _BLOCK // (int(size) * n_nodes))
        for first in range(0, len(alike), step):
            batch = alike[first : first + step]
            yield batch, block.indptr[students[batch]][:, None] + np.arange(size)


def _rows_of_terms(values: list[Array], columns: list[NDArray[np.int64]], width: int) -> sparse.csr_array:
    """Values (students, cells, terms) and columns (students, cells) -> (students x terms, width)."""
    value = np.concatenate(values, axis=1).transpose(0, 2, 1)
    students, terms, entries = value.shape
    column = np.broadcast_to(np.concatenate(columns, axis=1)[:, None], value.shape)
    first = np.arange(0, value.size + 1, entries)
    return sparse.csr_array(
        (value.ravel().astype(float), column.ravel(), first), shape=(students * terms, width)
    )


def _weighted_polynomials(posterior: Array, t: Array, terms: int) -> Array:
    """(students, terms, nodes): posterior times its orthonormal polynomials of degree 1 .. terms."""
    root = np.sqrt(posterior)
    basis = np.empty((len(root), terms + 1, len(t)))
    basis[:, 0] = root
    for k in range(terms):
        following = t * basis[:, k]
        # In exact arithmetic only the last two matter (three-term recurrence); rounding spoils all.
        for _ in range(2):
            overlap = np.matmul(basis[:, : k + 1], following[..., None])
            following -= np.matmul(overlap.transpose(0, 2, 1), basis[:, : k + 1])[:, 0]
        norm = np.sqrt(np.einsum("nq,nq->n", following, following))[:, None]
        # A posterior on fewer nodes than terms runs out of polynomials; nothing is left to expand then.
        basis[:, k + 1] = np.where(norm > 1e-9, following / np.maximum(norm, 1e-9), 0.0)
    return root[:, None] * basis[:, 1:]


def _weighted_nodes(posterior: Array) -> Array:
    """(students, nodes, nodes): each node's deviation from the posterior mean, as a basis that leaves nothing out."""
    root = np.sqrt(posterior)
    return root[:, :, None] * (np.eye(posterior.shape[1]) - posterior[:, None, :])
