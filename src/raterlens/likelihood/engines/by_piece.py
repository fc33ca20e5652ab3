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
    in_full,
)
from raterlens.likelihood.engines.numpy import NumpyEngine, alike, rows_of_students
from raterlens.likelihood.latent import covariances
from raterlens.likelihood.nodes import Moments, Nodes
from raterlens.ratings.coded import Codes

STEP = 0.75
"""Nodes are at most this many omegas apart: the kernel is then off by 2e-12."""
SMALL = 0.15
"""An omega below it is integrated by Gauss-Hermite points."""
_HERMITE, _HERMITE_WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
_LEAST_VARIANCE = 1e-8
MOST_IN_MATRIX = 1_000
"""Nodes by nodes; of more, those within so many omegas."""
_NEAR = 9.0


Weights: TypeAlias = Array | sparse.csr_array
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
    n, near = len(points), len(points) - 1
    if n > MOST_IN_MATRIX:
        near = min(near, int(_NEAR * np.sqrt(variance) / nodes.step))
    away = np.arange(-near, near + 1)
    z = (away * nodes.step) ** 2 / variance
    density = np.exp(-0.5 * z)

    def matrix(values: Array) -> Weights:
        if n <= MOST_IN_MATRIX:
            return np.asarray(linalg.toeplitz(values[near:]))
        return sparse.csr_array(sparse.diags_array(values, offsets=away, shape=(n, n)))

    return Kernel.of(
        points, variance, (matrix(density * (z / (2 * variance)) ** power) for power in (0, 1, 2))
    )


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
        up = self._up(tables, nodes)
        found = self._students.evaluate(up.tables, nodes)
        over = found.counts / up.averaged
        share = up.kernel.back(over) * up.given
        linear = None if self._sums is None else self._sums.T @ (share @ up.kernel.points)
        return Expected(
            found.loglik, self._counts.T @ share, linear, up.kernel.rise(over, up.given, up.averaged)
        )

    def moments(self, tables: Tables, nodes: Nodes, *, pieces: bool = False) -> Moments:
        up = self._up(tables, nodes)
        if not pieces:
            return self._students.moments(up.tables, nodes)
        found = []
        for rows, posterior, _ in self._students.posteriors(up.tables, nodes):
            own = slice(*np.searchsorted(self._student, [rows.start, rows.stop]))
            pattern = self._pattern[own]
            over = posterior[self._student[own] - rows.start] / up.averaged[pattern]
            found.append(Moments.by(up.kernel.back(over) * up.given[pattern], up.kernel.points))
        return Moments.joined(found)

    def posteriors(self, tables: Tables, nodes: Nodes) -> Iterator[tuple[slice, Array, Array]]:
        return self._students.posteriors(self._up(tables, nodes).tables, nodes)

    def covariance(self, tables: Tables, nodes: Nodes, scores: CellScores) -> Matrix:
        """Covariance that abilities and the worth of pieces leave open: given ability, the covariance of a
        piece's score over what it is worth; and over abilities, that of the sum of its pieces' expected scores. The
        variance of pieces has the score D, and its own second derivative comes along."""
        total = np.zeros((scores.n_parameters,) * 2)
        self.add_covariances(tables, nodes, scores, [total])
        return total

    def add_covariances(self, tables: Tables, nodes: Nodes, scores: CellScores, totals: list[Array]) -> None:
        """The same, to the first of the totals."""
        up = self._up(tables, nodes)
        within = self._within(up, scores)
        for place, found in within.covariances(self._students.evaluate(up.tables, nodes).counts):
            np.add.at(totals[0], (place[:, :, None], place[:, None, :]), found)
        over = self._students.covariance(up.tables, nodes, within.expected_scores(scores))
        totals[0] += in_full(over)

    def scores(self, tables: Tables, nodes: Nodes, scores: CellScores, weights: Weighting) -> Summed:
        up = self._up(tables, nodes)
        expected = self._within(up, scores).expected_scores(scores)
        return self._students.scores(up.tables, nodes, expected, weights)

    def _up(self, tables: Tables, nodes: Nodes) -> "_Up":
        known = kernel(nodes, tables.piece_variance)
        given = self._counts @ tables.cells
        if self._sums is not None:
            given += np.multiply.outer(self._sums @ tables.linear, known.points)
        top = given.max(axis=1)
        given -= top[:, None]
        np.exp(given, out=given)
        averaged = np.maximum(known.averaged(given), np.finfo(float).tiny)
        return _Up(known, given, averaged, Tables(np.log(averaged) + top[:, None]))

    def _within(self, up: "_Up", scores: CellScores) -> "_Within":
        """Scores of the patterns, a row for each parameter that one depends on."""
        size = scores.n_parameters
        at_points = Nodes(up.kernel.points, np.zeros_like(up.kernel.points))
        cells, table, parameter = rows_of_students(self._counts, self._sums, at_points, scores)
        own = cells.tocoo()
        keys, place = np.unique(own.row.astype(np.int64) * size + parameter[own.col], return_inverse=True)
        pattern, column = np.divmod(keys, size)
        spread = sparse.csr_array((own.data, (place, own.col)), shape=(len(keys), cells.shape[1]))
        return _Within(up, pattern, np.append(column, scores.piece), np.asarray(spread @ table))


