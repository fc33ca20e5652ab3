"""Tables of ordered scores (`c/ordered_scores.c`) and of essays marked pass or fail (`c/logistic.c`) through the logit,
shared out over threads.

The same numbers as `Adjacent` and `Graded` of `models/responses.py`, their readable twins.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array
from raterlens.base.threads import in_threads, spans
from raterlens.kernels.library import (
    Doubles,
    Integer,
    Ints,
    Longs,
    Real,
    SparseRows,
    kernel,
    padded,
    refuse_unless,
    same,
)

_graded = *[Integer] * 2, *[Doubles] * 3, Integer, Doubles, Integer, Real, Doubles
_graded_log_prob = kernel("graded_log_prob", *_graded, Doubles)
_graded_ratios = kernel("graded_ratios", *_graded, *[Doubles] * 2)
_graded_sums = kernel("graded_sums", *_graded, *[Doubles] * 3)
_graded_bends = kernel("graded_bends", *_graded, *[Doubles] * 5)
_of_adjacent = *[Integer] * 2, *[Doubles] * 2, Integer, Doubles, Integer, Doubles
_adjacent = kernel("adjacent", *_of_adjacent, *[Doubles] * 2)
_adjacent_sums = kernel("adjacent_sums", *_of_adjacent, *[Doubles] * 3)


def graded_log_prob(slope: Array, intercepts: Array, apart: Array, points: Array, far: float) -> Array:
    """(contexts, categories, nodes): log P(y = k); `apart`, (contexts, steps - 1): log(1 - exp(l - u)). Beyond `far`
    from 0 of a predictor, the smaller of the two probabilities is taken for that at `far`."""
    (n, steps), q = intercepts.shape, len(points)
    out = np.empty((n, steps + 1, q))
    _over_contexts(_graded_log_prob, (slope, intercepts, apart), points, (far,), 3 * q, out)
    return out


def graded_ratios(
    slope: Array, intercepts: Array, apart: Array, points: Array, far: float
) -> tuple[Array, Array]:
    """(contexts, categories, nodes) twice: the density at a score's own step, and at the next, over its probability;
    `apart`: 1 / (1 - exp(l - u)). Predictors count as at most `far` from 0."""
    (n, steps), q = intercepts.shape, len(points)
    up, down = np.empty((2, n, steps + 1, q))
    _over_contexts(_graded_ratios, (slope, intercepts, apart), points, (far,), (2 * steps + 2) * q, up, down)
    return up, down


def graded_sums(
    predicted: tuple[Array, Array, Array], points: Array, far: float, counts: Array
) -> tuple[Array, Array]:
    """(contexts,) and (contexts, steps): derivatives of the counted log-probability in slopes and intercepts.

    Parameters
    ----------
    predicted
        Slopes, intercepts, and `apart`, as `graded_ratios` takes them.
    counts
        (contexts, categories, nodes)
    """
    (n, steps), q = predicted[1].shape, len(points)
    refuse_unless(counts.shape == (n, steps + 1, q), "counts of the contexts")
    out = np.empty(n), np.empty((n, steps))
    _over_contexts(_graded_sums, predicted, points, (far,), (4 * steps + 4) * q, Doubles.of(counts), *out)
    return out


def graded_bends(
    predicted: tuple[Array, Array, Array], points: Array, far: float, counts: Array
) -> tuple[Array, Array, Array, Array]:
    """Second derivatives of the same: (contexts,) in slopes, (contexts, steps) in both, in an intercept twice, and
    (contexts, steps - 1) in it and the next."""
    (n, steps), q = predicted[1].shape, len(points)
    refuse_unless(counts.shape == (n, steps + 1, q), "counts of the contexts")
    out = np.empty(n), np.empty((n, steps)), np.empty((n, steps)), np.empty((n, steps - 1))
    _over_contexts(_graded_bends, predicted, points, (far,), (4 * steps + 4) * q, Doubles.of(counts), *out)
    return out


def adjacent(
    slope: Array, intercepts: Array, points: Array, *, probabilities: bool
) -> tuple[Array | None, Array]:
    """(contexts, steps, nodes) P(y = k), if asked for, and (contexts, nodes) log(1 + sum_k exp(k a t + e_k))."""
    (n, steps), q = intercepts.shape, len(points)
    out = np.empty((n, steps, q)) if probabilities else None, np.empty((n, q))
    _over_contexts(_adjacent, (slope, intercepts), points, (), (steps + 3) * q + steps, *out)
    return out


def adjacent_sums(slope: Array, intercepts: Array, points: Array, counts: Array) -> tuple[Array, Array]:
    """Expectations of ratings that are counted at nodes (contexts, nodes): (contexts,) the sum of scores times
    ability, and (contexts, steps) how often each score above 0 is given."""
    (n, steps), q = intercepts.shape, len(points)
    refuse_unless(counts.shape == (n, q), "counts of the contexts")
    out, scratch = (np.empty(n), np.empty((n, steps))), (steps + 3) * q + steps
    _over_contexts(_adjacent_sums, (slope, intercepts), points, (), scratch, Doubles.of(counts), *out)
    return out


def _over_contexts(
    function: Callable[..., None],
    predicted: tuple[Array, ...],
    points: Array,
    far: tuple[float, ...],
    scratch: int,
    *arrays: Array | None,
) -> None:
    """Call a function for all contexts, shared out over threads, each with scratch of its own.

    Parameters
    ----------
    predicted
        Slopes, intercepts, and where steps are `apart`.
    arrays
        Counts, where there are some, and what is to be filled.
    """
    slope, intercepts, *apart = predicted
    n, steps = intercepts.shape
    fitting = slope.shape == (n,) and steps > 0 and all(each.shape == (n, steps - 1) for each in apart)
    refuse_unless(fitting, "steps of the contexts")
    known = [Doubles.of(each) for each in predicted]

    def part(span: tuple[int, int]) -> None:
        function(*span, *known, steps, points, len(points), *far, np.empty(scratch), *arrays)

    in_threads(part, spans(n))


_ROWS = (Integer, Integer, Longs, Ints, Doubles)
_essay_logs = kernel("essay_logs", *_ROWS, *[Doubles] * 3, Integer, *[Doubles] * 2)
_essay_passes = kernel("essay_passes", *_ROWS, *[Doubles] * 3, Integer, *[Doubles] * 5)
# Numbers that are worth a thread of their own: members of essays at nodes.
_LEAST_MEMBERS = 2**15


@dataclass(frozen=True, slots=True, eq=False)
class Essays:
    """Kinds of essays, and the contexts that their ratings are of."""

    members: SparseRows
    """(kinds, contexts): how often a context occurs in a kind."""
    kinds: SparseRows
    """(contexts, kinds): the same the other way round."""

    @staticmethod
    def of(members: sparse.csr_array) -> "Essays":
        return Essays(SparseRows.of(members), SparseRows.of(sparse.csr_array(members.T)))

    def logs(self, slope: Array, intercept: Array, points: Array) -> Array:
        """(kinds, nodes): minus the sum of log(1 + exp(a t + e)) over the members of a kind."""
        n_kinds, n_contexts = self.members.shape
        slope, intercept, points = Doubles.of(slope), Doubles.of(intercept), Doubles.of(points)
        refuse_unless(same(n_contexts, len(slope), len(intercept)), "contexts")
        out = np.empty((n_kinds, len(points)))

        def part(span: tuple[int, int]) -> None:
            scratch = np.empty(2 * padded(len(points)))
            _essay_logs(*span, *self.members.arrays, slope, intercept, points, len(points), scratch, out)

        in_threads(part, self._spans(n_kinds, points))
        return out

    def passes(
        self, slope: Array, intercept: Array, points: Array, of_kinds: Array
    ) -> tuple[Array, Array, Array]:
        """From the (kinds, nodes) counts of essays: (contexts, nodes) those of the contexts, and (contexts,) twice, the
        sum over nodes of counts times pass rate times ability, and without ability."""
        n_contexts, n_kinds = self.kinds.shape
        slope, intercept, points = Doubles.of(slope), Doubles.of(intercept), Doubles.of(points)
        fitting = same(n_contexts, len(slope), len(intercept)) and of_kinds.shape == (n_kinds, len(points))
        refuse_unless(fitting, "contexts and counts")
        of_kinds, counts = Doubles.of(of_kinds), np.empty((n_contexts, len(points)))
        by_ability, total = np.empty((2, n_contexts))

        def part(span: tuple[int, int]) -> None:
            scratch = np.empty(padded(len(points)))
            _essay_passes(
                *span, *self.kinds.arrays, slope, intercept, points, len(points), of_kinds, scratch,
                counts, by_ability, total,
            )  # fmt: skip

        in_threads(part, self._spans(n_contexts, points))
        return counts, by_ability, total

    def _spans(self, n_rows: int, points: Array) -> list[tuple[int, int]]:
        work = len(self.members.indices) * len(points)
        return spans(n_rows, n_rows * _LEAST_MEMBERS // max(work, 1))
