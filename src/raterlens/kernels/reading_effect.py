"""Readings averaged over their effect u, without logarithms, raters shared out over threads (`c/reading_effect.c`).

Of adjacent-category logits. Beside what it is at u = 0, the probability of a reading of sum T at an ability is

    R = sum_u w_u x_u^T / prod_i sum_k p_ik x_u^k,      x_u = exp(tau u)

with p_ik the probability of score k on item i at u = 0. So there are products of few numbers for each set of items and
each u, and all sums of that set share them. The same numbers as `Averaged` of `likelihood/readings.py`, its
readable twin, finds by logarithms of every kind of reading.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array, Indices
from raterlens.base.threads import in_threads, spans
from raterlens.kernels.library import (
    Doubles,
    Integer,
    Longs,
    begin_within,
    inside,
    kernel,
    refuse_unless,
    same,
)

_average_readings = kernel(
    "average_readings",
    *[Integer] * 2,
    *[Longs] * 6,
    Doubles,
    *[Integer] * 2,
    *[Doubles] * 3,
    *[Integer] * 2,
    *[Doubles] * 3,
)
_sum_readings = kernel(
    "sum_readings",
    *[Integer] * 2,
    *[Longs] * 7,
    Doubles,
    *[Integer] * 2,
    *[Doubles] * 4,
    *[Integer] * 2,
    *[Doubles] * 9,
)


@dataclass(frozen=True, slots=True, eq=False)
class SetsOfItems:
    """Kinds of readings by their sets of items, and these in the order of the raters."""

    first_of_rater: Indices
    """(raters + 1,): where the sets of each begin."""
    rater: Indices
    """(sets,)"""
    members: tuple[Indices, Indices]
    """Where those of each set begin, and their contexts."""
    kinds: tuple[Indices, Indices, Indices]
    """Where those of each set begin; which they are, and their sums of scores."""

    @property
    def n_raters(self) -> int:
        return len(self.first_of_rater) - 1

    def refuse_unless_fitting(self, n_contexts: int) -> None:
        (first, member), (first_kind, kind, total), n_sets = self.members, self.kinds, len(self.rater)
        fitting = (
            same(n_sets + 1, len(first), len(first_kind))
            and same(len(kind), len(total))
            and begin_within(self.first_of_rater, n_sets)
            and begin_within(first, len(member))
            and begin_within(first_kind, len(kind))
            and inside(member, n_contexts)
            and inside(kind, len(kind))
            and inside(self.rater, self.n_raters)
        )
        refuse_unless(fitting, "sets of items")

    @staticmethod
    def of(
        item_sets: sparse.csr_array, set_of_kind: Indices, rater_of_kind: Indices, total: Array
    ) -> "SetsOfItems":
        """From how often an item occurs in a set, (sets, contexts); the others are of the kinds."""
        n_sets, by_set = item_sets.shape[0], np.argsort(set_of_kind, kind="stable")
        rater = np.empty(n_sets, dtype=np.int64)
        rater[set_of_kind] = rater_of_kind
        order = np.argsort(rater, kind="stable")
        ordered = sparse.csr_array(item_sets[order])
        often = ordered.data.astype(np.int64)
        length = np.add.reduceat(often, ordered.indptr[:-1])
        number = np.bincount(set_of_kind, minlength=n_sets)
        place = np.empty(n_sets, dtype=np.int64)
        place[order] = np.arange(n_sets)
        kind = by_set[np.argsort(place[set_of_kind[by_set]], kind="stable")]
        return SetsOfItems(
            np.searchsorted(rater[order], np.arange(int(rater.max()) + 2)),
            rater[order],
            (_begins(length), np.repeat(ordered.indices.astype(np.int64), often)),
            (_begins(number[order]), kind, total[kind].astype(np.int64)),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """Values of u, and what each does to the odds of a score."""

    u: Array
    weights: Array
    factor: Array
    """(raters or 1, u): x."""
    powers: Array
    """(raters or 1, sums, u): x to the power of every sum of scores."""

    @staticmethod
    def of(u: Array, weights: Array, spread: Array, largest: int) -> "Rule":
        """`largest`: sum of the scores of a reading."""
        shift = np.multiply.outer(spread, u)
        powers = np.exp(np.arange(largest + 1.0)[:, None] * shift[:, None])
        return Rule(u, weights, np.exp(shift), powers)

    def refuse_unless_fitting(self, sets: SetsOfItems) -> None:
        rows, n_sums, size = self.powers.shape
        fitting = same(size, len(self.u), len(self.weights)) and self.factor.shape == (rows, size)
        refuse_unless(
            fitting and rows in (1, sets.n_raters) and inside(sets.kinds[2], n_sums), "powers of odds"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Expected sums of the scores, over the values of u and the nodes of ability."""

    given: Array
    """(contexts, categories - 1): how often each score above zero is given."""
    by_ability: Array
    """(contexts,): sum of the scores times ability."""
    by_effect: Array
    """(raters,): of the scores given times u, less what is expected of it."""
    readings: Array
    """(contexts, nodes)"""


