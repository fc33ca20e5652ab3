"""Students with several pieces of work: what a piece is worth differs from what its student can do in general.

    psi = theta + omega v,    v ~ N(0, 1), one for each piece

A piece's ratings multiply before v is integrated. With M_pk the log-probability of piece p at psi_k,

    G_pq = log sum_k K_qk exp(M_pk),     loglik = sum_n log sum_q exp(w_q + sum_p G_pq)

where K_qk is the probability of psi_k at theta_q: on the nodes of ability themselves, a normal density whose rows sum
to 1; or, where omega is small beside any step, Gauss-Hermite points around each node.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import linalg, sparse

from raterlens.base.arrays import Array, Indices
from raterlens.likelihood.cells import distinct_rows
from raterlens.likelihood.engines.contract import (
    CellScores,
    Engine,
    Expected,
    Matrix,
    Summed,
    Tables,
    Weighting,
)
from raterlens.likelihood.engines.numpy import NumpyEngine, alike, rows_of_students
from raterlens.likelihood.nodes import Moments, Nodes
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
# Numbers in one part of the patterns by points.
_BLOCK = 2**19


class Toeplitz:
    """A symmetric matrix whose entries depend on how far they are from its diagonal, too large to be written out:
    multiplied by Fourier transforms."""

    __array_ufunc__ = None  # so that an array times this asks here

    def __init__(self, values: Array) -> None:
        """`values` of 0, 1, 2, ... steps."""
        self._values, self.T = values, self

    def __rmatmul__(self, given: Array) -> Array:
        found = linalg.matmul_toeplitz((self._values, self._values), given.T).T
        return np.asarray(np.maximum(found, _ROUNDING * found.max(axis=1, keepdims=True)))

    def sum(self, axis: int) -> Array:
        up_to = np.cumsum(self._values)
        return np.asarray(up_to + up_to[::-1] - self._values[0])


Weights: TypeAlias = Array | sparse.csr_array | Toeplitz
"""(points, nodes): weight of each point at each node."""


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
    totals: Array
    """(3, nodes): sums of each of them over points."""

    @staticmethod
    def of(points: Array, variance: float, weights: Iterable[Weights]) -> "Kernel":
        plain, once, twice = weights
        totals = np.stack([np.asarray(each.sum(axis=0)) for each in (plain, once, twice)])
        return Kernel(points, variance, plain, once, twice, totals)

    def averaged(self, given: Array) -> Array:
        """(pieces, points) -> (pieces, nodes)"""
        return np.asarray(given @ self.weights / self.totals[0])

    def back(self, at_nodes: Array) -> Array:
        """(pieces, nodes) -> (pieces, points): what each point has to do with the nodes."""
        return np.asarray((at_nodes / self.totals[0]) @ self.weights.T)

    def rise(self, at_nodes: Array, given: Array, averaged: Array) -> float:
        """Derivative of the log-likelihood in omega^2, of the pieces whose posteriors over nodes are `at_nodes` times
        what is averaged of `given`."""
        more = given @ self.by_variance - self.totals[1] * averaged
        return float(np.sum(at_nodes * more / self.totals[0]))

    def off(self, given: Array, averaged: Array) -> Array:
        """(rows, nodes): D, but for its mean over all points, averaged over what each row gives the points."""
        return np.asarray(given @ self.by_variance / self.totals[0] / averaged)

    @property
    def usual(self) -> tuple[Array, Array]:
        """(nodes,): mean and variance of D over the points alone."""
        mean, square = self.totals[1:] / self.totals[0]
        return mean, square - mean**2


def points_of(nodes: Nodes, variance: float) -> Array:
    """Where a piece's ratings have to be known: at the nodes, or at Gauss-Hermite points around each."""
    omega = np.sqrt(max(variance, _LEAST_VARIANCE))
    return nodes.points if omega >= SMALL else np.add.outer(nodes.points, omega * _HERMITE).ravel()


def kernel(nodes: Nodes, variance: float) -> Kernel:
    """For the pieces of students at these nodes."""
    points, variance = points_of(nodes, variance), max(variance, _LEAST_VARIANCE)
    if len(points) > len(nodes.points):
        rise = (_HERMITE**2 - 1) / (2 * variance)
        around = sparse.eye_array(len(nodes.points))
        each = (_HERMITE_WEIGHTS * rise**power for power in (0, 1, 2))
        return Kernel.of(points, variance, (sparse.kron(around, own[:, None], "csr") for own in each))
    z = (points - points[0]) ** 2 / variance
    density, rise = np.exp(-0.5 * z), z / (2 * variance)
    weights = linalg.toeplitz if len(points) <= MOST_IN_MATRIX else Toeplitz
    return Kernel.of(points, variance, (weights(density * rise**power) for power in (0, 1, 2)))


def fine_enough(nodes: Nodes, variance: float) -> Nodes:
    """The nodes, or closer ones that reach further, as pieces differ more than students do."""
    omega, stretch = np.sqrt(variance), np.sqrt(1 + variance)
    step = min(nodes.step, STEP * omega) if omega >= SMALL else nodes.step
    return Nodes.equally_spaced(stretch * nodes.low, stretch * nodes.high, step)


