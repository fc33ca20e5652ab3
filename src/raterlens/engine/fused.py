"""The engine for large data: one compiled pass over the students, on all cores.

The same sums as the readable engine (`reference.py`, the twin that a test holds it to), with two ideas more.

Products instead of exponentials. Of a cell's log-probabilities take away the straight line through their ends, and
tabulate the exponential of what is left, once for all students. A student's posterior is then a product of such rows
times exp(slope t_q), and on equally spaced nodes that is a geometric sequence: two exponentials a student, not one a
node. A student whose products might leave the range of doubles (several dozen steep ratings, or impossible cells)
goes the long way, through sums of logarithms.

A posterior stays in the processor's cache from its products to the expected counts.

Numba is imported by `compiling.py`, and that only here and in `inference/fused.py`: small data never pay for it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from raterlens.compiled.compiling import compiled
from raterlens.compiled.exponential import exponentials, padded
from raterlens.engine.reference import ReferenceEngine
from raterlens.engine.seam import Array, Expected, Moments, Nodes, Tables
from raterlens.parallel import available_cores, in_threads, spans

# Products within exp(+-600) stay well inside the range of doubles.
_RANGE = 600.0
# Cells that are kept together at least.
_BLOCK = 32
# Numbers of posteriors at a time.
_POSTERIORS = 2**18


class FusedEngine(ReferenceEngine):
    """Evaluates tables by compiled code, students shared out over threads."""

    compiled = True

    def __init__(
        self,
        counts: sparse.csr_array,
        sums: sparse.csr_array | None = None,
        threads: int | None = None,
        *,
        reorder: bool = False,
    ) -> None:
        """`reorder` the students for the processor's cache, which takes as long as one evaluation and saves a quarter
        of each."""
        super().__init__(counts, sums)
        self._order = neighbours(counts) if reorder else None
        work = counts, _or_none(sums, self.n_students)
        self._work = work if self._order is None else tuple(matrix[self._order] for matrix in work)
        # Parts of equal work, by nonzeros.
        marks = np.linspace(0, counts.nnz, (threads or available_cores()) + 1)
        edges = np.searchsorted(self._work[0].indptr, marks)
        edges[0], edges[-1] = 0, self.n_students
        self._parts = [(int(a), int(b)) for a, b in pairwise(edges) if a < b]
        self._whole = bool(np.all(counts.data == np.rint(counts.data)))

    def evaluate(self, tables: Tables, nodes: Nodes) -> Expected:
        return self._run(tables, nodes, np.empty(0))[0]

    def moments(self, tables: Tables, nodes: Nodes) -> Moments:
        found = self._run(tables, nodes, np.empty(self.n_students))[1]
        if self._order is None:
            return found
        mean, sd = np.empty_like(found.mean), np.empty_like(found.sd)
        mean[self._order], sd[self._order] = found.mean, found.sd
        return Moments(mean, sd)

    def posteriors(self, tables: Tables, nodes: Nodes) -> Iterator[tuple[slice, Array, Array]]:
        work = _Pass(self.counts, _or_none(self.sums, self.n_students), tables, nodes, whole=self._whole)
        size = max(1, _POSTERIORS // len(nodes.points))
        for first in range(0, self.n_students, size):
            n = min(size, self.n_students - first)
            shown = first, np.empty((n, len(nodes.points))), np.empty(n)
            students = [(first + begin, first + end) for begin, end in spans(n)]
            in_threads(partial(work.over, shown=shown), students)
            yield slice(first, first + n), *shown[1:]

    def ordered(self) -> "FusedEngine":
        """The same students in the order in which they are worked on."""
        counts, sums = self._work
        return self if self._order is None else FusedEngine(counts, None if self.sums is None else sums)

    def _run(self, tables: Tables, nodes: Nodes, sd: Array) -> tuple[Expected, Moments]:
        counts, sums = self._work
        work, mean = _Pass(counts, sums, tables, nodes, whole=self._whole), np.empty(self.n_students)

        def part(span: tuple[int, int]) -> tuple[float, Array, Array]:
            expected, weighted = np.zeros_like(work.rows.factors), np.zeros_like(work.linear)
            return work.over(span, found=(expected, weighted, mean, sd)), expected, weighted

        done = in_threads(part, self._parts)
        _, expected, weighted = done[0]
        for _, more, more_weighted in done[1:]:
            expected += more
            weighted += more_weighted
        expected = np.ascontiguousarray(expected[:, : len(nodes.points)])
        loglik = sum(part[0] for part in done)
        return Expected(loglik, expected, None if self.sums is None else weighted), Moments(mean, sd)


def _or_none(sums: sparse.csr_array | None, n_students: int) -> sparse.csr_array:
    return sums if sums is not None else sparse.csr_array((n_students, 1))


def neighbours(counts: sparse.csr_array) -> NDArray[np.int64]:
    """Students in an order in which those with cells close to each other follow each other.

    Cells are taken in blocks, the larger the fewer students there are for each pair of blocks.
    """
    students, cells = counts.shape
    if not counts.nnz:
        return np.arange(students)
    block = max(_BLOCK, cells**2 // students)
    begin = np.minimum(counts.indptr[:-1], counts.nnz - 1)
    first, last = (counts.indices[at] // block for at in (begin, counts.indptr[1:] - 1))
    blocks = cells // block + 1
    # Numbers of 16 bits are sorted without comparing them.
    kind = np.uint16 if blocks**2 <= 2**16 else np.int64
    return np.argsort((first.astype(np.int64) * blocks + last).astype(kind), kind="stable")


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


def _rows(tables: Tables, nodes: Nodes, *, whole: bool) -> _Rows:
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
    usable = (reach < _RANGE) & whole
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
        self, counts: sparse.csr_array, sums: sparse.csr_array, tables: Tables, nodes: Nodes, *, whole: bool
    ) -> None:
        self.rows = rows = _rows(tables, nodes, whole=whole)
        self.linear = np.zeros(1) if tables.linear is None else np.ascontiguousarray(tables.linear)
        self._work = (
            (counts.indptr, counts.indices, counts.data),
            (sums.indptr, sums.indices, sums.data, self.linear),
            (rows.factors, rows.logs, rows.level, rows.slope, rows.reach),
            (rows.points, rows.weights, rows.log_weights, nodes.step),
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
def _by_products(first, last, counts, sums, rows, nodes, found, shown, late):  # type: ignore[no-untyped-def]
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
            distance += times[at] * reach[cell]
        if not distance + abs(tilt) * furthest < _RANGE:
            late[0] += 1
            late[late[0]] = n
            continue

        # exp(tilt t_q), a geometric sequence: the first eight, then each eight from the eight before.
        ratio = np.exp(tilt * step)
        square = ratio * ratio
        fourth = square * square
        eighth = fourth * fourth
        powers[0] = np.exp(tilt * lowest)
        powers[1] = powers[0] * ratio
        powers[2] = powers[0] * square
        powers[3] = powers[1] * square
        for q in range(4):
            powers[4 + q] = powers[q] * fourth
        for q in range(8, size):
            powers[q] = powers[q - 8] * eighth

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
        if found is not None:
            loglik += constant + _settle(n, joint, points, counts, sums, found)
        if shown is not None:
            loglik += _put(n, constant, joint, shown)
    return loglik


@compiled(*_FAST)
def _by_logarithms(students, counts, sums, rows, nodes, found, shown):  # type: ignore[no-untyped-def]
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
        if found is not None:
            loglik += top + _settle(n, joint, points, counts, sums, found)
        if shown is not None:
            loglik += _put(n, top, joint, shown)
    return loglik


@compiled(*_FAST, inline=True)
def _settle(n, joint, points, counts, sums, found):  # type: ignore[no-untyped-def]
    """From a student's joint probabilities: its moments, its part of the expected counts, its log-likelihood."""
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
        weighted[sums[1][at]] += sums[2][at] * centre
    for at in range(indptr[n], indptr[n + 1]):
        row, share = expected[indices[at]], times[at] * inverse
        for q in range(size):
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
