"""A flat parameter vector with named blocks, and the contexts of ratings that it is about."""

import math
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from raterlens.base.arrays import Array, Indices
from raterlens.base.threads import in_blocks
from raterlens.ratings.coded import Codes, Ratings


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
    n_answers: int = 0
    """How many of them, the last ones, are known answers, whose levels are beyond all others."""

    def __len__(self) -> int:
        return len(self.rater)

    @property
    def n_rated(self) -> int:
        """How many of them, the first ones, are of ratings."""
        return len(self) - self.n_answers

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

    @staticmethod
    def reference(
        rater: Indices,
        item: Indices,
        facets: tuple[Indices, ...],
        sizes: tuple[int, int],
        facet_sizes: dict[str, int],
    ) -> "Contexts":
        """Rows that nobody need have rated. A level beyond all others is the average one: what it adds is 0."""
        none = np.zeros((len(rater), 1), dtype=np.int64)
        return Contexts(rater, item, facets, none, np.arange(len(rater)), *sizes, facet_sizes)

    @property
    def rated(self) -> "Contexts":
        """Those of ratings alone."""
        if not self.n_answers:
            return self
        n, sizes = self.n_rated, (self.n_raters, self.n_items, *self.facet_sizes.values())
        levels = self.rater[:n], self.item[:n], *(codes[:n] for codes in self.facets)
        rater, item, *facets = levels
        codes = np.ravel_multi_index(levels, sizes)
        return replace(
            self, rater=rater, item=item, facets=tuple(facets), given=self.given[:n], codes=codes, n_answers=0
        )

    @staticmethod
    def with_answers(ratings: Ratings, answered: Ratings) -> "Contexts":
        """Contexts of ratings and of their known answers, which are ratings in `answered`."""
        found = Contexts.of(answered)
        return replace(
            found,
            n_raters=ratings.n_raters,
            n_items=ratings.n_items,
            facet_sizes={facet.name: len(facet.labels) for facet in ratings.facets},
            n_answers=answered.n_items - ratings.n_items,
        )

    def places(self, ratings: Ratings) -> Codes:
        """(ratings,): the context of each of these ratings, all or a part of those that the contexts are of."""
        found, size = np.empty(ratings.n_ratings, dtype=np.int32), math.prod(ratings.sizes)
        table = np.zeros(size if size <= 4 * ratings.n_ratings else 0, dtype=np.int32)
        if len(table):
            table[self.codes] = np.arange(len(self))

        def block(rows: slice) -> None:
            code = ratings.context_codes(rows)
            found[rows] = table[code] if len(table) else np.searchsorted(self.codes, code)

        in_blocks(block, ratings.n_ratings)
        return found

    def counts(self, n_categories: int) -> Array:
        """(contexts, categories): `given`, where the model may have more categories than were seen."""
        counts = np.zeros((len(self), n_categories))
        counts[:, : self.given.shape[1]] = self.given
        return counts


class Blocks:
    """Named stretches of a flat parameter vector, in order."""

    __slots__ = ("_places", "size", "sizes")

    def __init__(self, sizes: dict[str, int]) -> None:
        ends = list(accumulate(sizes.values(), initial=0))
        self.sizes, self.size = sizes, ends[-1]
        # Looked up thousands of times per fit.
        self._places = dict(zip(sizes, map(slice, ends, ends[1:]), strict=False))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Blocks) and list(self.sizes.items()) == list(other.sizes.items())

    def __hash__(self) -> int:
        return hash(tuple(self.sizes.items()))

    def __repr__(self) -> str:
        return f"Blocks({self.sizes})"

    def __getitem__(self, name: str) -> slice:
        return self._places[name]

    def __contains__(self, name: str) -> bool:
        return name in self.sizes
