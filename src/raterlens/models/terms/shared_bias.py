"""A second ability that raters share: what they agree on besides the truth.

    S = a_r theta + b_r zeta - eta_r - delta_i,      theta, zeta ~ N(0, 1), independent

b is 0 for trusted raters and known answers, which fix what theta is. Independence loses nothing: a correlation would
only relabel a_r. Of zeta's two directions the one is taken in which most raters follow it.
"""

from dataclasses import dataclass

import numpy as np

from raterlens.base.arrays import Array, Mask
from raterlens.capability.yardstick import LARGEST_SLOPE
from raterlens.models.term import Contexts, Designs, rows_of
from raterlens.models.terms.per_rater import Effect, RaterTerm

BIAS = "bias"
ENOUGH_KNOWN = 20
"""Known answers from which on it is tested whether raters share something. `python -m benchmarks.truth.known_answers
--known 20` measures what it gains there, and what a false find costs."""


@dataclass(frozen=True, slots=True, eq=False)
class SharedBias(RaterTerm):
    """b_r: how much each rater who is not trusted follows what is shared."""

    effect: Effect
    name: str = BIAS

    @staticmethod
    def of(free: Mask) -> "SharedBias":
        """`free`: (raters,), who is not trusted."""
        return SharedBias(Effect.of_some(free))

    def designs(self, rows: Contexts) -> Designs:
        return {"loading": rows_of(self.effect.design, rows.rater)}

    def bounds(self, *, allow_reversed: bool) -> tuple[Array, Array]:
        most = np.full(self.size, LARGEST_SLOPE)
        return -most, most
