"""Interactions: raters who are more severe than usual on some items, or on some levels of another facet.

Each rater and level that occur together have a severity of their own, besides the rater's. Without a prior nothing
would tell these from the rater's severity and the level's difficulty.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from raterlens.base.arrays import Array, Indices
from raterlens.models.term import Contexts, Designs, Term, one_per_row
from raterlens.models.terms.difficulties import facet_name

ITEM = "item"
_BLOCK = "interaction "


@dataclass(frozen=True, slots=True, eq=False)
class Interaction(Term):
    """h_rj, which is subtracted from the predictor; a cell is a rater and a level that occur together."""

    facet: str
    """`item`, or the name of a further facet."""
    rater: Indices
    """(cells,)"""
    level: Indices
    """(cells,)"""
    shape: tuple[int, int]
    """Raters and levels."""
    place: int
    """Place of the facet among the further ones; -1 for items."""
    name: str
    drawn = True

    @staticmethod
    def of(contexts: Contexts, facet: str) -> "Interaction":
        names = list(contexts.facet_sizes)
        place = -1 if facet == ITEM else names.index(facet)
        n_levels = contexts.n_items if place < 0 else contexts.facet_sizes[facet]
        levels = contexts.item if place < 0 else contexts.facets[place]
        rated = (np.arange(len(contexts)) < contexts.n_rated) & (levels < n_levels)
        cells = np.unique(contexts.rater[rated] * n_levels + levels[rated])
        shape = contexts.n_raters, n_levels
        return Interaction(facet, *np.divmod(cells, n_levels), shape, place, block_of(facet))

    @property
    def size(self) -> int:
        return len(self.rater)

    def cells(self, rows: Contexts) -> Indices:
        """(rows,): the cell of each; `size` where there is none."""
        levels = rows.item if self.place < 0 else rows.facets[self.place]
        place = np.full(self.shape, self.size)
        place[self.rater, self.level] = np.arange(self.size)
        rated = (rows.rater < self.shape[0]) & (levels < self.shape[1])
        found = np.full(len(rows), self.size)
        found[rated] = place[rows.rater[rated], levels[rated]]
        return found

    def designs(self, rows: Contexts) -> Designs:
        return {"intercept": one_per_row(self.cells(rows), self.size)}

    @property
    def levels(self) -> tuple[str, ...]:
        return "rater", ITEM if self.place < 0 else facet_name(self.facet)

    def table(self, x: Array) -> Array:
        """(raters, levels): 0 where a rater and a level do not occur together."""
        found = np.zeros(self.shape)
        found[self.rater, self.level] = x
        return found

    def parameters(self, table: Array) -> Array:
        return np.asarray(table[self.rater, self.level])


def block_of(facet: str) -> str:
    """The name of the block of the interactions of raters with a facet."""
    return f"{_BLOCK}{facet}"


def interacting_facets(blocks: Iterable[str]) -> tuple[str, ...]:
    """The facets that raters interact with, by the names of blocks or effects."""
    return tuple(name.removeprefix(_BLOCK) for name in blocks if name.startswith(_BLOCK))
