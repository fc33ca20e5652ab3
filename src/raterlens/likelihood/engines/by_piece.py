"""Students with several pieces of work: what a piece is worth differs from what its student can do in general.

    psi = theta + omega v,    v ~ N(0, 1), one for each piece

A piece's ratings multiply before v is integrated. With M_pk the log-probability of piece p at psi_k,

    G_pq = log sum_k K_qk exp(M_pk),     loglik = sum_n log sum_q exp(w_q + sum_p G_pq)

where K_qk is the probability of psi_k at theta_q: on the nodes of ability themselves, a normal density whose rows sum
to 1; or, where omega is small beside any step, Gauss-Hermite points around each node.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import sparse

from raterlens.base.arrays import Array, Indices
from raterlens.likelihood.engines.contract import (
    CellScores,
    Expected,
    Matrix,
    Moments,
    Summed,
    Tables,
    Weighting,
)
from raterlens.likelihood.engines.numpy import rows_of_students
from raterlens.likelihood.nodes import Nodes
from raterlens.ratings.coded import Codes

STEP = 0.75
"""Nodes are at most this many omegas apart: the kernel is then off by 2e-12."""
SMALL = 0.15
"""An omega below it is integrated by Gauss-Hermite points."""
_HERMITE, _HERMITE_WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
_LEAST_VARIANCE = 1e-8
MOST_IN_MATRIX = 1_000
"""Nodes by nodes."""
# What rounding leaves of a convolution, relative to its largest value.
_ROUNDING = 1e-15
# Numbers in one block of pieces by points.
_BLOCK = 2**19


class Weights(Protocol):
    """Weight of each point at each node."""

    @property
    def totals(self) -> Array:
        """(nodes,) or a number: sums over points."""

    def over_points(self, given: Array) -> Array:
        """(pieces, points) -> (pieces, nodes)"""

    def over_nodes(self, at_nodes: Array) -> Array:
        """(pieces, nodes) -> (pieces, points)"""


class ByDistance:
    """Between equally spaced nodes, which are the points, too: a symmetric matrix whose entries depend on how far
    apart."""

    def __init__(self, values: Array) -> None:
        """`values` of 0, 1, 2, ... steps."""
        up_to = np.cumsum(values)
        self.totals: Array = up_to + up_to[::-1] - values[0]
        self._prepare(values)

    def _prepare(self, values: Array) -> None:
        both_ways = np.concatenate([values[:0:-1], values])
        self._matrix = np.ascontiguousarray(sliding_window_view(both_ways, len(values))[::-1])

    def over_points(self, given: Array) -> Array:
        return np.asarray(given @ self._matrix)

    def over_nodes(self, at_nodes: Array) -> Array:
        return self.over_points(at_nodes)


class Convolution(ByDistance):
    """The same of this many nodes that a matrix would fill memory."""

    def _prepare(self, values: Array) -> None:
        # Around a circle so long that no end meets the other.
        self._length = 1 << (2 * len(values) - 1).bit_length()
        gap = np.zeros(self._length - 2 * len(values) + 1)
        self._spectrum = np.fft.rfft(np.concatenate([values, gap, values[:0:-1]])).real

    def over_points(self, given: Array) -> Array:
        around = np.fft.irfft(np.fft.rfft(given, self._length) * self._spectrum, self._length)
        found = around[:, : given.shape[1]]
        return np.asarray(np.maximum(found, _ROUNDING * found.max(axis=1, keepdims=True)))


@dataclass(frozen=True, slots=True, eq=False)
class Around:
    """Weights of points around each node, the same for all."""

    values: Array
    """(points per node,)"""

    @property
    def totals(self) -> Array:
        return np.asarray(self.values.sum())

    def over_points(self, given: Array) -> Array:
        return np.asarray(given.reshape(len(given), -1, len(self.values)) @ self.values)

    def over_nodes(self, at_nodes: Array) -> Array:
        return np.asarray((at_nodes[..., None] * self.values).reshape(len(at_nodes), -1))


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """Distribution of a piece's quality, given the ability of its student."""

    points: Array
    """(points,): of psi."""
    variance: float
    """omega^2"""
    weights: Weights
    by_variance: Weights
    """Derivatives of the weights in omega^2: the weights times D, the derivative of their logarithms."""
    by_square: Weights
    """The weights times D^2."""

    def averaged(self, given: Array) -> Array:
        """(pieces, points) -> (pieces, nodes)"""
        return np.asarray(self.weights.over_points(given) / self.weights.totals)

    def back(self, at_nodes: Array) -> Array:
        """(pieces, nodes) -> (pieces, points): what each point has to do with the nodes."""
        return self.weights.over_nodes(at_nodes / self.weights.totals)

    def rise(self, at_nodes: Array, given: Array, averaged: Array) -> float:
        """Derivative of the log-likelihood in omega^2, of the pieces whose posteriors over nodes are `at_nodes` times
        what is averaged of `given`."""
        more = self.by_variance.over_points(given) - self.by_variance.totals * averaged
        return float(np.sum(at_nodes * more / self.weights.totals))

    def off(self, given: Array, averaged: Array) -> Array:
        """(rows, nodes): D, but for its mean over all points, averaged over what each row gives the points."""
        return np.asarray(self.by_variance.over_points(given) / self.weights.totals / averaged)

    @property
    def usual(self) -> tuple[Array, Array]:
        """(nodes,): mean and variance of D over the points alone."""
        mean = self.by_variance.totals / self.weights.totals
        return mean, self.by_square.totals / self.weights.totals - mean**2


