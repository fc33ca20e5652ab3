"""Contract between models and engines: the data they exchange, and the verbs of every engine."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array, Indices
from raterlens.likelihood.nodes import Moments, Nodes

Matrix: TypeAlias = Array | sparse.csr_array


def in_full(matrix: Matrix) -> Array:
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray())


Weighting: TypeAlias = Callable[[Array], Array]
"""From posteriors (students, nodes) to weights of the nodes; on a cluster, it is sent to workers."""


@dataclass(frozen=True, slots=True)
class Tables:
    """A model at its parameters: what an engine needs to know of it."""

    cells: Array
    """(cells, nodes): log-probability of a rating cell at each node."""
    linear: Array | None = None
    """(sums,): coefficient of ability for each column of sums; None where the model has no linear part."""
    piece_variance: float = 0.0
    """omega^2: how much a student's pieces of work differ, where an engine knows of pieces."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The marginal log-likelihood and what its gradient needs."""

    loglik: float
    counts: Array
    """(cells, nodes): expected number of ratings in a cell given at a node."""
    linear: Array | None
    """(sums,): sum over students of their sum times their expected ability."""
    d_piece: float | None = None
    """Derivative of the log-likelihood in omega^2, where there is one."""


@dataclass(frozen=True, slots=True)
class CellScores:
    """Each cell's part in a student's score, d log p(ratings | ability), as a function of ability.

    A student's score is the sum of its cells' rows, as often as they occur, plus ability times its sums. Constants do
    not matter: covariances are wanted.
    """

    first: Indices
    """(cells + 1,): where the entries of each cell begin."""
    parameter: Indices
    """(entries,): which parameter an entry is the derivative by."""
    table: Array
    """(rows, nodes)"""
    slopes: sparse.csr_array
    """(sums, parameters): derivatives of the coefficient of ability; a row of zeros where there are no sums."""
    steepest: Array
    """(cells,): the steepest slope of a member, infinite where it does not tell how fast scores change."""
    row: Indices | None = None
    """(entries,): row of the table of each entry; None where each has its own."""
    factor: Array | None = None
    """(entries,): factor of that row; None where it is 1."""
    piece: int = -1
    """The parameter that is the variance of the piece effect, where pieces differ."""

    @property
    def n_parameters(self) -> int:
        return int(self.slopes.shape[1])


class Summed(NamedTuple):
    """Students' scores, summed over nodes."""

    scores: sparse.csr_array
    """(students, parameters)"""
    weight: Array
    """(students,): the sum of the weights, which constants count with."""

    @staticmethod
    def joined(parts: "Iterable[Summed]") -> "Summed":
        """Sums of one part of the students after the other."""
        scores, weights = zip(*parts, strict=True)
        return Summed(sparse.csr_array(sparse.vstack(scores, format="csr")), np.concatenate(weights))


class Engine(Protocol):
    """Students' ratings, ready to be evaluated at any tables."""

    @property
    def n_students(self) -> int: ...

    def evaluate(self, tables: Tables, nodes: Nodes) -> Expected:
        """The log-likelihood and the expected counts."""

    def moments(self, tables: Tables, nodes: Nodes, *, pieces: bool = False) -> Moments:
        """Posterior mean and standard deviation of each student's ability, or of what each piece of work is worth;
        where pieces do not differ from their students, these are the same."""

    def posteriors(self, tables: Tables, nodes: Nodes) -> Iterator[tuple[slice, Array, Array]]:
        """Blocks of students: their rows, posterior over nodes (rows sum to one), log-likelihoods."""

    def scores(self, tables: Tables, nodes: Nodes, scores: CellScores, weights: Weighting) -> Summed:
        """Each student's scores, summed over nodes with weights that are made of the posterior: with the posterior
        itself the gradient, but for the constants that scores leave out; with the posterior times ability less its
        mean, the derivative of the posterior mean."""

    def covariance(self, tables: Tables, nodes: Nodes, scores: CellScores) -> Matrix:
        """(parameters, parameters): sum over students of the posterior covariance of their scores."""


def about_means(posterior: Array, points: Array) -> Array:
    """(students, nodes): weights that give the derivative of a posterior's mean."""
    deviation = points - (posterior @ points)[:, None]
    deviation *= posterior
    return deviation
