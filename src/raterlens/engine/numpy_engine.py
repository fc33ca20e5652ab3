"""The readable engine: NumPy and SciPy-sparse, students in blocks that stay in cache."""

from collections.abc import Callable, Iterator

import numpy as np
from scipy import sparse

from raterlens.engine.protocol import Expected, Matrix, Moments, Nodes, Tables
from raterlens.types import Array

# Numbers in one block of posteriors: 2 MB, small enough for a core's cache, large enough to amortise Python.
_BLOCK = 2**18


class ReferenceEngine:
    """Evaluates tables over students' counts (and sums, where the model has a linear part)."""

    compiled = False
    sums: sparse.csr_array | None = None
    """(students, sums); None, too, where the students are not all in memory."""
    weight: Array | None = None
    """How many students each row stands for, where not for one."""

    def __init__(self, counts: sparse.csr_array, sums: sparse.csr_array | None = None) -> None:
        self.counts = counts
        self.sums = sums

    @property
    def n_students(self) -> int:
        return int(self.counts.shape[0])

    def evaluate(self, tables: Tables, nodes: Nodes) -> Expected:
        loglik = 0.0
        counts = np.zeros_like(tables.cells)
        mean = np.empty(self.n_students)
        for rows, posterior, block_loglik in self.posteriors(tables, nodes):
            loglik += float(block_loglik.sum())
            counts += self.counts[rows].T @ posterior
            mean[rows] = posterior @ nodes.points
        linear = None if self.sums is None else self.sums.T @ mean
        return Expected(loglik, counts, linear)

    def total(self, work: "Callable[[ReferenceEngine], Matrix]") -> Matrix:
        """What `work` finds, added up over groups of students: here all of them in one."""
        return work(self)

    def arranged(self) -> "ReferenceEngine":
        """The same students as they are gone over: in another order, or merged."""
        return self

    def moments(self, tables: Tables, nodes: Nodes) -> Moments:
        mean, sd = np.empty(self.n_students), np.empty(self.n_students)
        for rows, posterior, _ in self.posteriors(tables, nodes):
            mean[rows] = posterior @ nodes.points
            # Centred before squaring: E[t^2] - E[t]^2 would cancel for narrow posteriors.
            sd[rows] = np.sqrt(np.sum(posterior * (nodes.points - mean[rows, None]) ** 2, axis=1))
        return Moments(mean, sd)

    def posteriors(self, tables: Tables, nodes: Nodes) -> Iterator[tuple[slice, Array, Array]]:
        """Blocks of students: their rows, posterior over nodes (rows sum to one), log-likelihoods."""
        ability = None if self.sums is None else self.sums @ tables.linear
        size = max(1, _BLOCK // len(nodes.points))
        for first in range(0, self.n_students, size):
            rows = slice(first, first + size)
            joint = self.counts[rows] @ tables.cells
            joint += nodes.log_weights
            if ability is not None:
                joint += np.multiply.outer(ability[rows], nodes.points)
            top = joint.max(axis=1)
            joint -= top[:, None]
            np.exp(joint, out=joint)
            total = joint.sum(axis=1)
            joint /= total[:, None]
            yield rows, joint, top + np.log(total)
