"""Students' posteriors from a model's tables, in one pass: the compiled twin of `engine/numpy_engine.py`.

Two ideas make it fast. First, products instead of exponentials. Subtract from a cell's log-probabilities the straight
line through their ends, and tabulate the exponential of what is left, once for all students. A student's posterior is
then a product of such rows times exp(slope t_q), which on equally spaced nodes is a geometric sequence: two
exponentials per student, not one per node. A student whose products might leave the range of doubles (several dozen
steep ratings, or impossible cells), or with a fractional count, goes the long way, through sums of logarithms.

Second, a posterior stays in the processor's cache from its products to the expected counts.
"""

import numpy as np

from raterlens.kernels.compiling import compiled
from raterlens.kernels.exponential import exponentials

# Products within exp(+-600) stay well inside the range of doubles.
RANGE = 600.0

_FAST = ("contract", "reassoc", "nsz", "arcp", "nnan")


@compiled(*_FAST)
def by_products(first, last, counts, sums, rows, nodes, weight, found, shown, late):  # type: ignore[no-untyped-def]
    """Return the log-likelihood, and fill what is `found` of the students or, where they are `shown`, their posteriors.

    Students out of range are put into `late`, whose first entry counts them. Weights, and what is neither found nor
    shown, are arrays without entries rather than None, which would be compiled apart.
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
        if not distance + abs(tilt) * furthest < RANGE:
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
        often = weight[n] if len(weight) > 0 else 1.0
        if len(found[2]) > 0:
            loglik += often * (constant + _settle(n, often, joint, points, counts, sums, found))
        if len(shown[2]) > 0:
            loglik += _put(n, constant, joint, shown)
    return loglik


@compiled(*_FAST)
def by_logarithms(students, counts, sums, rows, nodes, weight, found, shown):  # type: ignore[no-untyped-def]
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
        often = weight[n] if len(weight) > 0 else 1.0
        if len(found[2]) > 0:
            loglik += often * (top + _settle(n, often, joint, points, counts, sums, found))
        if len(shown[2]) > 0:
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
