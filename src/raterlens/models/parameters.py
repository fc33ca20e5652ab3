"""A flat parameter vector with named blocks, and the contexts of ratings that it is about."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from raterlens.ratings import Ratings

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Contexts:
    """The distinct (rater, item, further facets) of the data: with ability, all that a rating depends on."""

    rater: Indices
    item: Indices
    facets: tuple[Indices, ...]
    of_rating: Indices
    """Each rating's context."""
    n_raters: int
    n_items: int
    facet_sizes: dict[str, int]

    def __len__(self) -> int:
        return len(self.rater)

    @staticmethod
    def of(ratings: Ratings) -> "Contexts":
        sizes = [ratings.n_raters, ratings.n_items, *(len(facet.labels) for facet in ratings.facets)]
        code = np.zeros(ratings.n_ratings, dtype=np.int64)
        for codes, size in zip(
            (ratings.rater, ratings.item, *(facet.codes for facet in ratings.facets)), sizes, strict=True
        ):
            code = code * size + codes
        distinct, of_rating = _distinct(code, int(np.prod(sizes)))
        rater, item, *facets = np.unravel_index(distinct, sizes)
        return Contexts(
            rater,
            item,
            tuple(facets),
            of_rating,
            ratings.n_raters,
            ratings.n_items,
            {facet.name: len(facet.labels) for facet in ratings.facets},
        )


def _distinct(code: Indices, size: int) -> tuple[Indices, Indices]:
    """Sorted distinct codes and each entry's place among them; by counting where the range is small."""
    if size > 4 * len(code):
        distinct, place = np.unique(code, return_inverse=True)
        return distinct, place
    seen = np.bincount(code, minlength=size) > 0
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[code]


@dataclass(frozen=True, slots=True)
class Blocks:
    """Named stretches of a flat parameter vector, in order."""

    sizes: dict[str, int]

    def __getitem__(self, name: str) -> slice:
        first = 0
        for block, size in self.sizes.items():
            if block == name:
                return slice(first, first + size)
            first += size
        raise KeyError(name)

    def __contains__(self, name: str) -> bool:
        return name in self.sizes

    @property
    def size(self) -> int:
        return sum(self.sizes.values())
