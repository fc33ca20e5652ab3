"""Item slopes: how strongly each item reflects ability, relative to the others."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raterlens.base.arrays import Array
from raterlens.capability.yardstick import LARGEST_ITEM_SLOPE
from raterlens.models.term import Contexts, Designs, Term, one_per_row

if TYPE_CHECKING:
    from raterlens.models.facets import FacetsModel

ITEM_SLOPE = "item_slope"


@dataclass(frozen=True, slots=True, eq=False)
class ItemSlopes(Term):
    """log g_i, which is added to the logarithm of the slope."""

    n_items: int
    name: str = ITEM_SLOPE

    @property
    def size(self) -> int:
        return self.n_items

    @property
    def levels(self) -> tuple[str, ...]:
        return ("item",)

    def designs(self, rows: Contexts) -> Designs:
        return {"log_slope": one_per_row(rows.item, self.size)}

    def bounds(self, *, allow_reversed: bool) -> tuple[Array, Array]:
        most = np.full(self.size, np.log(LARGEST_ITEM_SLOPE))
        return -most, most

    def redundancies(self, model: "FacetsModel", parameters: Array) -> Iterator[tuple[Array, Array]]:
        """Against the raters' slopes."""
        scaled = -model.slope.scaling(parameters[model.blocks["slope"]])
        ones = np.ones(self.size)
        yield model.vector(**{self.name: ones}), model.vector(**{self.name: ones, "slope": scaled})