@dataclass(frozen=True, slots=True)
class _Up:
    """Patterns of pieces, integrated over what a piece is worth."""

    kernel: Kernel
    given: Array
    """(patterns, points): probability of the ratings, up to a factor."""
    averaged: Array
    """(patterns, nodes): the same, given ability."""
    tables: Tables
    """(patterns, nodes): its logarithm, with the factor."""


class _Within:
    """Scores of the patterns, given ability."""

    def __init__(self, up: _Up, of_pattern: Indices, column: Indices, score: Array) -> None:
        """`score`: (rows, points), each of a pattern and one parameter, pattern after pattern; `column`: these
        parameters, and last the variance of pieces."""
        self._up, self._score, self._of_pattern, self._column = up, score, of_pattern, column
        known, given, averaged = up.kernel, up.given, up.averaged
        mean, self._variance = known.usual
        off = known.off(given, averaged)
        self._d = off - mean
        """(patterns, nodes): expected D, the derivative of the kernel's logarithm by the variance."""
        squares = given @ known.by_square / known.totals[0] / averaged
        self._d_square = squares - 2 * mean * off + mean**2
        weighed = given[of_pattern] * score
        self._mean = known.averaged(weighed) / averaged[of_pattern]
        """(rows, nodes): expected scores."""
        self._with_d = known.off(weighed, averaged[of_pattern]) - mean * self._mean

    def expected_scores(self, scores: CellScores) -> CellScores:
        """Scores of the patterns given ability, the variance's own last."""
        n = len(self._d)
        own = np.concatenate([self._of_pattern, np.arange(n)])
        order = np.argsort(own, kind="stable")
        column = np.concatenate([self._column, np.full(n - 1, scores.piece)])
        first, none = np.append(0, np.cumsum(np.bincount(own))), sparse.csr_array((1, scores.n_parameters))
        table = np.concatenate([self._mean, self._d])[order]
        return CellScores(first, column[order], table, none, np.full(n, np.inf))

    def covariances(self, expected: Array) -> Iterator[tuple[Indices, Array]]:
        """Covariances of the scores of each pattern, with the variance's own, summed over (patterns, nodes) expected
        pieces: parameters (patterns, rows), (patterns, rows, rows)."""
        known, d = self._up.kernel, self._d
        share = known.back(expected / self._up.averaged) * self._up.given
        corner = np.sum(expected * (self._d_square - d**2 - 2 * d / known.variance - self._variance), axis=1)
        begins = np.searchsorted(self._of_pattern, np.arange(len(expected) + 1))
        for some, rows in alike(begins, len(known.points)):
            score, mean = (each[rows].swapaxes(1, 2) for each in (self._score, self._mean))
            found = np.zeros((len(some), rows.shape[1] + 1, rows.shape[1] + 1))
            found[:, :-1, :-1] = covariances(score, share[some], mean, expected[some])
            beside = np.einsum("nq,nrq->nr", expected[some], self._with_d[rows])
            beside -= np.einsum("nq,nqr->nr", expected[some] * d[some], mean)
            found[:, -1, :-1] = found[:, :-1, -1] = beside
            found[:, -1, -1] = corner[some]
            yield np.pad(self._column[rows], [(0, 0), (0, 1)], constant_values=self._column[-1]), found
