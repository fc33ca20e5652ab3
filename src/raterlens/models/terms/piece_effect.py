"""Pieces of work: each differs from what its student can do in general."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raterlens.base.arrays import Array, Mask
from raterlens.models.term import Beginning, Term

if TYPE_CHECKING:
    from raterlens.models.facets import FacetsModel

PIECE = "piece"
LARGEST_PIECE = 5.0
"""Bound of its spread, in standard deviations of ability."""
_START = 0.5
# Of a student about the variance.
_INFORMATION = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Pieces(Term):
    """omega^2, the variance of the quality of a piece around its student's ability."""

    name: str = PIECE
    variance = True

    @property
    def size(self) -> int:
        return 1

    def start(self, given: Beginning) -> Array:
        return np.array([_START**2])

    def information(self, model: "FacetsModel", parameters: Array, n_students: int) -> Array:
        return np.array([_INFORMATION * n_students])

    def bounds(self, *, allow_reversed: bool) -> tuple[Array, Array]:
        return np.zeros(1), np.array([LARGEST_PIECE**2])

    def at_limit(self, x: Array) -> Mask:
        return np.asarray(x >= LARGEST_PIECE**2)