@dataclass(frozen=True, slots=True, eq=False)
class Products:
    """Kinds of readings averaged over u, on nodes of ability."""

    sets: SetsOfItems
    probabilities: Array
    """(contexts, nodes, categories): of the scores at u = 0."""
    rule: Rule
    averages: Array
    """(kinds, nodes): R."""

    @staticmethod
    def of(sets: SetsOfItems, probabilities: Array, rule: Rule) -> "Products":
        """From the (contexts, categories, nodes) probabilities at u = 0."""
        by_node = np.ascontiguousarray(probabilities.transpose(0, 2, 1))
        sets.refuse_unless_fitting(len(by_node))
        rule.refuse_unless_fitting(sets)
        refuse_unless(by_node.shape[2] > 1, "scores without a choice")
        found = Products(sets, by_node, rule, np.empty((len(sets.kinds[1]), by_node.shape[1])))
        found._by_raters(found._average)
        return found

    def summed(self, points: Array, counts: Array) -> Sums:
        """From the (kinds, nodes) expected readings."""
        contexts, nodes, categories = self.probabilities.shape
        out = Sums(
            np.zeros((contexts, categories - 1)),
            np.zeros(contexts),
            np.zeros(self.sets.n_raters),
            np.zeros((contexts, nodes)),
        )
        counts = Doubles.of(counts)
        refuse_unless(counts.shape == self.averages.shape and same(len(points), nodes), "expected readings")
        self._by_raters(lambda first, last: self._sum(first, last, points, counts, out))
        return out

    def _average(self, first: int, last: int) -> None:
        sets, rule = self.sets, self.rule
        product, score = np.empty((2, len(rule.u)))
        _average_readings(
            first, last, self._row, *sets.members, *sets.kinds, self.probabilities, *self.probabilities.shape[1:],
            rule.weights, rule.factor, rule.powers, rule.powers.shape[1], len(rule.u), product, score, self.averages,
        )  # fmt: skip

    def _sum(self, first: int, last: int, points: Array, counts: Array, out: Sums) -> None:
        sets, rule = self.sets, self.rule
        longest = int(np.diff(sets.members[0][first : last + 1]).max(initial=0))
        inverse, scratch = np.empty((longest, len(rule.u))), np.empty((4, len(rule.u)))
        _sum_readings(
            first, last, sets.rater, self._row, *sets.members, *sets.kinds, self.probabilities,
            *self.probabilities.shape[1:], rule.u, rule.weights, rule.factor, rule.powers, rule.powers.shape[1],
            len(rule.u), points, self.averages, counts, inverse, scratch, out.given, out.by_ability, out.by_effect,
            out.readings,
        )  # fmt: skip

    def _by_raters(self, part: Callable[[int, int], None]) -> None:
        """A rater's contexts are in no other's sets, so that threads never write to the same place."""
        edges = self.sets.first_of_rater
        in_threads(
            lambda span: part(int(edges[span[0]]), int(edges[span[1]])),
            spans(self.sets.n_raters, least=1),
        )

    @property
    def _row(self) -> Indices:
        """(sets,): of the rule's factors."""
        return self.sets.rater if len(self.rule.factor) > 1 else np.zeros_like(self.sets.rater)


def _begins(number: Indices) -> Indices:
    return np.concatenate([[0], np.cumsum(number)]).astype(np.int64)
