"""True categories of student-items given a student's ratings, for large data: one compiled pass over the students.

The same sums as `LatentClassMarginal` finds with tables over cells, its readable twin, without any table: the
probability of a student-item's ratings at an ability is a mixture of two numbers, and a student has few of them.
"""

from dataclasses import dataclass

import numpy as np

from raterlens.kernels.compiling import compiled
from raterlens.kernels.exponential import padded
from raterlens.parallel.threads import in_threads, spans
from raterlens.types import Array, Indices


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
    """Of students with ratings.

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
    student, item, cell = units
    size = len(log_weights)
    more = padded(size) - size
    # Nodes that are added weigh nothing.
    weights = np.append(np.exp(log_weights), np.zeros(more))
    fail, succeed = np.pad(prevalence, [(0, 0), (0, 0), (0, more)], constant_values=0.5)
    top = log_given.max(axis=1)
    given = np.exp(log_given - top[:, None])
    first = np.flatnonzero(np.diff(student, prepend=-1, append=student[-1] + 1))
    one = np.empty(len(student))

    def part(span: tuple[int, int]) -> tuple[float, Array]:
        own = np.zeros((2, *succeed.shape))
        return _pass(*span, first, (item, cell), (given, top), (fail, succeed), weights, one, own), own

    done = in_threads(part, spans(len(first) - 1))
    at_nodes = np.sum([own for _, own in done], axis=0)[..., :size]
    return Truths(sum(loglik for loglik, _ in done), one, at_nodes)


@compiled("contract", "reassoc", "nsz", "nnan", "arcp")
def _pass(start, stop, first, units, given, prevalence, weights, one, truths):  # type: ignore[no-untyped-def]
    item, cell = units
    likelihood, top = given
    fail, succeed = prevalence
    size, most = len(weights), 0
    for n in range(start, stop):
        most = max(most, first[n + 1] - first[n])
    joint, total = np.empty(size), np.empty((most, size))
    loglik = 0.0
    for n in range(start, stop):
        begin, end = first[n], first[n + 1]
        joint[:] = weights
        for u in range(begin, end):
            c, i, here = cell[u], item[u], total[u - begin]
            of_fail, of_success = likelihood[c, 0], likelihood[c, 1]
            loglik += top[c]
            for q in range(size):
                here[q] = fail[i, q] * of_fail + succeed[i, q] * of_success
                joint[q] *= here[q]
            if (u - begin) % 8 == 7:  # before the products leave the range of doubles
                peak = 0.0
                for q in range(size):
                    peak = max(peak, joint[q])
                loglik += np.log(peak)
                for q in range(size):
                    joint[q] /= peak
        mass = 0.0
        for q in range(size):
            mass += joint[q]
        loglik += np.log(mass)
        for q in range(size):
            joint[q] /= mass
        for u in range(begin, end):
            c, i, here = cell[u], item[u], total[u - begin]
            of_success, sure = likelihood[c, 1], 0.0
            none, some = truths[0, i], truths[1, i]
            for q in range(size):
                share = joint[q] * succeed[i, q] * of_success / max(here[q], 1e-300)
                some[q] += share
                none[q] += joint[q] - share
                sure += share
            one[u] = sure
    return loglik
