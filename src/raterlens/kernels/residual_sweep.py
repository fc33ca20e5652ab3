"""Predictions averaged over posteriors, for large data: twins of `diagnostics/posterior.py`."""

import numpy as np
from numpy.typing import NDArray

from raterlens.kernels.compiling import compiled
from raterlens.kernels.exponential import exponentials
from raterlens.types import Array

Codes = NDArray[np.integer]

_FAST = ("contract", "reassoc", "nsz")


def averaged(weights: Array, weight: Codes, table: Array, row: Codes) -> Array:
    """`sum_q weights[weight_i, q] table[row_i, q]` for every i."""
    out = np.empty(len(row))
    _averaged(weights, weight, table, row, out)
    return out


def agreeing(weights: Array, weight: Codes, prob: Array, one: Codes, two: Codes) -> Array:
    """`sum_q weights[weight_i, q] sum_k prob[one_i, k, q] prob[two_i, k, q]` for every i."""
    out = np.empty(len(one))
    _agreeing(weights, weight, prob, one, two, out)
    return out


@compiled(*_FAST)
def _averaged(weights, weight, table, row, out):  # type: ignore[no-untyped-def]
    size = weights.shape[1]
    for i in range(len(row)):
        one, two = weights[weight[i]], table[row[i]]
        total = 0.0
        for q in range(size):
            total += one[q] * two[q]
        out[i] = total


@compiled(*_FAST)
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


@compiled(*_FAST)
def _normalise(log, out, t, rounded, rounded_bits, scale, scale_bits):  # type: ignore[no-untyped-def]
    """out <- exp(log) / sum of it; returns its mean and standard deviation over t. The other arrays are scratch."""
    size = len(log)
    top = log[0]
    # Not as slices, here and below: the message about shapes that do not match would take seconds to compile.
    for q in range(size):
        top = max(top, log[q])
        out[q] = log[q]
    exponentials(out, top, rounded, rounded_bits, scale, scale_bits)
    total = mean = 0.0
    for q in range(size):
        total += out[q]
        mean += out[q] * t[q]
    inverse = 1 / total
    mean *= inverse
    spread = 0.0
    for q in range(size):
        out[q] *= inverse
        spread += out[q] * (t[q] - mean) ** 2
    return mean, np.sqrt(spread)


@compiled(*_FAST)
def sweep(span, by_rater, ratings, tables, nodes, found):  # type: ignore[no-untyped-def]
    """Fill in what is `found` of a span of students: numbers of ratings, of pairs, of students, and posteriors.

    `by_rater`: pairs in the order of their raters, since the tables of all raters are larger than the cache.
    """
    first_pair, first_rating, order, context, given = ratings
    log_prob, prob, standardised, mean, variance, kurtosis = tables
    t, prior, prior_apart = nodes
    of_rating, of_pair, of_judged, posterior = found
    size, n_scores, offset = len(t), prob.shape[1], first_pair[span[0]]
    rounded, scale = np.empty(size), np.empty(size)
    rounded_bits, scale_bits = rounded.view(np.int64), scale.view(np.int64)

    said = np.zeros((len(by_rater), size))
    for j in by_rater:
        for i in range(first_rating[offset + j], first_rating[offset + j + 1]):
            row = log_prob[context[order[i]] * n_scores + given[order[i]]]
            for q in range(size):
                said[j, q] += row[q]

    joint, whose = np.empty((span[1] - span[0], size)), np.empty(len(by_rater), np.int64)
    for n in range(span[0], span[1]):
        own, before = joint[n - span[0]], prior[n if len(prior) > 1 else 0]
        for q in range(size):
            own[q] = before[q]
        for p in range(first_pair[n], first_pair[n + 1]):
            whose[p - offset] = n
            for q in range(size):
                own[q] += said[p - offset, q]
        of_judged[0, n], of_judged[1, n] = _normalise(
            own, posterior[n - span[0]], t, rounded, rounded_bits, scale, scale_bits
        )

    without, cavity, away = np.empty(size), np.empty(size), np.empty(size)
    for j in by_rater:
        p, n = offset + j, whose[j]
        own, ability = posterior[n - span[0]], of_judged[0, n]
        for q in range(size):
            without[q] = joint[n - span[0], q] - said[j, q]
            away[q] = 0.0
        if len(prior_apart) > 0:
            for q in range(size):
                without[q] += prior_apart[p, q] - prior[n, q]
        of_pair[2, p], of_pair[3, p] = _normalise(
            without, cavity, t, rounded, rounded_bits, scale, scale_bits
        )
        squares = deviations = variances = 0.0
        for i in range(first_rating[p], first_rating[p + 1]):
            at = order[i]
            c, y = context[at], float(given[at])
            m, v, k, s = mean[c], variance[c], kurtosis[c], standardised[c * n_scores + given[at]]
            chance = prob[c, given[at]]
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
                away[q] += y - m[q]
            square = y * y - 2 * y * e + em2
            squares += square
            deviations += np.sqrt(ev)
            variances += ev
            of_rating[0, at] = e
            of_rating[1, at] = ev
            of_rating[2, at] = square
            of_rating[3, at] = es
            of_rating[4, at] = ek
            of_rating[5, at] = y - e
            of_rating[6, at] = y * ability - et
            of_rating[7, at] = ec
            of_rating[8, at] = f
            of_rating[9, at] = f2 - f * f
        total = 0.0
        for q in range(size):
            total += own[q] * away[q] ** 2
        of_pair[0, p] = total - squares
        of_pair[1, p] = deviations**2 - variances
