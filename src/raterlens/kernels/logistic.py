"""Tables of essays, marked pass or fail through the logit, shared out over threads (`c/logistic.c`).

The same numbers as sums, over an essay's members, of those of `Adjacent` of `models/responses.py` with two categories,
its readable twin.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array
from raterlens.base.threads import in_threads, spans
from raterlens.kernels.exponential import padded
from raterlens.kernels.library import Doubles, Integer, Ints, Longs, kernel, refuse_unless, same
from raterlens.kernels.sparse_rows import SparseRows

_ROWS = (Integer, Integer, Longs, Ints, Doubles)
_essay_logs = kernel("essay_logs", *_ROWS, *[Doubles] * 3, Integer, *[Doubles] * 2)
_essay_passes = kernel("essay_passes", *_ROWS, *[Doubles] * 3, Integer, *[Doubles] * 5)
# Numbers that are worth a thread of their own: members of essays at nodes.
_LEAST = 2**15


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
        return spans(n_rows, n_rows * _LEAST // max(work, 1))
