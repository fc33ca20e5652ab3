"""Ratings that stay on disk, sorted by student, and come into memory by parts."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.ratings.coded import Codes, Facet, Ratings, Tally
from raterlens.ratings.packed_file import Packed

Offsets = NDArray[np.int64]

# Ratings of a part: enough to keep compiled code busy, and a few hundred MB while a part is prepared.
PART = 2**22
# Up to here ratings are taken into memory whole, 14 bytes each.
IN_MEMORY = 20_000_000


class StoredRatings(Ratings):
    """As `Ratings`. What goes over `parts` needs memory for one part; whoever asks for `student`, `rater`, `item` or
    `score` themselves gets them whole, in memory."""

    def __init__(self, packed: Packed, places: NDArray[np.int16] | None = None, part: int = PART) -> None:
        for name, value in (("packed", packed), ("places", places), ("part_size", part), ("_counted", {})):
            object.__setattr__(self, name, value)

    packed: Packed
    places: NDArray[np.int16] | None
    """What stands for each stored score, where not the score itself."""
    part_size: int

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process opens the file itself."""
        packed = replace(self.packed, path=self.packed.path.resolve())
        return StoredRatings, (packed, self.places, self.part_size)

    # ---------------------------------------------------------------------------------- what is small

    @cached_property
    def students(self) -> pl.Series:
        return self.packed.labels("students").alias("student")

    @cached_property
    def raters(self) -> pl.Series:
        return self.packed.labels("raters").alias("rater")

    @cached_property
    def items(self) -> pl.Series:
        return self.packed.labels("items").alias("item")

    score_step = 1.0
    """Packed files hold whole scores."""

    @property
    def known(self) -> None:
        """Packed files hold no known answers."""
        return None

    @property
    def piece(self) -> None:
        """Packed files do not say which piece of work a rating is of."""
        return None

    @property
    def draw(self) -> None:
        """Packed files do not number draws."""
        return None

    @property
    def group(self) -> None:
        """Packed files hold no groups of students."""
        return None

    @property
    def trusted(self) -> tuple[str, ...]:
        """Packed files mark nobody."""
        return ()

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self.packed.about["notes"])

    @property
    def backend(self) -> Any:
        return self.packed.about["backend"]

    @cached_property
    def offsets(self) -> Offsets:
        """(students + 1,): where each student's ratings begin."""
        return self.packed.array("offsets")

    @property
    def n_students(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_ratings(self) -> int:
        return int(self.offsets[-1])

    @property
    def n_categories(self) -> int:
        return len(self.score_counts)

    @cached_property
    def score_counts(self) -> NDArray[np.int64]:
        cells, times = self._stored_cells
        stored = cells % self._stored_categories
        return np.bincount(stored if self.places is None else self.places[stored], times).astype(np.int64)

    @property
    def _stored_categories(self) -> int:
        return int(self.packed.about["categories"])

    @cached_property
    def _stored_cells(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self.packed.array("cells"), self.packed.array("times")

    def _count_cells(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        cells, times = self._stored_cells
        if self.places is None:
            return cells, times
        codes, scores = np.divmod(cells, self._stored_categories)
        recoded = codes * self.n_categories + self.places[scores].astype(np.int64)
        distinct, place = np.unique(recoded, return_inverse=True)
        return distinct, np.bincount(place, times).astype(np.int64)

    def _by_student(self) -> Tally:
        if self.places is None:
            total = self.packed.array("totals").astype(np.float64)
        else:
            total = np.concatenate([part.tally("student").total for part in self.parts()])
        return Tally(np.diff(self.offsets), total)

    # ------------------------------------------------------------------------------------ by parts

    def edges(self) -> Offsets:
        """Students at which parts begin, and the number of students."""
        return part_edges(self.offsets, self.part_size)

    def parts(self) -> Iterator[Ratings]:
        for first, last in pairwise(self.edges()):
            yield self.part(int(first), int(last))

    def part(self, first: int, last: int) -> Ratings:
        """The ratings of students `first` to `last - 1`, coded from 0; raters and items as in the whole."""
        start, stop = int(self.offsets[first]), int(self.offsets[last])
        given = np.diff(self.offsets[first : last + 1])
        score = self._taken("score", start, stop, np.int16)
        return Ratings(
            student=np.repeat(np.arange(last - first, dtype=np.int32), given),
            rater=self._taken("rater", start, stop),
            item=self._taken("item", start, stop),
            score=score if self.places is None else self.places[score],
            students=self.students.slice(first, last - first),
            raters=self.raters,
            items=self.items,
            notes=self.notes,
            backend=self.backend,
            facets=tuple(
                Facet(name, self._taken(f"facet {f}", start, stop), labels)
                for f, (name, labels) in enumerate(self._facet_labels)
            ),
        )

    def _taken(self, name: str, start: int, stop: int, dtype: Any = np.int32) -> Any:
        return self.packed.array(name, start, stop).astype(dtype)

    @cached_property
    def _facet_labels(self) -> list[tuple[str, pl.Series]]:
        names = self.packed.about["facets"]
        return [(name, self.packed.labels(f"levels {f}").alias(name)) for f, name in enumerate(names)]

    # ------------------------------------------------------------------------------ whole, in memory

    @cached_property
    def _whole(self) -> Ratings:
        return self.part(0, self.n_students)

    def in_memory(self) -> Ratings:
        return self.part(0, self.n_students)

    @property
    def student(self) -> Codes:
        return self._whole.student

    @property
    def rater(self) -> Codes:
        return self._whole.rater

    @property
    def item(self) -> Codes:
        return self._whole.item

    @property
    def score(self) -> NDArray[np.int16]:
        return self._whole.score

    @cached_property
    def facets(self) -> tuple[Facet, ...]:
        return tuple(_LazyFacet(self, f) for f in range(len(self._facet_labels)))  # type: ignore[misc]

    def with_scores(self, places: NDArray[np.int16]) -> Ratings:
        combined = places if self.places is None else places[self.places]
        return StoredRatings(self.packed, combined, self.part_size)


class _LazyFacet:
    """A facet whose labels are at hand, and whose codes come into memory when asked for."""

    def __init__(self, ratings: StoredRatings, which: int) -> None:
        self._ratings, self._which = ratings, which
        self.name, self.labels = ratings._facet_labels[which]

    @property
    def codes(self) -> Codes:
        return self._ratings._whole.facets[self._which].codes


def part_edges(offsets: Offsets, size: int) -> Offsets:
    """Parts of about `size` ratings, of whole students: the same for the same data, whoever works on them."""
    n = max(1, round(int(offsets[-1]) / size))
    inner = np.searchsorted(offsets, np.arange(1, n) * (int(offsets[-1]) / n))
    return np.unique(np.concatenate([[0], inner, [len(offsets) - 1]]))


def open_ratings(packed: Packed, in_memory: int = IN_MEMORY) -> Ratings:
    """Packed ratings: in memory up to so many, else on disk."""
    stored = StoredRatings(packed)
    return stored.in_memory() if stored.n_ratings <= in_memory else stored
