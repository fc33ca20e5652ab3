"""Discrimination: a slope for each rater, one for all, or slopes explained by covariates."""

from dataclasses import dataclass

import numpy as np

from raterlens.base.arrays import Array, Mask
from raterlens.capability.yardstick import LARGEST_ITEM_SLOPE, LARGEST_SLOPE
from raterlens.models.contexts import Contexts
from raterlens.models.term import START_SLOPE, Beginning, Designs, Offsets, rows_of
from raterlens.models.terms.per_rater import Effect, RaterTerm

SLOPE = "slope"
SMALLEST_COMMON_SLOPE = 0.01
# Slopes below it change no probability that could be seen: they are 0 within rounding.
NO_SLOPE = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Slopes(RaterTerm):
    """a_r, by which ability is multiplied."""

    effect: Effect
    name: str = SLOPE

    @property
    def common(self) -> bool:
        """All raters have the same one."""
        return not self.effect.by_logarithm and self.effect.size == 1

    @property
    def own(self) -> bool:
        """Each rater has one to itself."""
        return not self.effect.by_logarithm and self.effect.size == self.effect.n_raters

    def designs(self, rows: Contexts) -> Designs:
        design = rows_of(self.effect.design, rows.rater)
        return {"log_slope": design} if self.effect.by_logarithm else {"slope": design}

    def offsets(self, rows: Contexts) -> Offsets:
        if not self.effect.by_logarithm:
            return {}
        return {"slope": np.where(rows.rater < rows.n_raters, 1.0, 0.0)}

    def start(self, given: Beginning) -> Array:
        return self.effect.invert(np.full(given.ratings.n_raters, START_SLOPE))

    def bounds(self, *, allow_reversed: bool) -> tuple[Array, Array]:
        if self.effect.by_logarithm:
            # Each explains the logarithms of the slopes of raters a standard deviation apart.
            most = np.full(self.size, np.log(LARGEST_ITEM_SLOPE))
            return -most, most
        # A rater's slope may be 0. One common to all may not quite: by symmetry the likelihood is level there,
        # and an optimiser that a long step takes to 0 would stay.
        lowest = SMALLEST_COMMON_SLOPE if self.common else 0.0
        upper = np.full(self.size, LARGEST_SLOPE)
        return np.full(self.size, -LARGEST_SLOPE if allow_reversed else lowest), upper

    def at_limit(self, x: Array) -> Mask:
        """A slope of 0 is an answer, not a limit."""
        return np.asarray(x >= LARGEST_SLOPE) if self.common else RaterTerm.at_limit(self, x)

    def nobody(self, x: Array) -> bool:
        """Whether no rater's slope is above 0, or above the least that a common one may be."""
        return bool((np.abs(self.effect(x)) <= (SMALLEST_COMMON_SLOPE if self.common else NO_SLOPE)).all())
