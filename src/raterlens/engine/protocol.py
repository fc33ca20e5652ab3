"""What passes between a model and an engine."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from raterlens.types import Array

Matrix = Array | sparse.csr_array


@dataclass(frozen=True, slots=True)
class Nodes:
    """Ability nodes with log weights: the trapezoidal rule on equally spaced nodes under N(0, 1)."""

    points: Array
    log_weights: Array

    @staticmethod
    def equally_spaced(low: float, high: float, step: float) -> "Nodes":
        count = max(3, int(np.ceil((high - low) / step)) + 1)
        # On a lattice through 0, so that two grids of the same step share their nodes.
        points = (np.floor(low / step) + np.arange(count + 1)) * step
        return Nodes(points, -0.5 * points**2 - 0.5 * np.log(2 * np.pi) + np.log(step))

    @property
    def step(self) -> float:
        return float(self.points[1] - self.points[0])

    @property
    def low(self) -> float:
        return float(self.points[0])

    @property
    def high(self) -> float:
        return float(self.points[-1])


@dataclass(frozen=True, slots=True)
class Tables:
    """A model at its parameters: what an engine needs to know of it."""

    cells: Array
    """(cells, nodes): log-probability of a rating cell at each node."""
    linear: Array | None = None
    """(sums,): coefficient of ability for each column of sums; None where the model has no linear part."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Each student's posterior ability."""

    mean: Array
    sd: Array

    def of(self, rows: NDArray[np.integer]) -> "Moments":
        """Those of other rows."""
        return Moments(self.mean[rows], self.sd[rows])


@dataclass(frozen=True, slots=True)
class Expected:
    """The marginal log-likelihood and what its gradient needs."""

    loglik: float
    counts: Array
    """(cells, nodes): expected number of ratings in a cell given at a node."""
    linear: Array | None
    """(sums,): sum over students of their sum times their expected ability."""


class Engine(Protocol):
    """Students' ratings, ready to be evaluated at any tables."""

    @property
    def n_students(self) -> int: ...

    def evaluate(self, tables: Tables, nodes: Nodes) -> Expected: ...

    def moments(self, tables: Tables, nodes: Nodes) -> Moments: ...
