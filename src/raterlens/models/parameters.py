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
        size = int(np.prod(_sizes(ratings)))
        found = [_counted(_codes(part) * k + part.score, size * k) for part in ratings.parts()]
        cells, times = found[0] if len(found) == 1 else _merged(found)
        codes, place = np.unique(cells // k, return_inverse=True)
        given = np.zeros((len(codes), k), dtype=np.int64)
        given[place, cells % k] = times
        rater, item, *facets = np.unravel_index(codes, _sizes(ratings))
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
        code, size = _codes(ratings), int(np.prod(_sizes(ratings)))
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


def _sizes(ratings: Ratings) -> list[int]:
    return [ratings.n_raters, ratings.n_items, *(len(facet.labels) for facet in ratings.facets)]


def _codes(ratings: Ratings) -> Indices:
    """Rater, item and further facets of each rating in one number."""
    code = ratings.rater.astype(np.int64)
    others = (ratings.item, *(facet.codes for facet in ratings.facets))
    for codes, size in zip(others, _sizes(ratings)[1:], strict=True):
        code *= size
        code += codes
    return code


def _counted(cells: Indices, size: int) -> tuple[Indices, Indices]:
    """Sorted distinct numbers and how often each occurs; by counting where the range is small."""
    if size > 4 * len(cells):
        return np.unique(cells, return_counts=True)
    times = np.bincount(cells, minlength=size)
    return (distinct := np.flatnonzero(times)), times[distinct]


def _merged(found: list[tuple[Indices, Indices]]) -> tuple[Indices, Indices]:
    cells, place = np.unique(np.concatenate([cells for cells, _ in found]), return_inverse=True)
    times = np.zeros(len(cells), dtype=np.int64)
    np.add.at(times, place, np.concatenate([times for _, times in found]))
    return cells, times


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
