"""Students' posteriors from a model's tables, in one pass: the compiled twin of `likelihood/engines/numpy.py`.

Two ideas make it fast. First, products instead of exponentials. Subtract from a cell's log-probabilities the straight
line through their ends, and tabulate the exponential of what is left, once for all students. A student's posterior is
then a product of such rows times exp(slope t_q), which on equally spaced nodes is a geometric sequence: two
exponentials per student, not one per node. A student whose products might leave the range of doubles (several dozen
steep ratings, or impossible cells), or with a fractional count, goes the long way, through sums of logarithms.

Second, a posterior stays in the processor's registers and nearest cache from its products to the expected counts.

Posteriors that are too narrow for the nodes can be gone over in between (`Between`), by logarithms as well.
"""

from dataclasses import dataclass

import numpy as np

from raterlens.base.arrays import Array, Indices
from raterlens.base.threads import in_threads, spans
from raterlens.kernels.library import (
    Doubles,
    Integer,
    Ints,
    Longs,
    Real,
    SparseRows,
    Struct,
    inside,
    kernel,
    padded,
    refuse_unless,
    same,
)

# Numbers of tables that are worth a thread of their own: it takes a tenth of a millisecond to wake.
_LEAST = 2**17
# Products within exp(+-600) stay well inside the range of doubles.
RANGE = 600.0


STENCIL = 24
"""Nodes that what lies between them is interpolated from, as in `c/posterior_pass.c`."""