def points_of(nodes: Nodes, variance: float) -> Array:
    """Where a piece's ratings have to be known: at the nodes, or at Gauss-Hermite points around each."""
    omega = np.sqrt(max(variance, _LEAST_VARIANCE))
    return nodes.points if omega >= SMALL else np.add.outer(nodes.points, omega * _HERMITE).ravel()


def kernel(nodes: Nodes, variance: float) -> Kernel:
    """For the pieces of students at these nodes."""
    points, variance = points_of(nodes, variance), max(variance, _LEAST_VARIANCE)
    if len(points) > len(nodes.points):
        rise = (_HERMITE**2 - 1) / (2 * variance)
        return Kernel(points, variance, *(Around(_HERMITE_WEIGHTS * rise**power) for power in (0, 1, 2)))
    z = (points - points[0]) ** 2 / variance
    density = np.exp(-0.5 * z)
    weights = ByDistance if len(points) <= MOST_IN_MATRIX else Convolution
    rise = z / (2 * variance)
    return Kernel(points, variance, *(weights(density * rise**power) for power in (0, 1, 2)))


def fine_enough(nodes: Nodes, variance: float) -> Nodes:
    """The nodes, or closer ones that reach further, as pieces differ more than students do."""
    omega, stretch = np.sqrt(variance), np.sqrt(1 + variance)
    step = min(nodes.step, STEP * omega) if omega >= SMALL else nodes.step
    return Nodes.equally_spaced(stretch * nodes.low, stretch * nodes.high, step)


