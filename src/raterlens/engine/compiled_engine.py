"""The engine for large data: one compiled pass over the students, on all cores.

The same sums as the readable engine (`reference.py`, the twin that a test holds it to), with two ideas more.

Products instead of exponentials. Of a cell's log-probabilities take away the straight line through their ends, and
tabulate the exponential of what is left, once for all students. A student's posterior is then a product of such rows
times exp(slope t_q), and on equally spaced nodes that is a geometric sequence: two exponentials a student, not one a
node. A student whose products might leave the range of doubles (several dozen steep ratings, or impossible cells), or
who has a cell some fraction of a time, goes the long way, through sums of logarithms.

A posterior stays in the processor's cache from its products to the expected counts.

Numba is imported by `compiling.py`, and that only here and in `inference/fused.py`: small data never pay for it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from scipy import sparse

from raterlens.engine.arrangement import Arrangement
from raterlens.engine.numpy_engine import ReferenceEngine
from raterlens.engine.protocol import Expected, Moments, Nodes, Tables
from raterlens.kernels.compiling import compiled
from raterlens.kernels.exponential import exponentials, padded
from raterlens.parallel.threads import available_cores, in_threads, spans
from raterlens.types import Array

# Products within exp(+-600) stay well inside the range of doubles.
_RANGE = 600.0
# Numbers of posteriors at a time: 8 MB.
_POSTERIORS = 2**20


class FusedEngine(ReferenceEngine):
    """Evaluates tables by compiled code, students shared out over threads."""

    compiled = True

    def __init__(
        self,
        counts: sparse.csr_array,
        sums: sparse.csr_array | None = None,
        threads: int | None = None,
        *,
        weight: Array | None = None,
        arrange: bool = False,
    ) -> None:
        """
        Parameters
        ----------
        weight
            How many students each row stands for, where not for one.
        arrange
            Merge and order the students, which takes about as long as one evaluation and saves a quarter of each,
            or nearly all of it where many students have the same ratings.
        """
        super().__init__(counts, sums)
        self.weight = self._often = weight
        self._arranged = arranged = Arrangement.of(counts, sums) if arrange else None
        work = counts, _or_empty(sums, self.n_students)
        if arranged is not None:
            self._often = arranged.weight
            work = work[0][arranged.rows], work[1][arranged.rows]
        self._work = work
        # Parts of equal work, by nonzeros.
        marks = np.linspace(0, work[0].nnz, (threads or available_cores()) + 1)
        edges = np.searchsorted(work[0].indptr, marks)
        edges[0], edges[-1] = 0, work[0].shape[0]
        self._parts = [(int(a), int(b)) for a, b in pairwise(edges) if a < b]

    def evaluate(self, tables: Tables, nodes: Nodes) -> Expected:
        work, mean = self._pass(tables, nodes), np.empty(self._work[0].shape[0])

        def part(span: tuple[int, int]) -> tuple[float, Array, Array]:
            expected, weighted = np.zeros_like(work.rows.factors), np.zeros_like(work.linear)
            return work.over(span, found=(expected, weighted, mean, np.empty(0))), expected, weighted

        done = in_threads(part, self._parts)
        _, expected, weighted = done[0]
        for _, more, more_weighted in done[1:]:
            expected += more
            weighted += more_weighted
        expected = np.ascontiguousarray(expected[:, : len(nodes.points)])
        loglik = sum(part[0] for part in done)
        return Expected(loglik, expected, None if self.sums is None else weighted)

    def moments(self, tables: Tables, nodes: Nodes) -> Moments:
        work, rows = self._pass(tables, nodes), self._work[0].shape[0]
        found, no_counts = Moments(np.empty(rows), np.empty(rows)), np.empty((len(work.rows.factors), 0))

        def part(span: tuple[int, int]) -> None:
            work.over(span, found=(no_counts, np.zeros_like(work.linear), found.mean, found.sd))

        in_threads(part, self._parts)
        return found if self._arranged is None else found.of(self._arranged.place)

    def posteriors(self, tables: Tables, nodes: Nodes) -> Iterator[tuple[slice, Array, Array]]:
        sums = _or_empty(self.sums, self.n_students)
        work = _Pass(self.counts, sums, None, tables, nodes)
        size = max(1, _POSTERIORS // len(nodes.points))
        for first in range(0, self.n_students, size):
            n = min(size, self.n_students - first)
            shown = first, np.empty((n, len(nodes.points))), np.empty(n)
            students = [(first + begin, first + end) for begin, end in spans(n)]
            in_threads(partial(work.over, shown=shown), students)
            yield slice(first, first + n), *shown[1:]

    def arranged(self) -> "FusedEngine":
        counts, sums = self._work
        sums = None if self.sums is None else sums
        return self if self._arranged is None else FusedEngine(counts, sums, weight=self._often)

    def _pass(self, tables: Tables, nodes: Nodes) -> "_Pass":
        return _Pass(*self._work, self._often, tables, nodes)


def _or_empty(sums: sparse.csr_array | None, n_students: int) -> sparse.csr_array:
    return sums if sums is not None else sparse.csr_array((n_students, 1))


@dataclass(frozen=True, slots=True)
class _Rows:
    """Tables as the compiled code wants them: nodes fill whole vectors, of which the last ones weigh nothing."""

    points: Array
    weights: Array
    log_weights: Array
    logs: Array
    """(cells, nodes): the tables themselves."""
    factors: Array
    """(cells, nodes): exp(log - level - slope t)."""
    level: Array
    slope: Array
    reach: Array
    """(cells,): largest magnitude of a factor's logarithm; infinite where a cell has none."""


