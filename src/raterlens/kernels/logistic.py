"""Tables of pass/fail ratings through the logit, for large panels: compiled, contexts shared out over threads.

The same numbers as `Adjacent` of `models/responses.py` with two categories, its readable twin.
"""

from collections.abc import Callable

import numpy as np

from raterlens.kernels.compiling import compiled
from raterlens.kernels.exponential import exponentials, padded
from raterlens.parallel.threads import in_threads, spans
from raterlens.types import Array


def log_partition(slope: Array, intercept: Array, points: Array) -> Array:
    """(contexts, nodes): log(1 + exp(a t + e))."""
    out = np.empty((len(slope), len(points)))
    _over_contexts(
        lambda first, last: _softplus(first, last, slope, intercept, _whole(points), out), len(slope)
    )
    return out


def counted_passes(slope: Array, intercept: Array, points: Array, counts: Array) -> tuple[Array, Array]:
    """(contexts,) twice: the sum over nodes of counts times pass rate times ability, and without ability."""
    by_ability, total = np.empty(len(slope)), np.empty(len(slope))

    def part(first: int, last: int) -> None:
        _passes(first, last, slope, intercept, _whole(points), counts, by_ability, total)

    _over_contexts(part, len(slope))
    return by_ability, total


def _over_contexts(part: Callable[[int, int], None], n_contexts: int) -> None:
    in_threads(lambda span: part(*span), spans(n_contexts))


def _whole(points: Array) -> Array:
    return np.pad(points, (0, padded(len(points)) - len(points)))


@compiled("contract", "reassoc", "nsz", "nnan")
def _softplus(first, last, slope, intercept, points, out):  # type: ignore[no-untyped-def]
    size = len(points)
    above, small, rounded, scale = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    rounded_bits, scale_bits = rounded.view(np.int64), scale.view(np.int64)
    for c in range(first, last):
        for q in range(size):
            s = slope[c] * points[q] + intercept[c]
            above[q] = max(s, 0.0)
            small[q] = -abs(s)
        exponentials(small, 0.0, rounded, rounded_bits, scale, scale_bits)
        for q in range(size):
            # log(1 + y) = 2 artanh(u), a series in u^2, which is at most 1/9: so many terms are exact to rounding.
            u = small[q] / (2 + small[q])
            v = u * u
            p = 1 / 33
            p = p * v + 1 / 31
            p = p * v + 1 / 29
            p = p * v + 1 / 27
            p = p * v + 1 / 25
            p = p * v + 1 / 23
            p = p * v + 1 / 21
            p = p * v + 1 / 19
            p = p * v + 1 / 17
            p = p * v + 1 / 15
            p = p * v + 1 / 13
            p = p * v + 1 / 11
            p = p * v + 1 / 9
            p = p * v + 1 / 7
            p = p * v + 1 / 5
            p = p * v + 1 / 3
            small[q] = above[q] + 2 * u * (p * v + 1)
        # One by one: a copy of a slice would compile the words of its error, too, which takes longer than all the rest.
        for q in range(out.shape[1]):
            out[c, q] = small[q]


@compiled("contract", "reassoc", "nsz", "nnan")
def _passes(first, last, slope, intercept, points, counts, by_ability, total):  # type: ignore[no-untyped-def]
    size, within = len(points), counts.shape[1]
    small, rounded, scale, rate = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    rounded_bits, scale_bits = rounded.view(np.int64), scale.view(np.int64)
    for c in range(first, last):
        for q in range(size):
            small[q] = -abs(slope[c] * points[q] + intercept[c])
        exponentials(small, 0.0, rounded, rounded_bits, scale, scale_bits)
        for q in range(size):
            passed = slope[c] * points[q] + intercept[c] > 0
            rate[q] = (1.0 if passed else small[q]) / (1 + small[q])
        own, plain = 0.0, 0.0
        for q in range(within):
            expected = counts[c, q] * rate[q]
            plain += expected
            own += expected * points[q]
        by_ability[c], total[c] = own, plain
