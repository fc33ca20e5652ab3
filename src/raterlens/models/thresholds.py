"""Thresholds between ordered scores: shared by all items, or each item's own.

    adjacent:  e_k = k base - (tau_1 + .. + tau_k)       graded:  e_k = base - tau_k

An item with thresholds of its own has as many as its highest score: where others get up to 4 points and it gets 2,
scores of 3 and 4 are impossible rather than rare.

Thresholds are written as a first one and increments for graded scores, so that their order is a simple bound.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.models.contexts import Contexts

# Graded thresholds stay this far apart, so that every score keeps a probability.
SMALLEST_GAP = 1e-4
# The intercept of a score that an item cannot get: its probability is 0 whatever the ability.
IMPOSSIBLE = -1e9


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The part of the intercepts that orders the scores: linear in its parameters."""

    design: sparse.csr_array
    """(contexts x (categories - 1), parameters), to be subtracted from the intercepts."""
    graded: bool
    highest: Indices
    """(scales,): the highest score of each item; a single number for thresholds shared by all items."""
    beyond: Mask
    """(contexts, categories - 1): scores that the context's item cannot get."""

    @staticmethod
    def build(
        contexts: Contexts, n_categories: int, *, graded: bool, highest: Indices | None
    ) -> "Thresholds":
        """Thresholds of each item up to its highest score, or shared by all where there is none."""
        steps = n_categories - 1
        scale = np.zeros(len(contexts), dtype=np.int64) if highest is None else contexts.item
        tops = np.array([steps]) if highest is None else np.asarray(highest)
        first = np.cumsum(tops) - tops
        # Row (context, k) sums parameters 1 .. k: increments (graded) or steps (adjacent), the same triangle.
        beyond = np.arange(steps) >= tops[scale][:, None]
        context, k, j = np.nonzero(np.tri(steps) * ~beyond[..., None])
        design = sparse.csr_array(
            (np.ones(len(k)), (context * steps + k, first[scale[context]] + j)),
            shape=(len(contexts) * steps, int(tops.sum())),
        )
        return Thresholds(design, graded, tops, beyond)

    @property
    def n_scales(self) -> int:
        """One for thresholds shared by all items, else the number of items."""
        return len(self.highest)

    @property
    def n_steps(self) -> int:
        return int(self.beyond.shape[1])

    @property
    def size(self) -> int:
        return int(self.highest.sum())

    @property
    def exists(self) -> Mask:
        """(scales, steps)"""
        return np.asarray(np.arange(self.n_steps) < self.highest[:, None])

    def of_scale(self, scale: int) -> slice:
        """Where the parameters of a scale stand."""
        first = int(self.highest[:scale].sum())
        return slice(first, first + int(self.highest[scale]))

    def lower_bounds(self) -> Array:
        bounds = np.full(self.size, -np.inf)
        if self.graded:
            bounds[1:] = SMALLEST_GAP
        return bounds

    def shift(self) -> Array:
        """(n_scales, size): the parameters' direction that raises every threshold of a scale by one."""
        rows = np.zeros((self.n_scales, self.size))
        for scale, row in enumerate(rows):
            own = self.of_scale(scale)
            row[own.start if self.graded else own] = 1.0
        return rows

    def averages(self) -> Array:
        """(n_scales, size): rows that give the mean threshold of each scale."""
        rows = np.zeros((self.n_scales, self.size))
        for scale, row in enumerate(rows):
            steps = int(self.highest[scale])
            row[self.of_scale(scale)] = (np.arange(steps, 0, -1) if self.graded else 1.0) / steps
        return rows

    def values(self, x: Array) -> Array:
        """(n_scales, steps): the thresholds themselves; not a number beyond an item's highest score."""
        table = np.full((self.n_scales, self.n_steps), np.nan)
        table[self.exists] = x
        return np.cumsum(table, axis=1) if self.graded else table

    def parameters(self, values: Array) -> Array:
        """The parameters of thresholds of shape (n_scales, steps)."""
        return np.asarray((np.diff(values, axis=1, prepend=0.0) if self.graded else values)[self.exists])


def highest_scores(contexts: Contexts, n_categories: int) -> Indices:
    """(items,): the highest score that anybody gave each item; one step at least, or it would have no thresholds."""
    given = np.zeros((contexts.n_items, n_categories))
    np.add.at(given, contexts.item, contexts.counts(n_categories))
    top = n_categories - 1 - np.argmax(given[:, ::-1] > 0, axis=1)
    return np.asarray(np.maximum(top, 1))
