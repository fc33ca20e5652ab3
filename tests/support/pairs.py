"""Pairs as a model of terms: an item is a pair of objects, a score says whether the first one wins, ties, or loses."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from raterlens.models.facets import FacetsModel
from raterlens.models.term import Contexts, Designs, Offsets, Term


@dataclass(frozen=True, eq=False)
class Worths(Term):
    """beta: the first object of a pair wins the more, the more it is worth than the second (Bradley and Terry)."""

    first: np.ndarray
    """(items,): its objects."""
    second: np.ndarray
    name: str = "worth"

    @property
    def size(self) -> int:
        return int(max(self.first.max(), self.second.max())) + 1

    def designs(self, rows: Contexts) -> Designs:
        unit = np.eye(self.size)
        return {"intercept": sparse.csr_array(unit[self.second[rows.item]] - unit[self.first[rows.item]])}


@dataclass(frozen=True, eq=False)
class Order(Term):
    """How much worse the first object of any pair does, only because it is shown first."""

    name: str = "order"
    size = 1

    def designs(self, rows: Contexts) -> Designs:
        return {"intercept": sparse.csr_array(np.ones((len(rows), 1)))}


@dataclass(frozen=True, eq=False)
class Tie(Term):
    """c: a tie of equal objects is exp(c) times as probable as that the first one wins (Davidson)."""

    name: str = "tie"
    size = 1

    def designs(self, rows: Contexts) -> Designs:
        return {"steps": sparse.csr_array(np.tile([[-1.0], [0.0]], (len(rows), 1)))}


@dataclass(frozen=True, eq=False)
class NoAbility(Term):
    """In the place of slopes: judges' choices have nothing else in common."""

    name: str = "slope"
    size = 0

    def offsets(self, rows: Contexts) -> Offsets:
        return {"slope": np.zeros(len(rows))}


def as_pairs(model: FacetsModel, pairs: Iterable[tuple[int, int]], *more: Term) -> FacetsModel:
    """The model with pairs of objects in the place of items, and with further terms, which take the place of those of
    the same name."""
    left_out = {"difficulty", "threshold", *(term.name for term in more)}
    kept = (term for term in model.terms if term.name not in left_out)
    return replace(model, terms=(*kept, Worths(*np.array(list(pairs)).T), *more))
