"""Tables of pass/fail ratings through the logit, contexts shared out over threads (`c/logistic.c`).

The same numbers as `Adjacent` of `models/responses.py` with two categories, its readable twin.
"""

import numpy as np

from raterlens.kernels.exponential import padded
from raterlens.kernels.library import Doubles, Integer, kernel, refuse_unless, same
from raterlens.parallel.threads import in_threads, spans
from raterlens.types import Array

_softplus = kernel(
    "softplus", Integer, Integer, Doubles, Doubles, Doubles, Integer, Integer, Doubles, Doubles
)
_passes = kernel(
    "passes", Integer, Integer, Doubles, Doubles, Doubles, *[Integer] * 2, Doubles, Doubles, Doubles, Doubles
)
# Numbers of a table that are worth a thread of their own.
_LEAST = 2**14


def log_partition(slope: Array, intercept: Array, points: Array) -> Array:
    """(contexts, nodes): log(1 + exp(a t + e))."""
    slope, intercept, whole = Doubles.of(slope), Doubles.of(intercept), _whole(points)
    refuse_unless(same(len(slope), len(intercept)), "contexts")
    out = np.empty((len(slope), len(points)))

    def part(span: tuple[int, int]) -> None:
        small = np.empty(len(whole))
        _softplus(*span, slope, intercept, whole, len(whole), len(points), small, out)

    in_threads(part, spans(len(slope), _LEAST // len(whole)))
    return out


def counted_passes(slope: Array, intercept: Array, points: Array, counts: Array) -> tuple[Array, Array]:
    """(contexts,) twice: the sum over nodes of counts times pass rate times ability, and without ability."""
    slope, intercept, whole = Doubles.of(slope), Doubles.of(intercept), _whole(points)
    counts = Doubles.of(counts)
    fitting = same(len(slope), len(intercept)) and counts.shape == (len(slope), len(points))
    refuse_unless(fitting, "contexts and counts")
    found = np.empty(len(slope)), np.empty(len(slope))

    def part(span: tuple[int, int]) -> None:
        small = np.empty(len(whole))
        _passes(*span, slope, intercept, whole, len(whole), len(points), counts, small, *found)

    in_threads(part, spans(len(slope), _LEAST // len(whole)))
    return found


def _whole(points: Array) -> Array:
    return np.concatenate([points, np.zeros(padded(len(points)) - len(points))])
