"""Thresholds between ordered scores: shared by all items, or each item's own.

    adjacent:  e_k = k base - (tau_1 + .. + tau_k)       graded:  e_k = base - tau_k

Thresholds are written as a first one and increments for graded scores, so that their order is a simple bound.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from raterlens.models.contexts import Contexts
from raterlens.types import Array

# Graded thresholds stay this far apart, so that every score keeps a probability.
SMALLEST_GAP = 1e-4


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The part of the intercepts that orders the scores: linear in its parameters."""

    design: sparse.csr_array
    """(contexts x (categories - 1), parameters), to be subtracted from the intercepts."""
    graded: bool
    n_scales: int
    """One for thresholds shared by all items, else the number of items."""
    n_steps: int

    @staticmethod
    def build(contexts: Contexts, n_categories: int, *, graded: bool, per_item: bool) -> "Thresholds":
        steps = n_categories - 1
        n_scales = contexts.n_items if per_item else 1
        scale = contexts.item if per_item else np.zeros(len(contexts), dtype=np.int64)
        # Row (context, k) sums parameters 1 .. k: increments (graded) or steps (adjacent), the same triangle.
        context, k, j = np.nonzero(np.broadcast_to(np.tri(steps), (len(contexts), steps, steps)))
        design = sparse.csr_array(
            (np.ones(len(k)), (context * steps + k, scale[context] * steps + j)),
            shape=(len(contexts) * steps, n_scales * steps),
        )
        return Thresholds(design, graded, n_scales, steps)

    @property
    def size(self) -> int:
        return self.n_scales * self.n_steps

    def lower_bounds(self) -> Array:
        bounds = np.full((self.n_scales, self.n_steps), -np.inf)
        if self.graded:
            bounds[:, 1:] = SMALLEST_GAP
        return bounds.ravel()

    def shift(self) -> Array:
        """(n_scales, size): the parameters' direction that raises every threshold of a scale by one."""
        raised = np.zeros(self.n_steps) if self.graded else np.ones(self.n_steps)
        raised[0] = 1.0
        return np.asarray(np.kron(np.eye(self.n_scales), raised), float)

    def averages(self) -> Array:
        """(n_scales, size): rows that give the mean threshold of each scale."""
        weights = np.arange(self.n_steps, 0, -1) if self.graded else np.ones(self.n_steps)
        return np.asarray(np.kron(np.eye(self.n_scales), weights / self.n_steps), float)

    def values(self, x: Array) -> Array:
        """(n_scales, steps): the thresholds themselves."""
        table = x.reshape(self.n_scales, self.n_steps)
        return np.cumsum(table, axis=1) if self.graded else table

    def parameters(self, values: Array) -> Array:
        """The parameters of thresholds of shape (n_scales, steps)."""
        return np.ravel(np.diff(values, axis=1, prepend=0.0) if self.graded else values)
