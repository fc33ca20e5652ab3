"""Compiled twins of `posterior.sweep` and of the sums in `averages.py`, for large data."""

import numpy as np
from numpy.typing import NDArray

from raterlens.compiled.compiling import compiled
from raterlens.diagnostics.posterior import Block, Pass

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


def sweep(work: Pass, block: Block, context: Indices, given: Indices) -> Array:
    """Fill in one block from the contexts and scores of its ratings; return the posteriors of its students."""
    tables, nodes = work.tables, work.nodes
    posterior = np.empty((block.judged.stop - block.judged.start, len(nodes.points)))
    _sweep(
        block.judged.start,
        block.judged.stop,
        work.first_pair,
        work.first_rating,
        block.ratings,
        context,
        given,
        tables.log_prob,
        tables.prob,
        tables.standardised,
        tables.mean,
        tables.variance,
        tables.kurtosis,
        nodes.points,
        work.prior,
        work.prior_apart,
        work.of_rating,
        work.of_pair,
        work.of_judged,
        posterior,
    )
    return posterior


def averaged(weights: Array, weight: Indices, table: Array, row: Indices) -> Array:
    """`sum_q weights[weight_i, q] table[row_i, q]` for every i."""
    out = np.empty(len(row))
    _averaged(weights, weight, table, row, out)
    return out


def agreeing(weights: Array, weight: Indices, prob: Array, one: Indices, two: Indices) -> Array:
    """`sum_q weights[weight_i, q] sum_k prob[one_i, k, q] prob[two_i, k, q]` for every i."""
    out = np.empty(len(one))
    _agreeing(weights, weight, prob, one, two, out)
    return out


@compiled("contract", "reassoc", "nsz")
def _averaged(weights, weight, table, row, out):  # type: ignore[no-untyped-def]
    size = weights.shape[1]
    for i in range(len(row)):
        one, two = weights[weight[i]], table[row[i]]
        total = 0.0
        for q in range(size):
            total += one[q] * two[q]
        out[i] = total


@compiled("contract", "reassoc", "nsz")
def _agreeing(weights, weight, prob, one, two, out):  # type: ignore[no-untyped-def]
    n_scores, size = prob.shape[1:]
    for i in range(len(one)):
        w = weights[weight[i]]
        total = 0.0
        for k in range(n_scores):
            a, b = prob[one[i], k], prob[two[i], k]
            for q in range(size):
                total += w[q] * a[q] * b[q]
        out[i] = total


@compiled("contract", "reassoc", "nsz")
def _normalise(log, out, t):  # type: ignore[no-untyped-def]
    """out <- exp(log) / sum of it; returns its mean and standard deviation over t."""
    size = len(log)
    top = log[0]
    for q in range(1, size):
        top = max(top, log[q])
    total = 0.0
    for q in range(size):
        out[q] = np.exp(log[q] - top)
        total += out[q]
    mean = 0.0
    for q in range(size):
        out[q] /= total
        mean += out[q] * t[q]
    spread = 0.0
    for q in range(size):
        spread += out[q] * (t[q] - mean) ** 2
    return mean, np.sqrt(spread)


@compiled("contract", "reassoc", "nsz")
def _sweep(  # type: ignore[no-untyped-def]
    start,
    stop,
    first_pair,
    first_rating,
    place,
    context,
    given,
    log_prob,
    prob,
    standardised,
    mean,
    variance,
    kurtosis,
    t,
    prior,
    prior_apart,
    of_rating,
    of_pair,
    of_judged,
    posterior,
):
    size, n_scores = len(t), prob.shape[1]
    offset = first_rating[first_pair[start]]
    joint, without, cavity, away = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    for n in range(start, stop):
        before = prior[n if len(prior) > 1 else 0]
        joint[:] = before
        for i in range(first_rating[first_pair[n]] - offset, first_rating[first_pair[n + 1]] - offset):
            row = log_prob[context[i] * n_scores + given[i]]
            for q in range(size):
                joint[q] += row[q]
        own = posterior[n - start]
        ability, sd = _normalise(joint, own, t)
        of_judged[0, n], of_judged[1, n] = ability, sd
        for p in range(first_pair[n], first_pair[n + 1]):
            first, last = first_rating[p] - offset, first_rating[p + 1] - offset
            without[:] = joint
            if len(prior_apart) > 0:
                for q in range(size):
                    without[q] += prior_apart[p, q] - before[q]
            for i in range(first, last):
                row = log_prob[context[i] * n_scores + given[i]]
                for q in range(size):
                    without[q] -= row[q]
            of_pair[2, p], of_pair[3, p] = _normalise(without, cavity, t)
            away[:] = 0.0
            squares = deviations = variances = 0.0
            for i in range(first, last):
                c, y = context[i], float(given[i])
                cell = c * n_scores + given[i]
                m, v, k, s, chance = mean[c], variance[c], kurtosis[c], standardised[cell], prob[c, given[i]]
                e = ev = em2 = es = ek = et = f = f2 = ec = 0.0
                for q in range(size):
                    w, wm, x = own[q], own[q] * m[q], cavity[q]
                    e += wm
                    em2 += wm * m[q]
                    et += wm * t[q]
                    ev += w * v[q]
                    es += w * s[q]
                    ek += w * k[q]
                    f += x * m[q]
                    f2 += x * (v[q] + m[q] * m[q])
                    ec += x * chance[q]
                for q in range(size):
                    away[q] += y - m[q]
                square = y * y - 2 * y * e + em2
                squares += square
                deviations += np.sqrt(ev)
                variances += ev
                at = place[i]
                of_rating[0, at] = e
                of_rating[1, at] = ev
                of_rating[2, at] = square
                of_rating[3, at] = es
                of_rating[4, at] = ek
                of_rating[5, at] = y - e
                of_rating[6, at] = y * ability - et
                of_rating[7, at] = ev
                of_rating[8, at] = ec
                of_rating[9, at] = f
                of_rating[10, at] = f2 - f * f
            total = 0.0
            for q in range(size):
                total += own[q] * away[q] ** 2
            of_pair[0, p] = total - squares
            of_pair[1, p] = deviations**2 - variances