class PieceEngine:
    """Evaluates tables over pieces' counts, and pieces over students."""

    def __init__(self, counts: sparse.csr_array, sums: sparse.csr_array | None, student: Codes) -> None:
        """`student` of every piece, in ascending order; each has at least one."""
        self._counts, self._sums, self._student = counts, sums, student
        self._first = np.flatnonzero(np.diff(student, prepend=-1))

    @property
    def n_students(self) -> int:
        return len(self._first)

    def evaluate(self, tables: Tables, nodes: Nodes) -> Expected:
        loglik, d_variance, counts = 0.0, 0.0, np.zeros_like(tables.cells)
        known = kernel(nodes, tables.piece_variance)
        mean = np.empty(len(self._student))
        for block in self._blocks(tables, nodes, known):
            loglik += float(block.loglik.sum())
            share = block.share(known)
            counts += _rows(self._counts, block.pieces).T @ share
            mean[block.pieces] = share @ known.points
            d_variance += known.rise(block.over, block.given, block.averaged)
        linear = None if self._sums is None else self._sums.T @ mean
        return Expected(loglik, counts, linear, d_variance)

    def moments(self, tables: Tables, nodes: Nodes, *, pieces: bool = False) -> Moments:
        known = kernel(nodes, tables.piece_variance)
        blocks = self._blocks(tables, nodes, known)
        if pieces:
            return Moments.joined(Moments.by(block.share(known), known.points) for block in blocks)
        return Moments.joined(Moments.by(block.posterior, nodes.points) for block in blocks)

    def posteriors(self, tables: Tables, nodes: Nodes) -> Iterator[tuple[slice, Array, Array]]:
        known = kernel(nodes, tables.piece_variance)
        for block in self._blocks(tables, nodes, known):
            yield block.students, block.posterior, block.loglik

    def covariance(self, tables: Tables, nodes: Nodes, scores: CellScores) -> Matrix:
        """Covariance that abilities and the worth of pieces leave open: given ability, the covariance of a
        piece's score over what it is worth; and over abilities, that of the sum of its pieces' expected scores. The
        variance of pieces has the score D, and its own second derivative comes along."""
        total = np.zeros((scores.n_parameters,) * 2)
        self.add_covariances(tables, nodes, scores, [total])
        return total

    def add_covariances(self, tables: Tables, nodes: Nodes, scores: CellScores, totals: list[Array]) -> None:
        """The same, to the first of the totals."""
        for block, column, within in self._within(tables, nodes, scores):
            _add_blocks(totals[0], within.covariances(column, scores.piece))
            _add_blocks(totals[0], within.over_abilities(self._student[block.pieces], column, scores.piece))

    def scores(self, tables: Tables, nodes: Nodes, scores: CellScores, weights: Weighting) -> Summed:
        shape, found, totals = (self.n_students, scores.n_parameters), [], []
        for block, column, within in self._within(tables, nodes, scores):
            whose, weight = self._student[block.pieces], weights(block.posterior)
            totals.append(weight.sum(axis=1))
            of_pieces = weight[whose - whose[0]]
            at, values = within.summed(of_pieces)
            found.append((whose[at], column, values))
            found.append((whose, np.full(len(whose), scores.piece), within.summed_spread(of_pieces)))
        row, column, value = (np.concatenate(each) for each in zip(*found, strict=True))
        summed = sparse.csr_array(sparse.coo_array((value, (row, column)), shape=shape))
        return Summed(summed, np.concatenate(totals))

    def _within(
        self, tables: Tables, nodes: Nodes, scores: CellScores
    ) -> "Iterator[tuple[_Block, Indices, _Within]]":
        """Blocks, with the scores of their pieces and the parameters that these are by."""
        known, size = kernel(nodes, tables.piece_variance), scores.n_parameters
        at_points = Nodes(known.points, np.zeros_like(known.points))
        cells, table, parameter = rows_of_students(self._counts, self._sums, at_points, scores)
        for block in self._blocks(tables, nodes, known):
            own = _rows(cells, block.pieces).tocoo()
            keys, place = np.unique(own.row.astype(np.int64) * size + parameter[own.col], return_inverse=True)
            of_piece, column = np.divmod(keys, size)
            spread = sparse.csr_array((own.data, (place, own.col)), shape=(len(keys), cells.shape[1]))
            yield block, column, _Within(block, known, of_piece, np.asarray(spread @ table))

    def _blocks(self, tables: Tables, nodes: Nodes, known: Kernel) -> "Iterator[_Block]":
        edges = np.append(self._first, len(self._student))
        size = max(1, _BLOCK // len(known.points))
        start = 0
        while start < self.n_students:
            stop = max(start + 1, int(np.searchsorted(edges, edges[start] + size, "right")) - 1)
            pieces = slice(int(edges[start]), int(edges[stop]))
            given = _rows(self._counts, pieces) @ tables.cells
            if self._sums is not None:
                given += np.multiply.outer(_rows(self._sums, pieces) @ tables.linear, known.points)
            top = given.max(axis=1)
            given -= top[:, None]
            np.exp(given, out=given)
            averaged = np.maximum(known.averaged(given), np.finfo(float).tiny)
            logs = np.log(averaged)
            logs += top[:, None]
            joint = np.add.reduceat(logs, edges[start:stop] - edges[start], axis=0)
            joint += nodes.log_weights
            highest = joint.max(axis=1)
            joint -= highest[:, None]
            np.exp(joint, out=joint)
            total = joint.sum(axis=1)
            joint /= total[:, None]
            whose = np.repeat(np.arange(stop - start), np.diff(edges[start : stop + 1]))
            over = joint[whose] / averaged
            yield _Block(slice(start, stop), pieces, joint, highest + np.log(total), given, averaged, over)
            start = stop


class _Within:
    """Scores of the pieces of a block, given the abilities of their students."""

    def __init__(self, block: "_Block", known: Kernel, of_piece: Indices, score: Array) -> None:
        """`score`: (rows, points), each of a piece and one parameter, piece after piece."""
        # A convolution wants numbers above 0.
        self._least = score.min(axis=1, keepdims=True)
        score = score - self._least
        self._block, self._known, self._of_piece, self._score = block, known, of_piece, score
        mean, self._variance = known.usual
        given, averaged = block.given, block.averaged
        off = known.off(given, averaged)
        self._d = off - mean
        """(pieces, nodes): expected D, the derivative of the kernel's logarithm by the variance."""
        squares = known.by_square.over_points(given) / known.weights.totals / averaged
        self._d_square = squares - 2 * mean * off + mean**2
        weighed = given[of_piece] * score
        self._mean = known.averaged(weighed) / averaged[of_piece]
        """(rows, nodes): expected scores."""
        self._with_d = known.off(weighed, averaged[of_piece]) - mean * self._mean
        self._posterior = block.over * averaged
        """(pieces, nodes): of the piece's student."""

    def summed(self, weight: Array) -> tuple[Indices, Array]:
        """(rows,): the piece of each, and its expected scores, summed over nodes with weights (pieces, nodes)."""
        return self._of_piece, np.asarray(
            np.einsum("rq,rq->r", weight[self._of_piece], self._mean + self._least)
        )

    def summed_spread(self, weight: Array) -> Array:
        """(pieces,): the same of D."""
        return np.asarray(np.einsum("pq,pq->p", weight, self._d))

    def covariances(self, column: Indices, piece: int) -> "Iterator[tuple[Indices, Array]]":
        """Covariances of the scores of each piece, with the variance's own: parameters (pieces, rows), (pieces, rows,
        rows)."""
        share = self._block.share(self._known)
        posterior, d = self._posterior, self._d
        corner = np.sum(
            posterior * (self._d_square - d**2 - 2 * d / self._known.variance - self._variance), axis=1
        )
        for some, rows in _alike(self._of_piece, len(posterior)):
            score, mean = self._score[rows], self._mean[rows]
            found = np.zeros((len(some), rows.shape[1] + 1, rows.shape[1] + 1))
            found[:, :-1, :-1] = (score * share[some][:, None]) @ score.transpose(0, 2, 1)
            weighed = mean * posterior[some][:, None]
            found[:, :-1, :-1] -= weighed @ mean.transpose(0, 2, 1)
            beside = np.einsum("nq,nrq->nr", posterior[some], self._with_d[rows])
            beside -= np.einsum("nrq,nq->nr", weighed, d[some])
            found[:, -1, :-1] = found[:, :-1, -1] = beside
            found[:, -1, -1] = corner[some]
            yield np.concatenate([column[rows], np.full((len(some), 1), piece)], axis=1), found

    def over_abilities(
        self, student: Codes, column: Indices, piece: int
    ) -> "Iterator[tuple[Indices, Array]]":
        """The same of each student, over abilities, of the expected scores of all pieces."""
        whose = student - student[0]
        size = int(column.max(initial=piece)) + 1
        row_student = np.concatenate([whose[self._of_piece], whose])
        row_column = np.concatenate([column, np.full(len(whose), piece)])
        keys, place = np.unique(row_student.astype(np.int64) * size + row_column, return_inverse=True)
        summed = sparse.csr_array((np.ones(len(place)), (place, np.arange(len(place)))))
        means = np.asarray(summed @ np.concatenate([self._mean, self._d]))
        of_student, columns = np.divmod(keys, size)
        posterior = self._block.posterior
        for some, rows in _alike(of_student, len(posterior)):
            off = means[rows] - means[rows] @ posterior[some][..., None]
            weighed = off * posterior[some][:, None]
            yield columns[rows], weighed @ off.transpose(0, 2, 1)


def _alike(of: Indices, n: int) -> "Iterator[tuple[Indices, Indices]]":
    """Those who have equally many rows, which stand one after the other: which, and (those, rows) their rows."""
    first, length = np.searchsorted(of, np.arange(n)), np.bincount(of, minlength=n)
    for size in np.unique(length[length > 0]):
        some = np.flatnonzero(length == size)
        yield some, first[some][:, None] + np.arange(size)


def _add_blocks(total: Array, blocks: "Iterator[tuple[Indices, Array]]") -> None:
    for place, found in blocks:
        np.add.at(total, (place[:, :, None], place[:, None, :]), found)


def _rows(of: sparse.csr_array, pieces: slice) -> sparse.csr_array:
    """SciPy takes longer to copy a small matrix than to multiply it."""
    return of if pieces == slice(0, of.shape[0]) else of[pieces]


@dataclass(frozen=True, slots=True)
class _Block:
    """Consecutive students and their pieces."""

    students: slice
    pieces: slice
    posterior: Array
    """(students, nodes)"""
    loglik: Array
    given: Array
    """(pieces, points): probability of the ratings, up to a factor."""
    averaged: Array
    """(pieces, nodes): the same, given ability."""
    over: Array
    """(pieces, nodes): posterior of the student over what is averaged."""

    def share(self, known: Kernel) -> Array:
        """(pieces, points): posterior of what the piece is worth."""
        return known.back(self.over) * self.given