def _rows(tables: Tables, nodes: Nodes) -> _Rows:
    points, size = nodes.points, len(nodes.points)
    width = padded(size)
    logs = np.zeros((len(tables.cells), width))
    logs[:, :size] = tables.cells
    first, last = tables.cells[:, 0], tables.cells[:, -1]
    with np.errstate(invalid="ignore", over="ignore"):
        slope = (last - first) / (points[-1] - points[0])
        level = first - slope * points[0]
        factors = tables.cells - level[:, None]
        factors -= np.multiply.outer(slope, points)
        reach = np.maximum(np.abs(factors.min(axis=1)), np.abs(factors.max(axis=1)))
    usable = reach < _RANGE
    factors[~usable] = 0.0
    np.exp(factors, out=factors)
    ready = np.ones_like(logs)
    ready[:, :size] = factors
    more = width - size
    return _Rows(
        np.append(points, np.zeros(more)),
        np.append(np.exp(nodes.log_weights), np.zeros(more)),
        np.append(nodes.log_weights, np.full(more, -np.inf)),
        logs,
        ready,
        np.where(usable, level, 0.0),
        np.where(usable, slope, 0.0),
        np.where(usable, reach, np.inf),
    )


class _Pass:
    """Tables on a grid, and the students to be gone over."""

    def __init__(
        self,
        counts: sparse.csr_array,
        sums: sparse.csr_array,
        weight: Array | None,
        tables: Tables,
        nodes: Nodes,
    ) -> None:
        self.rows = rows = _rows(tables, nodes)
        self.linear = np.zeros(1) if tables.linear is None else np.ascontiguousarray(tables.linear)
        self._work = (
            (counts.indptr, counts.indices, counts.data),
            (sums.indptr, sums.indices, sums.data, self.linear),
            (rows.factors, rows.logs, rows.level, rows.slope, rows.reach),
            (rows.points, rows.weights, rows.log_weights, nodes.step),
            weight,
        )

    def over(
        self,
        span: tuple[int, int],
        found: tuple[Array, Array, Array, Array] | None = None,
        shown: tuple[int, Array, Array] | None = None,
    ) -> float:
        """Go over a span of students and return their log-likelihood.

        Filled: what is to be `found` of them, their part of the expected counts and of the weighted sums, and their
        means and standard deviations; or what is to be `shown`, the posteriors and log-likelihoods from a student on.
        """
        late = np.zeros(span[1] - span[0] + 1, dtype=np.int64)
        loglik = _by_products(*span, *self._work, found, shown, late)
        if late[0]:
            loglik += _by_logarithms(late[1 : late[0] + 1], *self._work, found, shown)
        return float(loglik)


_FAST = ("contract", "reassoc", "nsz", "arcp", "nnan")


