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
    given: NDArray[np.int64]
    """(contexts, categories): how often each score was given."""
    codes: Indices
    """Sorted: each context's levels in one number."""
    n_raters: int
    n_items: int
    facet_sizes: dict[str, int]

    def __len__(self) -> int:
        return len(self.rater)

    @staticmethod
    def of(ratings: Ratings) -> "Contexts":
        k = ratings.n_categories
        cells, times = ratings.cell_counts()
        codes, place = np.unique(cells // k, return_inverse=True)
        given = np.zeros((len(codes), k), dtype=np.int64)
        given[place, cells % k] = times
        rater, item, *facets = np.unravel_index(codes, ratings.sizes)
        return Contexts(
            rater,
            item,
            tuple(facets),
            given,
            codes,
            ratings.n_raters,
            ratings.n_items,
            {facet.name: len(facet.labels) for facet in ratings.facets},
        )

    def places(self, ratings: Ratings) -> Indices:
        """(ratings,): the context of each of these ratings, all or a part of those that the contexts are of."""
        code, size = ratings.context_codes(), int(np.prod(ratings.sizes))
        if size > 4 * len(code):
            return np.searchsorted(self.codes, code)
        place = np.zeros(size, dtype=np.int64)
        place[self.codes] = np.arange(len(self))
        return place[code]

    def counts(self, n_categories: int) -> Array:
        """(contexts, categories): `given`, where the model may have more categories than were seen."""
        counts = np.zeros((len(self), n_categories))
        counts[:, : self.given.shape[1]] = self.given
        return counts


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
