"""Observed information of the marginal likelihood, exact, by Louis's identity.

    I = sum_n E_n[-d2 log p(y_n | theta)] - Cov_n[d log p(y_n | theta)]

The expectation follows from the expected counts. The covariance of a student's score over the posterior needs
no matrix a node: expand the score in the polynomials that are orthonormal under the student's posterior; each
gives a rank-one term, and they fall off geometrically (Parseval).
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from raterlens.engine.compress import rating_cells
from raterlens.engine.seam import Nodes
from raterlens.estimation.extremes import PSEUDO_NODES
from raterlens.estimation.marginal import FacetsMarginal
from raterlens.models.responses import Predictor
from raterlens.ratings import Ratings

Array = NDArray[np.float64]

# Terms of the expansion; eight leave less than 1e-6 of the covariance on posteriors as wide as the prior.
_TERMS = 8
# Numbers gathered at a time.
_BLOCK = 2**21


def observed_information(
    problem: FacetsMarginal, ratings: Ratings, parameters: Array, nodes: Nodes
) -> Array:
    """(parameters, parameters): minus the second derivative of what was maximised."""
    predictor = problem.model.predictor(parameters)
    expected = problem.engine.evaluate(problem.tables(parameters, nodes), nodes)
    curvature = _pair_curvature(problem, predictor, nodes, problem.pair_counts(expected))
    curvature = curvature + _pair_curvature(problem, predictor, PSEUDO_NODES, problem.pseudo.spread())
    design = problem.model.design
    information = -(design.T @ curvature @ design).toarray()
    for scores in _posterior_scores(problem, ratings, parameters, nodes):
        information -= (scores.T @ scores).toarray()
    return np.asarray((information + information.T) / 2)


def _pair_curvature(
    problem: FacetsMarginal, predictor: Predictor, nodes: Nodes, counts: Array
) -> sparse.csr_array:
    """(2 pairs, 2 pairs): expected second derivatives in the slopes and intercepts of the pairs."""
    t, lever = nodes.points, problem.response.lever
    curvature = problem.response.curvature(predictor, t, counts)
    intercepts = curvature.sum(axis=1)[:, 0, 0]
    mixed = np.einsum("cqjk,k,q->cj", curvature, lever, t)[:, 0]
    slopes = np.einsum("cqjk,j,k,q->c", curvature, lever, lever, t**2)
    return sparse.block_array(
        [
            [sparse.diags_array(slopes), sparse.diags_array(mixed)],
            [sparse.diags_array(mixed), sparse.diags_array(intercepts)],
        ],
        format="csr",
    )


def _posterior_scores(
    problem: FacetsMarginal, ratings: Ratings, parameters: Array, nodes: Nodes
) -> Iterator[sparse.csr_array]:
    """Blocks of (students x terms, parameters): coefficients of the students' scores in their polynomials."""
    cells = rating_cells(ratings, problem.model.pairs, problem.response.n_categories)
    scores = problem.response.scores(problem.model.predictor(parameters), nodes.points)[0]
    table = scores.reshape(-1, len(nodes.points))
    pair_of_cell = np.repeat(np.arange(len(problem.model.pairs)), problem.response.n_categories)
    n_pairs = len(problem.model.pairs)
    for rows, posterior, _ in problem.engine.posteriors(problem.tables(parameters, nodes), nodes):
        weights = _weighted_polynomials(posterior, nodes.points)
        both = np.concatenate([weights * nodes.points, weights], axis=1).transpose(0, 2, 1)
        block = cells[rows]
        length = np.diff(block.indptr)
        for size in np.unique(length):
            alike = np.flatnonzero(length == size)
            step = max(1, _BLOCK // (int(size) * len(nodes.points)))
            for first in range(0, len(alike), step):
                students = alike[first : first + step]
                place = block.indptr[students][:, None] + np.arange(size)
                cell = block.indices[place]
                projected = (table[cell] * block.data[place][..., None]) @ both[students]
                yield _to_parameters(projected, pair_of_cell[cell], n_pairs) @ problem.model.design


def _to_parameters(projected: Array, pair: NDArray[np.int64], n_pairs: int) -> sparse.csr_array:
    """(students, ratings, 2 terms) -> (students x terms, 2 pairs)."""
    students, size, _ = projected.shape
    values = projected.reshape(students, size, 2, _TERMS).transpose(0, 3, 2, 1)
    columns = np.concatenate([pair, pair + n_pairs], axis=1)
    columns = np.broadcast_to(columns[:, None], (students, _TERMS, 2 * size))
    rows = np.arange(0, students * _TERMS * 2 * size + 1, 2 * size)
    return sparse.csr_array((values.ravel(), columns.ravel(), rows), shape=(students * _TERMS, 2 * n_pairs))


def _weighted_polynomials(posterior: Array, t: Array) -> Array:
    """(students, terms, nodes): posterior times its orthonormal polynomials of degree 1 .. terms."""
    root = np.sqrt(posterior)
    previous, current = np.zeros_like(root), root
    out = np.empty((len(root), _TERMS, len(t)))
    for k in range(_TERMS):
        # Three-term recurrence; re-orthogonalised on the two before, which is all that it can lose.
        following = t * current
        for basis in (current, previous, current, previous):
            following = following - np.sum(following * basis, axis=1, keepdims=True) * basis
        norm = np.linalg.norm(following, axis=1, keepdims=True)
        # A posterior on fewer nodes than terms runs out of polynomials; nothing is left to expand then.
        following = np.where(norm > 1e-9, following / np.maximum(norm, 1e-9), 0.0)
        out[:, k] = root * following
        previous, current = current, following
    return out