@dataclass(frozen=True, slots=True, eq=False)
class OnNodes:
    """Nodes that fill whole vectors, of which the last ones weigh nothing."""

    points: Array
    weights: Array
    log_weights: Array
    step: float
    width: int
    """Nodes without those that fill vectors."""

    @staticmethod
    def of(points: Array, log_weights: Array, step: float) -> "OnNodes":
        n = len(points)
        refuse_unless(same(n, len(log_weights)) and n > 0, "nodes")
        of_all = np.zeros((3, padded(n)))
        of_all[0, :n], of_all[2, :n], of_all[2, n:] = points, log_weights, -np.inf
        np.exp(log_weights, out=of_all[1, :n])
        return OnNodes(of_all[0], of_all[1], of_all[2], step, n)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Tables on nodes."""

    nodes: OnNodes
    logs: Array
    """(cells, width): the tables themselves, nodes without those that fill vectors."""
    factors: Array
    """(cells, nodes): exp(log - level - slope t)."""
    level: Array
    slope: Array
    reach: Array
    """(cells,): largest magnitude of a factor's logarithm; infinite where a cell has none."""

    bend: Array | None
    """(cells,): how much a cell's logarithms bend down at most; None where no posterior can be too narrow."""

    @staticmethod
    def of(logs: Array, nodes: OnNodes, *, bent: bool = False) -> "Rows":
        logs, width, size = Doubles.of(logs), nodes.width, len(nodes.points)
        refuse_unless(same(width, logs.shape[1]), "nodes of the tables")
        factors, (level, slope, reach) = np.empty((len(logs), size)), np.empty((3, len(logs)))
        bend = np.empty(len(logs)) if bent else None

        def part(span: tuple[int, int]) -> None:
            _factor_rows(*span, logs, width, nodes.points, size, RANGE, factors, level, slope, reach, bend)

        in_threads(part, spans(len(logs), _LEAST // width))
        return Rows(nodes, logs, factors, level, slope, reach, bend)


@dataclass(frozen=True, slots=True, eq=False)
class Between:
    """Where posteriors are too narrow for the nodes: steps are divided there."""

    parts: int
    weights: Array
    """(positions, nodes of a stencil): of the interpolation, at every node in between from its first to its last."""
    variance: float
    """Posteriors of less are too narrow."""

    def fits(self, rows: Rows) -> bool:
        if self.parts == 1:
            return True
        positions = (STENCIL - 1) * self.parts + 1
        bent = rows.bend is not None and len(rows.bend) == len(rows.logs)
        return bent and rows.logs.shape[1] >= STENCIL and self.weights.shape == (positions, STENCIL)


NOWHERE = Between(1, np.zeros((1, 1)), 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Students:
    counts: SparseRows
    sums: SparseRows
    linear: Array
    """Factor of each sum."""
    weight: Array | None
    """How many students each row stands for, where not for one."""

    def fit(self, rows: Rows) -> bool:
        """Whether their cells and sums are those of the tables."""
        n = self.counts.shape[0]
        known = same(n, self.sums.shape[0], n if self.weight is None else len(self.weight))
        return known and self.counts.shape[1] <= len(rows.logs) and self.sums.shape[1] <= len(self.linear)


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Arrays that a pass fills, or adds to; None for those not asked for."""

    expected: Array | None = None
    """(cells, nodes): expected counts."""
    weighted: Array | None = None
    """Sums times the students' means."""
    mean: Array | None = None
    sd: Array | None = None
    first: int = 0
    """The student with whom posteriors and log-likelihoods begin."""
    posterior: Array | None = None
    """(students, nodes), nodes without those that fill vectors."""
    loglik: Array | None = None

    def fit(self, span: tuple[int, int], students: Students, rows: Rows) -> bool:
        """Whether there is room for what is found of a span of students."""
        n, last = students.counts.shape[0], span[1] - self.first
        return (
            0 <= self.first <= span[0] <= span[1] <= n
            and (self.expected is None or self.expected.shape == rows.factors.shape)
            and (self.weighted is None or len(self.weighted) >= students.sums.shape[1])
            and all(each is None or len(each) == n for each in (self.mean, self.sd))
            and all(each is None or len(each) >= last for each in (self.posterior, self.loglik))
            and (self.posterior is None or self.posterior.shape[1] <= len(rows.nodes.points))
        )


# `Pass` of `c/posterior_pass.c`.
_Pass = Struct.of(
    *(("indptr", Longs), ("indices", Ints), ("times", Doubles)),
    *(
        ("sums_indptr", Longs),
        ("sums_indices", Ints),
        ("sums_data linear weight", Doubles),
    ),
    *(("factors level slope reach logs bend", Doubles), ("width size", Integer)),
    *(("points weights log_weights", Doubles), ("step", Real)),
    *(("parts", Integer), ("between", Doubles), ("variance", Real), ("expected weighted mean sd", Doubles)),
    *(("shown_first shown_width", Integer), ("posterior own", Doubles), ("range", Real)),
)
_factor_rows = kernel("factor_rows", *[Integer] * 2, Doubles, Integer, Doubles, Integer, Real, *[Doubles] * 5)
_by_products = kernel("by_products", _Pass.pointer, Integer, Integer, Longs, Doubles, returns=Real)
_by_logarithms = kernel("by_logarithms", _Pass.pointer, Longs, Integer, *[Doubles] * 3, returns=Real)


def go_over(
    span: tuple[int, int], students: Students, rows: Rows, found: Found, between: Between = NOWHERE
) -> float:
    """Go over a span of students, fill what is to be found, and return their log-likelihood."""
    refuse_unless(students.fit(rows) and found.fit(span, students, rows), "students and tables")
    refuse_unless(between.fits(rows), "nodes in between")
    nodes, shown = rows.nodes, found.posterior
    asked = _Pass.filled(
        *(*students.counts.arrays, *students.sums.arrays, students.linear, students.weight),
        *(rows.factors, rows.level, rows.slope, rows.reach, rows.logs, rows.bend),
        *(nodes.width, len(nodes.points), nodes.points, nodes.weights, nodes.log_weights, nodes.step),
        *(between.parts, between.weights, between.variance),
        *(found.expected, found.weighted, found.mean, found.sd),
        *(found.first, 0 if shown is None else shown.shape[1], shown, found.loglik, RANGE),
    )
    joint = np.empty(len(nodes.points))
    late = np.zeros(span[1] - span[0] + 1, dtype=np.int64)
    loglik = _by_products(asked, *span, late, joint)
    if late[0]:
        scratch = np.empty_like(joint), np.empty(between.parts * len(joint))
        loglik += _by_logarithms(asked, late[1:], late[0], joint, *scratch)
    return float(loglik)


_expected_truths = kernel(
    "expected_truths", *[Integer] * 2, *[Longs] * 3, *[Doubles] * 4, Integer, Doubles, Integer, *[Doubles] * 4,
    returns=Real,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Truths:
    loglik: float
    one: Array
    """(student-items,): probability that the true category is 1."""
    at_nodes: Array
    """(categories, items, nodes): expected student-items of each category at each ability."""


def expected_truths(
    units: tuple[Indices, Indices, Indices], log_given: Array, prevalence: Array, log_weights: Array
) -> Truths:
    """Expected true categories of students with ratings.

    Parameters
    ----------
    units
        Student, item and cell of every student-item, in the order of the students.
    log_given
        (cells, categories): log-probability of the cell's ratings.
    prevalence
        (categories, items, nodes)
    log_weights
        (nodes,)
    """
    student, item, cell = map(Longs.of, units)
    size = len(log_weights)
    fitting = same(len(student), len(item), len(cell)) and inside(cell, len(log_given))
    fitting = fitting and inside(item, prevalence.shape[1]) and same(prevalence.shape[2], size)
    refuse_unless(fitting and same(2, len(prevalence), log_given.shape[1]), "student-items")
    more = padded(size) - size
    # Nodes that are added weigh nothing.
    weights = np.append(np.exp(log_weights), np.zeros(more))
    fail, succeed = np.pad(prevalence, [(0, 0), (0, 0), (0, more)], constant_values=0.5)
    top = log_given.max(axis=1)
    given = Doubles.of(np.exp(log_given - top[:, None]))
    first = np.flatnonzero(np.diff(student, prepend=-1, append=student[-1] + 1))
    one, most = np.empty(len(student)), int(np.diff(first).max())

    def part(span: tuple[int, int]) -> tuple[float, Array]:
        own, joint, total = (
            np.zeros((2, *succeed.shape)),
            np.empty(len(weights)),
            np.empty((most, len(weights))),
        )
        known = first, item, cell, given, top, fail, succeed, len(succeed), weights, len(weights)
        return _expected_truths(*span, *known, joint, total, one, own), own

    done = in_threads(part, spans(len(first) - 1))
    at_nodes = np.sum([own for _, own in done], axis=0)[..., :size]
    return Truths(sum(loglik for loglik, _ in done), one, at_nodes)