class PieceEngine:
    """Evaluates tables over pieces' counts, and pieces over students.

    Pieces with the same ratings are one pattern: what is integrated over the worth of a piece is a table of patterns,
    which are the cells of an ordinary engine of students.
    """

    def __init__(
        self,
        counts: sparse.csr_array,
        sums: sparse.csr_array | None,
        student: Codes,
        engine_for: Callable[[sparse.csr_array], Engine] = NumpyEngine,
    ) -> None:
        """`student` of every piece, in ascending order; each has at least one."""
        shown_by, self._pattern = distinct_rows(counts, sums)
        self._counts, self._sums = counts[shown_by], None if sums is None else sums[shown_by]
        self._student = student
        cells = sparse.coo_array((np.ones(len(student)), (student, self._pattern)))
        self._students = engine_for(sparse.csr_array(cells))

    @property
    def n_students(self) -> int:
        return self._students.n_students

    def evaluate(self, tables: Tables, nodes: Nodes) -> Expected:
        known = kernel(nodes, tables.piece_variance)
        parts = self._parts(tables, known)
        found = self._students.evaluate(_table(parts), nodes)
        d_variance, counts, mean = 0.0, np.zeros_like(tables.cells), np.empty(len(found.counts))
        for part in parts:
            over = found.counts[part.rows] / part.averaged
            share = known.back(over) * part.given
            counts += _rows(self._counts, part.rows).T @ share
            mean[part.rows] = share @ known.points
            d_variance += known.rise(over, part.given, part.averaged)
        linear = None if self._sums is None else self._sums.T @ mean
        return Expected(found.loglik, counts, linear, d_variance)

    def moments(self, tables: Tables, nodes: Nodes, *, pieces: bool = False) -> Moments:
        known = kernel(nodes, tables.piece_variance)
        parts = self._parts(tables, known)
        if not pieces:
            return self._students.moments(_table(parts), nodes)
        given, averaged = (
            np.concatenate(each) for each in zip(*((p.given, p.averaged) for p in parts), strict=True)
        )
        found = []
        for rows, posterior, _ in self._students.posteriors(_table(parts), nodes):
            own = slice(*np.searchsorted(self._student, [rows.start, rows.stop]))
            pattern = self._pattern[own]
            over = posterior[self._student[own] - rows.start] / averaged[pattern]
            found.append(Moments.by(known.back(over) * given[pattern], known.points))
        return Moments.joined(found)

    def posteriors(self, tables: Tables, nodes: Nodes) -> Iterator[tuple[slice, Array, Array]]:
        known = kernel(nodes, tables.piece_variance)
        return self._students.posteriors(_table(self._parts(tables, known)), nodes)

    def covariance(self, tables: Tables, nodes: Nodes, scores: CellScores) -> Matrix:
        """Covariance that abilities and the worth of pieces leave open: given ability, the covariance of a
        piece's score over what it is worth; and over abilities, that of the sum of its pieces' expected scores. The
        variance of pieces has the score D, and its own second derivative comes along."""
        total = np.zeros((scores.n_parameters,) * 2)
        self.add_covariances(tables, nodes, scores, [total])
        return total

    def add_covariances(self, tables: Tables, nodes: Nodes, scores: CellScores, totals: list[Array]) -> None:
        """The same, to the first of the totals."""
        known = kernel(nodes, tables.piece_variance)
        parts = self._parts(tables, known)
        expected, within = self._students.evaluate(_table(parts), nodes).counts, []
        for part, column, scored in self._within(parts, known, scores):
            _add_blocks(totals[0], scored.covariances(expected[part.rows], column, scores.piece))
            within.append((column, scored))
        over = self._students.covariance(_table(parts), nodes, _expected_scores(within, scores))
        totals[0] += over if isinstance(over, np.ndarray) else over.toarray()

    def scores(self, tables: Tables, nodes: Nodes, scores: CellScores, weights: Weighting) -> Summed:
        known = kernel(nodes, tables.piece_variance)
        parts = self._parts(tables, known)
        within = [(column, scored) for _, column, scored in self._within(parts, known, scores)]
        return self._students.scores(_table(parts), nodes, _expected_scores(within, scores), weights)

    def _within(
        self, parts: "list[_Part]", known: Kernel, scores: CellScores
    ) -> "Iterator[tuple[_Part, Indices, _Within]]":
        """Parts, with the scores of their patterns and the parameters that these are by."""
        size = scores.n_parameters
        at_points = Nodes(known.points, np.zeros_like(known.points))
        cells, table, parameter = rows_of_students(self._counts, self._sums, at_points, scores)
        for part in parts:
            own = _rows(cells, part.rows).tocoo()
            keys, place = np.unique(own.row.astype(np.int64) * size + parameter[own.col], return_inverse=True)
            pattern, column = np.divmod(keys, size)
            spread = sparse.csr_array((own.data, (place, own.col)), shape=(len(keys), cells.shape[1]))
            yield part, column, _Within(part, known, pattern, np.asarray(spread @ table))

    def _parts(self, tables: Tables, known: Kernel) -> "list[_Part]":
        size, n = max(1, _BLOCK // len(known.points)), self._counts.shape[0]
        found = []
        for first in range(0, n, size):
            rows = slice(first, min(first + size, n))
            given = _rows(self._counts, rows) @ tables.cells
            if self._sums is not None:
                given += np.multiply.outer(_rows(self._sums, rows) @ tables.linear, known.points)
            top = given.max(axis=1)
            given -= top[:, None]
            np.exp(given, out=given)
            averaged = np.maximum(known.averaged(given), np.finfo(float).tiny)
            found.append(_Part(rows, given, averaged, np.log(averaged) + top[:, None]))
        return found


@dataclass(frozen=True, slots=True)
class _Part:
    """Some of the patterns, integrated over what a piece is worth."""

    rows: slice
    given: Array
    """(patterns, points): probability of the ratings, up to a factor."""
    averaged: Array
    """(patterns, nodes): the same, given ability."""
    log: Array
    """(patterns, nodes): its logarithm, with the factor."""


def _table(parts: list[_Part]) -> Tables:
    return Tables(parts[0].log if len(parts) == 1 else np.concatenate([part.log for part in parts]))


def _expected_scores(within: "list[tuple[Indices, _Within]]", scores: CellScores) -> CellScores:
    """Scores of the patterns given ability, the variance's own last."""
    parameter, table, size = [], [], []
    for column, scored in within:
        own = np.concatenate([scored.of_pattern, np.arange(len(scored.d))])
        order = np.argsort(own, kind="stable")
        parameter.append(np.concatenate([column, np.full(len(scored.d), scores.piece)])[order])
        table.append(np.concatenate([scored.mean, scored.d])[order])
        size.append(np.bincount(own))
    first = np.concatenate([[0], np.cumsum(np.concatenate(size))])
    none = sparse.csr_array((1, scores.n_parameters))
    steepest = np.full(len(first) - 1, np.inf)
    return CellScores(first, np.concatenate(parameter), np.concatenate(table), none, steepest)


class _Within:
    """Scores of some patterns, given ability."""

    def __init__(self, part: _Part, known: Kernel, of_pattern: Indices, score: Array) -> None:
        """`score`: (rows, points), each of a pattern and one parameter, pattern after pattern."""
        # A convolution wants numbers above 0.
        least = score.min(axis=1, keepdims=True)
        score = score - least
        self._part, self._known, self._score, self.of_pattern = part, known, score, of_pattern
        mean, self._variance = known.usual
        given, averaged = part.given, part.averaged
        off = known.off(given, averaged)
        self.d = off - mean
        """(patterns, nodes): expected D, the derivative of the kernel's logarithm by the variance."""
        squares = given @ known.by_square / known.totals[0] / averaged
        self._d_square = squares - 2 * mean * off + mean**2
        weighed = given[of_pattern] * score
        self._mean = known.averaged(weighed) / averaged[of_pattern]
        self.mean = self._mean + least
        """(rows, nodes): expected scores."""
        self._with_d = known.off(weighed, averaged[of_pattern]) - mean * self._mean

    def covariances(self, expected: Array, column: Indices, piece: int) -> "Iterator[tuple[Indices, Array]]":
        """Covariances of the scores of each pattern, with the variance's own, summed over (patterns, nodes) expected
        pieces: parameters (patterns, rows), (patterns, rows, rows)."""
        share = self._known.back(expected / self._part.averaged) * self._part.given
        d = self.d
        corner = np.sum(
            expected * (self._d_square - d**2 - 2 * d / self._known.variance - self._variance), axis=1
        )
        begins = np.searchsorted(self.of_pattern, np.arange(len(expected) + 1))
        for some, rows in alike(begins, len(self._part.given[0])):
            score, mean = self._score[rows], self._mean[rows]
            found = np.zeros((len(some), rows.shape[1] + 1, rows.shape[1] + 1))
            found[:, :-1, :-1] = (score * share[some][:, None]) @ score.transpose(0, 2, 1)
            weighed = mean * expected[some][:, None]
            found[:, :-1, :-1] -= weighed @ mean.transpose(0, 2, 1)
            beside = np.einsum("nq,nrq->nr", expected[some], self._with_d[rows])
            beside -= np.einsum("nrq,nq->nr", weighed, d[some])
            found[:, -1, :-1] = found[:, :-1, -1] = beside
            found[:, -1, -1] = corner[some]
            yield np.concatenate([column[rows], np.full((len(some), 1), piece)], axis=1), found


def _add_blocks(total: Array, blocks: "Iterator[tuple[Indices, Array]]") -> None:
    for place, found in blocks:
        np.add.at(total, (place[:, :, None], place[:, None, :]), found)


def _rows(of: sparse.csr_array, rows: slice) -> sparse.csr_array:
    """SciPy takes longer to copy a small matrix than to multiply it."""
    return of if rows == slice(0, of.shape[0]) else of[rows]
