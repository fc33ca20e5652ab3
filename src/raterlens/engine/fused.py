"""The engine for large data: one compiled pass over the students, on all cores.

The same sums as the readable engine (`reference.py`, the twin that a test holds it to), with each student's
posterior in the processor's cache from joint log-probability to expected counts. The exponential is written out
so that the compiler vectorises it. Numba is imported here and nowhere else: small data never pay for it.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numba as nb
import numpy as np
from scipy import sparse

from raterlens.engine.reference import ReferenceEngine
from raterlens.engine.seam import Array, Expected, Moments, Nodes, Tables

_LOG2_E = 1 / np.log(2)
# ln 2 in two parts, the first with trailing zeros, so that x - k ln 2 loses nothing.
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# Adding this leaves the nearest integer in the last bits of a double.
_ROUND = 1.5 * 2.0**52
# Below this exp(x) is nothing beside the largest, which is 1.
_NOTHING = -708.0


class FusedEngine(ReferenceEngine):
    """Evaluates tables by compiled code, students shared out over threads."""

    compiled = True

    def __init__(
        self, counts: sparse.csr_array, sums: sparse.csr_array | None = None, threads: int | None = None
    ) -> None:
        super().__init__(counts, sums)
        self._threads = threads or cores()
        # Parts of equal work, by nonzeros.
        marks = np.linspace(0, counts.nnz, self._threads + 1)
        edges = np.searchsorted(counts.indptr, marks)
        edges[0], edges[-1] = 0, self.n_students
        self._parts = [(int(a), int(b)) for a, b in pairwise(edges) if a < b]

    def evaluate(self, tables: Tables, nodes: Nodes) -> Expected:
        mean, sd = np.empty(self.n_students), np.empty(self.n_students)
        ability = np.zeros(self.n_students) if self._sums is None else self._sums @ tables.linear
        cells = np.ascontiguousarray(tables.cells)

        def part(span: tuple[int, int]) -> tuple[float, Array]:
            counts = np.zeros_like(cells)
            loglik = _evaluate(
                *span,
                self._counts.indptr,
                self._counts.indices,
                self._counts.data,
                cells,
                ability,
                nodes.points,
                nodes.log_weights,
                counts,
                mean,
                sd,
            )
            return loglik, counts

        with ThreadPoolExecutor(self._threads) as pool:
            done = list(pool.map(part, self._parts))
        counts = done[0][1]
        for _, more in done[1:]:
            counts += more
        linear = None if self._sums is None else self._sums.T @ mean
        return Expected(sum(loglik for loglik, _ in done), counts, linear, Moments(mean, sd))

    def moments(self, tables: Tables, nodes: Nodes) -> Moments:
        found = self.evaluate(tables, nodes).moments
        assert found is not None
        return found


def cores() -> int:
    """Cores this process may use; not every system can say."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@nb.njit(nogil=True, cache=True, fastmath={"contract", "nnan", "nsz"}, error_model="numpy")
def _exponentials(x, top, rounded, rounded_bits, scale, scale_bits):  # type: ignore[no-untyped-def]
    """x <- exp(x - top), in place; the other arrays are scratch.

    exp(y) = 2^k exp(r) with |r| <= ln 2 / 2, where a Taylor polynomial of degree 13 is exact to rounding. Apart
    from its caller, since terms must not be rearranged: adding and subtracting _ROUND is what rounds.
    """
    for q in range(len(x)):
        y = max(x[q] - top, _NOTHING)
        rounded[q] = y * _LOG2_E + _ROUND
        k = rounded[q] - _ROUND
        r = y - k * _LN2_HIGH - k * _LN2_LOW
        p = 1.0 / 6227020800.0
        p = p * r + 1.0 / 479001600.0
        p = p * r + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        x[q] = p * r * r + r + 1.0
    for q in range(len(x)):
        scale_bits[q] = (rounded_bits[q] + 1023) << 52
    for q in range(len(x)):
        x[q] *= scale[q]


@nb.njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz", "arcp", "nnan"}, error_model="numpy")
def _evaluate(first, last, indptr, indices, data, cells, ability, points, log_weights, counts, mean, sd):  # type: ignore[no-untyped-def]
    size = len(points)
    joint, rounded, scale = np.empty(size), np.empty(size), np.empty(size)
    rounded_bits, scale_bits = rounded.view(np.int64), scale.view(np.int64)
    loglik = 0.0
    for n in range(first, last):
        own = ability[n]
        for q in range(size):
            joint[q] = log_weights[q] + own * points[q]
        for at in range(indptr[n], indptr[n + 1]):
            row, times = cells[indices[at]], data[at]
            for q in range(size):
                joint[q] += times * row[q]
        top = joint[0]
        for q in range(1, size):
            top = max(top, joint[q])

        _exponentials(joint, top, rounded, rounded_bits, scale, scale_bits)
        total = 0.0
        for q in range(size):
            total += joint[q]
        loglik += top + np.log(total)

        centre = 0.0
        for q in range(size):
            joint[q] /= total
            centre += joint[q] * points[q]
        spread = 0.0
        for q in range(size):
            spread += joint[q] * (points[q] - centre) ** 2
        mean[n], sd[n] = centre, np.sqrt(spread)
        for at in range(indptr[n], indptr[n + 1]):
            row, times = counts[indices[at]], data[at]
            for q in range(size):
                row[q] += times * joint[q]
    return loglik
