"""Tables of ordered scores through the logit, contexts shared out over threads (`c/ordered_scores.c`).

The same numbers as `Adjacent` and `Graded` of `models/responses.py`, their readable twins.
"""

from collections.abc import Callable

import numpy as np

from raterlens.kernels.library import Doubles, Integer, Real, kernel, refuse_unless
from raterlens.parallel.threads import in_threads, spans
from raterlens.types import Array

_graded_log_prob = kernel(
    "graded_log_prob", *[Integer] * 2, *[Doubles] * 3, Integer, Doubles, Integer, Doubles, Doubles
)
_graded_ratios = kernel(
    "graded_ratios", *[Integer] * 2, *[Doubles] * 3, Integer, Doubles, Integer, Real, *[Doubles] * 4
)
_adjacent = kernel("adjacent", *[Integer] * 2, *[Doubles] * 2, Integer, Doubles, Integer, *[Doubles] * 4)


def graded_log_prob(slope: Array, intercepts: Array, apart: Array, points: Array) -> Array:
    """(contexts, categories, nodes): log P(y = k); `apart`, (contexts, steps - 1): log(1 - exp(l - u))."""
    known, (n, steps) = _plain(slope, intercepts, apart), intercepts.shape
    _check(slope, intercepts, apart)
    out = np.empty((n, steps + 1, len(points)))

    def part(span: tuple[int, int]) -> None:
        _graded_log_prob(*span, *known, steps, points, len(points), np.empty(len(points)), out)

    _over_contexts(part, n)
    return out


def graded_ratios(
    slope: Array, intercepts: Array, apart: Array, points: Array, far: float
) -> tuple[Array, Array]:
    """(contexts, categories, nodes) twice: the density at a score's own step, and at the next, over its probability;
    `apart`: 1 / (1 - exp(l - u)). Predictors count as at most `far` from 0."""
    known, (n, steps) = _plain(slope, intercepts, apart), intercepts.shape
    _check(slope, intercepts, apart)
    up, down = np.empty((2, n, steps + 1, len(points)))

    def part(span: tuple[int, int]) -> None:
        scratch = np.empty((2, steps, len(points)))
        _graded_ratios(*span, *known, steps, points, len(points), far, *scratch, up, down)

    _over_contexts(part, n)
    return up, down


def adjacent(
    slope: Array, intercepts: Array, points: Array, *, probabilities: bool
) -> tuple[Array | None, Array]:
    """(contexts, steps, nodes) P(y = k), if asked for, and (contexts, nodes) log(1 + sum_k exp(k a t + e_k))."""
    known, (n, steps) = _plain(slope, intercepts), intercepts.shape
    _check(slope, intercepts)
    found = np.empty((n, steps, len(points))) if probabilities else None
    partition = np.empty((n, len(points)))

    def part(span: tuple[int, int]) -> None:
        scratch = np.empty((steps + 1, len(points))), np.empty(len(points))
        _adjacent(*span, *known, steps, points, len(points), *scratch, found, partition)

    _over_contexts(part, n)
    return found, partition


def _plain(*values: Array) -> list[Array]:
    return [Doubles.of(each) for each in values]


def _check(slope: Array, intercepts: Array, apart: Array | None = None) -> None:
    n, steps = intercepts.shape
    fitting = slope.shape == (n,) and steps > 0 and (apart is None or apart.shape == (n, steps - 1))
    refuse_unless(fitting, "steps of the contexts")


def _over_contexts(part: Callable[[tuple[int, int]], None], n: int) -> None:
    in_threads(part, spans(n))
