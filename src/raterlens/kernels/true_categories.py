"""True categories of student-items given a student's ratings, for large data: one pass over the students
(`c/true_categories.c`).

The same sums as `LatentClassMarginal` finds with tables over cells, its readable twin, without any table: the
probability of a student-item's ratings at an ability is a mixture of two numbers, and a student has few of them.
"""

from dataclasses import dataclass

import numpy as np

from raterlens.base.arrays import Array, Indices
from raterlens.base.threads import in_threads, spans
from raterlens.kernels.exponential import padded
from raterlens.kernels.library import Doubles, Integer, Longs, Real, inside, kernel, refuse_unless, same

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
