"""A flat parameter vector with named blocks, and the distinct rater-item pairs it is about."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from raterlens.ratings import Ratings

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Pairs:
    """The distinct (rater, item) pairs in the data: a rating's probability depends on its pair and ability."""

    rater: Indices
    item: Indices
    of_rating: Indices
    """Each rating's pair."""
    n_raters: int
    n_items: int

    def __len__(self) -> int:
        return len(self.rater)

    @staticmethod
    def of(ratings: Ratings) -> "Pairs":
        code = ratings.rater.astype(np.int64) * ratings.n_items + ratings.item
        if ratings.n_raters * ratings.n_items <= 4 * ratings.n_ratings:
            seen = np.bincount(code, minlength=ratings.n_raters * ratings.n_items) > 0
            distinct, of_rating = np.flatnonzero(seen), (np.cumsum(seen) - 1)[code]
        else:
            distinct, of_rating = np.unique(code, return_inverse=True)
        return Pairs(
            distinct // ratings.n_items,
            distinct % ratings.n_items,
            of_rating,
            ratings.n_raters,
            ratings.n_items,
        )


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
