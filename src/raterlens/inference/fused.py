"""Covariances of the students' scores over their posteriors, for large data: compiled, node by node.

The same sum as the expansion in `information.py`, its readable twin: here a student's few parameters and the few
nodes that carry the posterior's mass are so cheap to visit that no expansion is needed.
"""

from concurrent.futures import ThreadPoolExecutor

import numba as nb
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from raterlens.engine.fused import cores

Array = NDArray[np.float64]

# Nodes that carry less than this of a posterior are passed over.
_NEGLIGIBLE = 1e-13


class ScoreCovariance:
    """Adds up, over blocks of students, Cov[d log p(ratings | ability)]; a sum for each thread."""

    def __init__(self, points: Array, scores: Array, jacobian: sparse.csr_array, lever: Array) -> None:
        """
        Parameters
        ----------
        scores
            (intercepts, contexts x categories, nodes): derivatives of the log-probabilities in the intercepts.
        jacobian
            (contexts + contexts x intercepts, parameters)
        """
        self._points, self._scores, self._jacobian, self._lever = points, scores, jacobian, lever
        self._totals = [np.zeros((jacobian.shape[1],) * 2) for _ in range(cores())]

    def add(self, posterior: Array, cells: sparse.csr_array) -> None:
        """Students' posteriors (students, nodes), and how often each has every score of every context."""
        edges = np.linspace(0, len(posterior), len(self._totals) + 1).astype(int)

        def part(first: int, last: int, total: Array) -> None:
            _accumulate(
                first,
                last,
                posterior,
                self._points,
                cells.indptr,
                cells.indices,
                cells.data,
                self._scores,
                self._jacobian.indptr,
                self._jacobian.indices,
                self._jacobian.data,
                self._lever,
                total,
            )

        with ThreadPoolExecutor(len(self._totals)) as pool:
            list(pool.map(part, edges[:-1], edges[1:], self._totals))

    def total(self) -> Array:
        """(parameters, parameters)"""
        half = np.sum(self._totals, axis=0)
        return np.asarray(half + np.tril(half, -1).T)


@nb.njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz"}, error_model="numpy")
def _accumulate(  # type: ignore[no-untyped-def]
    first,
    last,
    posterior,
    points,
    indptr,
    indices,
    data,
    scores,
    rows,
    columns,
    values,
    lever,
    total,
):
    steps = len(lever)
    n_contexts = (len(rows) - 1) // (1 + steps)
    categories = scores.shape[1] // n_contexts
    place = np.full(total.shape[0], -1)
    touched = np.empty(total.shape[0], dtype=np.int64)
    for n in range(first, last):
        # The student's parameters, in increasing order, so that only one triangle is filled.
        count = 0
        for at in range(indptr[n], indptr[n + 1]):
            context = indices[at] // categories
            for j in range(steps + 1):
                row = context if j == 0 else n_contexts + context * steps + j - 1
                for e in range(rows[row], rows[row + 1]):
                    if place[columns[e]] < 0:
                        place[columns[e]] = 0
                        touched[count] = columns[e]
                        count += 1
        own = np.sort(touched[:count])
        for i in range(count):
            place[own[i]] = i

        mean, second, score = np.zeros(count), np.zeros((count, count)), np.empty(count)
        for q in range(len(points)):
            weight = posterior[n, q]
            if weight < _NEGLIGIBLE:
                continue
            score[:] = 0.0
            for at in range(indptr[n], indptr[n + 1]):
                context = indices[at] // categories
                slope = 0.0
                for j in range(steps):
                    step = data[at] * scores[j, indices[at], q]
                    slope += lever[j] * step
                    row = n_contexts + context * steps + j
                    for e in range(rows[row], rows[row + 1]):
                        score[place[columns[e]]] += step * values[e]
                for e in range(rows[context], rows[context + 1]):
                    score[place[columns[e]]] += slope * points[q] * values[e]
            for i in range(count):
                mean[i] += weight * score[i]
                for j in range(i + 1):
                    second[i, j] += weight * score[i] * score[j]
        for i in range(count):
            for j in range(i + 1):
                total[own[i], own[j]] += second[i, j] - mean[i] * mean[j]
            place[own[i]] = -1
