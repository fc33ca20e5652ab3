"""Interactions: raters who are more severe than usual on some items, or on some levels of another facet.

Each rater and level that occur together have a severity of their own, besides the rater's. Without a prior nothing
would tell these from the rater's severity and the level's difficulty (`likelihood/panel_prior.py`).
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from raterlens.base.arrays import Array, Indices
from raterlens.models.contexts import Contexts

ITEM = "item"
_BLOCK = "interaction "


@dataclass(frozen=True, slots=True, eq=False)
class Interaction:
    """One term, of raters with a facet. A cell is a rater and a level that occur together."""

    facet: str
    """`item`, or the name of a further facet."""
    rater: Indices
    """(cells,)"""
    level: Indices
    """(cells,)"""
    cell: Indices
    """(contexts,)"""
    shape: tuple[int, int]
    """Raters and levels."""

    @staticmethod
    def of(contexts: Contexts, facet: str) -> "Interaction":
        names = [ITEM, *contexts.facet_sizes]
        levels = (contexts.item, *contexts.facets)[names.index(facet)]
        n_levels = (contexts.n_items, *contexts.facet_sizes.values())[names.index(facet)]
        cells, place = np.unique(contexts.rater * n_levels + levels, return_inverse=True)
        return Interaction(facet, *np.divmod(cells, n_levels), place, (contexts.n_raters, n_levels))

    @property
    def size(self) -> int:
        return len(self.rater)

    def table(self, values: Array) -> Array:
        """(raters, levels): 0 where a rater and a level do not occur together."""
        found = np.zeros(self.shape)
        found[self.rater, self.level] = values
        return found

    @property
    def block(self) -> str:
        """The name of its block of parameters."""
        return block_of(self.facet)


def block_of(facet: str) -> str:
    return f"{_BLOCK}{facet}"


def interacting_facets(blocks: Iterable[str]) -> tuple[str, ...]:
    """The facets that raters interact with, by the names of blocks or effects."""
    return tuple(name.removeprefix(_BLOCK) for name in blocks if name.startswith(_BLOCK))
