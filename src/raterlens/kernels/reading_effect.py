"""Readings averaged over their effect u, without logarithms: compiled, raters shared out over threads.

Of adjacent-category logits. Beside what it is at u = 0, the probability of a reading of sum T at an ability is

    R = sum_u w_u x_u^T / prod_i sum_k p_ik x_u^k,      x_u = exp(tau u)

with p_ik the probability of score k on item i at u = 0. So there are products of few numbers for each set of items and
each u, and all sums of that set share them. The same numbers as `Averaged` of `estimation/halo_marginal.py`, its
readable twin, finds by logarithms of every kind of reading.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from raterlens.kernels.compiling import compiled
from raterlens.parallel.threads import in_threads, spans
from raterlens.types import Array, Indices

_FAST = ("contract", "reassoc", "nsz", "arcp", "nnan")


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

    @staticmethod
    def of(
        item_sets: sparse.csr_array, set_of_kind: Indices, rater_of_kind: Indices, total: Array
    ) -> "SetsOfItems":
        """Of (sets, contexts) how often an item occurs in a set; the others are of the kinds."""
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


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """What is expected of the scores, summed over the values of u and the nodes of ability."""

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
        found = Products(sets, by_node, rule, np.empty((len(sets.kinds[1]), by_node.shape[1])))
        found._by_raters(lambda first, last: _averages(first, last, *found._plain(), found.averages))
        return found

    def summed(self, points: Array, counts: Array) -> Sums:
        """From the (kinds, nodes) expected readings."""
        contexts, nodes, categories = self.probabilities.shape
        given, by_ability = np.zeros((contexts, categories - 1)), np.zeros(contexts)
        by_effect, readings = np.zeros(self.sets.n_raters), np.zeros((contexts, nodes))

        def part(first: int, last: int) -> None:
            out = given, by_ability, by_effect, readings
            _summed(first, last, *self._plain(), points, self.averages, counts, out)

        self._by_raters(part)
        return Sums(given, by_ability, by_effect, readings)

    def _by_raters(self, part: Callable[[int, int], None]) -> None:
        """A rater's contexts are in no other's sets, so that threads never write to the same place."""
        edges = self.sets.first_of_rater
        in_threads(
            lambda span: part(int(edges[span[0]]), int(edges[span[1]])),
            spans(self.sets.n_raters),
        )

    def _plain(self) -> tuple[object, ...]:
        sets, rule = self.sets, self.rule
        row = sets.rater if len(rule.factor) > 1 else np.zeros_like(sets.rater)
        of_rule = rule.u, rule.weights, rule.factor, rule.powers
        return (sets.rater, row), sets.members, sets.kinds, self.probabilities, of_rule


def _begins(number: Indices) -> Indices:
    return np.concatenate([[0], np.cumsum(number)]).astype(np.int64)


@compiled(*_FAST)
def _averages(first, last, raters, members, kinds, probabilities, rule, out):  # type: ignore[no-untyped-def]
    _, row = raters
    first_member, member = members
    first_kind, kind, total = kinds
    _, weights, factor, powers = rule
    size, highest = len(weights), probabilities.shape[2] - 1
    product, score = np.empty(size), np.empty(size)
    for s in range(first, last):
        x = factor[row[s]]
        for q in range(probabilities.shape[1]):
            for j in range(size):
                product[j] = 1.0
            for at in range(first_member[s], first_member[s + 1]):
                p = probabilities[member[at], q]
                for j in range(size):
                    score[j] = p[highest] * x[j] + p[highest - 1]
                for k in range(highest - 2, -1, -1):
                    for j in range(size):
                        score[j] = score[j] * x[j] + p[k]
                for j in range(size):
                    product[j] *= score[j]
            for j in range(size):
                product[j] = weights[j] / product[j]
            for at in range(first_kind[s], first_kind[s + 1]):
                power = powers[row[s], total[at]]
                found = 0.0
                for j in range(size):
                    found += product[j] * power[j]
                out[kind[at], q] = found


@compiled(*_FAST)
def _summed(  # type: ignore[no-untyped-def]
    first, last, raters, members, kinds, probabilities, rule, points, averages, counts, out
):
    rater, row = raters
    first_member, member = members
    first_kind, kind, total = kinds
    u, weights, factor, powers = rule
    given, by_ability, by_effect, readings = out
    size, highest = len(weights), probabilities.shape[2] - 1
    longest = 0
    for s in range(first, last):
        longest = max(longest, first_member[s + 1] - first_member[s])
    inverse, expected = np.empty((longest, size)), np.empty(size)
    left, weight, scores = np.empty(size), np.empty(size), np.empty(size)
    for s in range(first, last):
        x, begin, end = factor[row[s]], first_member[s], first_member[s + 1]
        of_effect = 0.0
        for q in range(probabilities.shape[1]):
            number = 0.0
            for j in range(size):
                weight[j], scores[j] = 0.0, 0.0
            for at in range(first_kind[s], first_kind[s + 1]):
                power, count = powers[row[s], total[at]], counts[kind[at], q]
                number += count
                each = count / averages[kind[at], q]
                all_scores = each * total[at]
                for j in range(size):
                    weight[j] += each * power[j]
                    scores[j] += all_scores * power[j]
            for j in range(size):
                left[j] = weights[j]
            for at in range(begin, end):
                p, own = probabilities[member[at], q], inverse[at - begin]
                for j in range(size):
                    own[j] = p[highest] * x[j] + p[highest - 1]
                for k in range(highest - 2, -1, -1):
                    for j in range(size):
                        own[j] = own[j] * x[j] + p[k]
                for j in range(size):
                    own[j] = 1 / own[j]
                    left[j] *= own[j]
            for j in range(size):
                weight[j] *= left[j]
                of_effect += u[j] * left[j] * scores[j]
            for at in range(begin, end):
                context, own = member[at], inverse[at - begin]
                p = probabilities[context, q]
                readings[context, q] += number
                for j in range(size):
                    expected[j] = weight[j] * own[j]
                of_score = 0.0
                for k in range(1, highest + 1):
                    often, with_effect = 0.0, 0.0
                    for j in range(size):
                        expected[j] *= x[j]
                        often += expected[j]
                        with_effect += u[j] * expected[j]
                    given[context, k - 1] += p[k] * often
                    of_score += k * p[k] * often
                    of_effect -= k * p[k] * with_effect
                by_ability[context] += points[q] * of_score
        by_effect[rater[s]] += of_effect
