"""The readable engine: NumPy and SciPy-sparse, students in blocks that stay in cache."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
from scipy import sparse

from raterlens.base.types import Array
from raterlens.engine.nested_nodes import NestedNodes
from raterlens.engine.protocol import CellScores, Expected, Matrix, Moments, Nodes, Tables, Weighting
from raterlens.engine.score_expansion import about_means, expanded_covariance, mean_variances, summed_scores

# Numbers in one block of posteriors: 2 MB, small enough for a core's cache, large enough to amortise Python.
_BLOCK = 2**18


class NumpyEngine:
    """Evaluates tables over students' counts (and sums, where the model has a linear part)."""

    def __init__(
        self, counts: sparse.csr_array, sums: sparse.csr_array | None = None, block: int = _BLOCK
    ) -> None:
        self._counts, self._sums, self._block = counts, sums, block

    @property
    def n_students(self) -> int:
        return int(self._counts.shape[0])

    def evaluate(self, tables: Tables, nodes: Nodes) -> Expected:
        if isinstance(nodes, NestedNodes):
            found = self.evaluate(*_in_between(tables, nodes))
            return replace(found, counts=found.counts @ nodes.between())
        loglik = 0.0
        counts = np.zeros_like(tables.cells)
        mean = np.empty(self.n_students)
        for rows, posterior, block_loglik in self.posteriors(tables, nodes):
            loglik += float(block_loglik.sum())
            counts += self._counts[rows].T @ posterior
            mean[rows] = posterior @ nodes.points
        linear = None if self._sums is None else self._sums.T @ mean
        return Expected(loglik, counts, linear)

    def moments(self, tables: Tables, nodes: Nodes) -> Moments:
        if isinstance(nodes, NestedNodes):
            return self.moments(*_in_between(tables, nodes))
        return Moments.joined(
            Moments.by(posterior, nodes.points) for _, posterior, _ in self.posteriors(tables, nodes)
        )

    def posteriors(self, tables: Tables, nodes: Nodes) -> Iterator[tuple[slice, Array, Array]]:
        if isinstance(nodes, NestedNodes):
            back = nodes.between()
            for rows, posterior, loglik in self.posteriors(*_in_between(tables, nodes)):
                yield rows, posterior @ back, loglik
            return
        ability = None if self._sums is None else self._sums @ tables.linear
        size = max(1, self._block // len(nodes.points))
        for first in range(0, self.n_students, size):
            rows = slice(first, min(first + size, self.n_students))
            joint = self._counts[rows] @ tables.cells
            joint += nodes.log_weights
            if ability is not None:
                joint += np.multiply.outer(ability[rows], nodes.points)
            top = joint.max(axis=1)
            joint -= top[:, None]
            np.exp(joint, out=joint)
            total = joint.sum(axis=1)
            joint /= total[:, None]
            yield rows, joint, top + np.log(total)

    def score_covariance(self, tables: Tables, nodes: Nodes, scores: CellScores) -> Matrix:
        if isinstance(nodes, NestedNodes):
            table = np.asarray(scores.table @ nodes.between().T)
            return self.score_covariance(*_in_between(tables, nodes), replace(scores, table=table))
        posteriors = self.posteriors(tables, nodes)
        return expanded_covariance(self._counts, self._sums, posteriors, nodes, scores)

    def scores(
        self, tables: Tables, nodes: Nodes, scores: CellScores, weights: Weighting
    ) -> sparse.csr_array:
        posteriors = self.posteriors(tables, nodes)
        return summed_scores(self._counts, self._sums, posteriors, nodes, scores, weights)

    def mean_variances(self, tables: Tables, nodes: Nodes, scores: CellScores, spread: Array) -> Array:
        about = partial(about_means, points=nodes.points)
        return mean_variances(self.scores(tables, nodes, scores, about), spread)


def _in_between(tables: Tables, nodes: NestedNodes) -> tuple[Tables, Nodes]:
    """As if everybody were narrow: the readable way to say what a nested grid is."""
    return replace(tables, cells=np.asarray(tables.cells @ nodes.between().T)), nodes.fine()
