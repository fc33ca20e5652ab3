"""The shape of the students' distribution: how skewed it is, and how heavy its tails."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raterlens.base.arrays import Array
from raterlens.capability.ability_shape import LARGEST_SHAPE
from raterlens.models.term import Term

if TYPE_CHECKING:
    from raterlens.models.facets import FacetsModel

SHAPE = "ability"
# Of what the shape could be known by, were abilities known, so much is.
_INFORMATION = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class Shape(Term):
    """c3 and c4 of `capability/ability_shape.py`, on which no predictor depends."""

    name: str = SHAPE

    @property
    def size(self) -> int:
        return 2

    def information(self, model: "FacetsModel", parameters: Array, n_students: int) -> Array:
        return np.asarray(_INFORMATION * n_students * np.array([6.0, 24.0]))

    def bounds(self, *, allow_reversed: bool) -> tuple[Array, Array]:
        most = np.array(LARGEST_SHAPE)
        return -most, most