@compiled(*_FAST)
def _by_products(first, last, counts, sums, rows, nodes, weight, found, shown, late):  # type: ignore[no-untyped-def]
    """Return the log-likelihood, and fill what is `found` of the students or, where they are `shown`, their posteriors.

    Students out of range are put into `late`, whose first entry counts them. What is None is not compiled.
    """
    indptr, indices, times = counts
    sums_indptr, sums_indices, sums_data, linear = sums
    factors, _, level, slope, reach = rows
    points, weights, _, step = nodes
    size = len(points)
    joint, powers = np.empty(size), np.empty(size)
    lowest = points[0]
    furthest = max(abs(lowest), abs(lowest + step * (size - 1)))
    loglik = 0.0
    for n in range(first, last):
        begin, end = indptr[n], indptr[n + 1]
        constant, tilt, distance = 0.0, 0.0, 0.0
        for at in range(sums_indptr[n], sums_indptr[n + 1]):
            tilt += linear[sums_indices[at]] * sums_data[at]
        for at in range(begin, end):
            cell = indices[at]
            constant += times[at] * level[cell]
            tilt += times[at] * slope[cell]
            distance += times[at] * reach[cell] if times[at] == np.floor(times[at]) else np.inf
        if not distance + abs(tilt) * furthest < _RANGE:
            late[0] += 1
            late[late[0]] = n
            continue

        # exp(tilt t_q), a geometric sequence: the first sixteen, then each sixteen from the sixteen before.
        ratio = np.exp(tilt * step)
        square = ratio * ratio
        fourth = square * square
        eighth = fourth * fourth
        sixteenth = eighth * eighth
        powers[0] = np.exp(tilt * lowest)
        powers[1] = powers[0] * ratio
        powers[2] = powers[0] * square
        powers[3] = powers[1] * square
        for q in range(4):
            powers[4 + q] = powers[q] * fourth
        for q in range(8):
            powers[8 + q] = powers[q] * eighth
        for q in range(16, size):
            powers[q] = powers[q - 16] * sixteenth

        at = begin
        if end - begin > 1 and times[begin] == 1 and times[begin + 1] == 1:
            one, other = factors[indices[begin]], factors[indices[begin + 1]]
            for q in range(size):
                joint[q] = weights[q] * powers[q] * (one[q] * other[q])
            at = begin + 2
        else:
            for q in range(size):
                joint[q] = weights[q] * powers[q]
        while at < end:
            row = factors[indices[at]]
            for _ in range(int(times[at])):
                for q in range(size):
                    joint[q] *= row[q]
            at += 1
        often = 1.0
        if weight is not None:
            often = weight[n]
        if found is not None:
            loglik += often * (constant + _settle(n, often, joint, points, counts, sums, found))
        if shown is not None:
            loglik += _put(n, constant, joint, shown)
    return loglik


@compiled(*_FAST)
def _by_logarithms(students, counts, sums, rows, nodes, weight, found, shown):  # type: ignore[no-untyped-def]
    """The same for students whose products might leave the range of doubles."""
    indptr, indices, times = counts
    sums_indptr, sums_indices, sums_data, linear = sums
    logs, points, log_weights = rows[1], nodes[0], nodes[2]
    size = len(points)
    joint, rounded, scale = np.empty(size), np.empty(size), np.empty(size)
    rounded_bits, scale_bits = rounded.view(np.int64), scale.view(np.int64)
    loglik = 0.0
    for n in students:
        own = 0.0
        for at in range(sums_indptr[n], sums_indptr[n + 1]):
            own += linear[sums_indices[at]] * sums_data[at]
        for q in range(size):
            joint[q] = log_weights[q] + own * points[q]
        for at in range(indptr[n], indptr[n + 1]):
            row, often = logs[indices[at]], times[at]
            for q in range(size):
                joint[q] += often * row[q]
        top = joint[0]
        for q in range(1, size):
            top = max(top, joint[q])
        exponentials(joint, top, rounded, rounded_bits, scale, scale_bits)
        often = 1.0
        if weight is not None:
            often = weight[n]
        if found is not None:
            loglik += often * (top + _settle(n, often, joint, points, counts, sums, found))
        if shown is not None:
            loglik += _put(n, top, joint, shown)
    return loglik


@compiled(*_FAST, inline=True)
def _settle(n, often, joint, points, counts, sums, found):  # type: ignore[no-untyped-def]
    """From a student's joint probabilities: its moments, its part of the expected counts as often as it occurs, and its
    log-likelihood. Standard deviations and counts without room are not wanted."""
    indptr, indices, times = counts
    expected, weighted, mean, sd = found
    size = len(points)
    total, centre = 0.0, 0.0
    for q in range(size):
        total += joint[q]
        centre += joint[q] * points[q]
    inverse = 1 / total
    centre *= inverse
    mean[n] = centre
    for at in range(sums[0][n], sums[0][n + 1]):
        weighted[sums[1][at]] += often * sums[2][at] * centre
    for at in range(indptr[n], indptr[n + 1]):
        row, share = expected[indices[at]], often * times[at] * inverse
        for q in range(len(row)):
            row[q] += share * joint[q]
    if len(sd) > 0:
        spread = 0.0
        for q in range(size):
            spread += joint[q] * (points[q] - centre) ** 2
        sd[n] = np.sqrt(spread * inverse)
    return np.log(total)


@compiled(*_FAST, inline=True)
def _put(n, scale, joint, shown):  # type: ignore[no-untyped-def]
    """A student's posterior and log-likelihood to their places."""
    first, posterior, own = shown
    total = 0.0
    for q in range(len(joint)):
        total += joint[q]
    inverse = 1 / total
    for q in range(posterior.shape[1]):
        posterior[n - first, q] = joint[q] * inverse
    own[n - first] = scale + np.log(total)
    return own[n - first]
