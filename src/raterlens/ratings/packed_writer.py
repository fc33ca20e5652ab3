"""Coded ratings, in chunks of any order, to a file sorted by student."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.ratings.coded import Codes, Ratings
from raterlens.ratings.long_columns import distinct_counts
from raterlens.ratings.packed_file import AnyArray, forget, narrow, writing

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """What a file of packed ratings says beside the ratings."""

    students: pl.Series
    raters: pl.Series
    items: pl.Series
    facets: dict[str, pl.Series]
    notes: tuple[str, ...]
    backend: str
    cut: float | None

    @property
    def sizes(self) -> list[int]:
        return [len(self.raters), len(self.items), *(len(labels) for labels in self.facets.values())]


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Some ratings, coded."""

    student: Codes
    score: NDArray[np.int16]
    levels: Sequence[Codes]
    """Rater, item, and each further facet."""


def write_ratings(ratings: Ratings, path: Path, cut: float | None) -> None:
    """Pack ratings that are in memory."""
    facets = {facet.name: facet.labels for facet in ratings.facets}
    labels = Labels(
        ratings.students, ratings.raters, ratings.items, facets, ratings.notes, ratings.backend, cut
    )
    levels = (ratings.rater, ratings.item, *(facet.codes for facet in ratings.facets))
    chunk = Chunk(ratings.student, ratings.score, levels)
    write_chunks([chunk], labels, ratings.tally("student").n, ratings.n_categories, path)


def write_chunks(
    chunks: Iterable[Chunk], labels: Labels, per_student: Counts, n_categories: int, path: Path
) -> None:
    """Put every rating in its place among those of its student; memory is that of a chunk."""
    offsets = np.concatenate([[0], np.cumsum(per_student)])
    n, k, sizes = int(offsets[-1]), n_categories, labels.sizes
    names = ["rater", "item", *(f"facet {f}" for f in range(len(labels.facets)))]
    with writing(path) as (file, about):
        file.labels("students", labels.students)
        file.labels("raters", labels.raters)
        file.labels("items", labels.items)
        for f, series in enumerate(labels.facets.values()):
            file.labels(f"levels {f}", series)
        file.array("offsets", offsets)
        score = file.empty("score", narrow(k), n)
        levels = [file.empty(name, narrow(size), n) for name, size in zip(names, sizes, strict=True)]
        following, totals = offsets[:-1].copy(), np.zeros(len(per_student), dtype=np.int64)
        tallied: list[tuple[Counts, Counts]] = []
        for chunk in chunks:
            place = _places(chunk.student, following)
            score[place] = chunk.score
            cell = np.zeros(len(place), dtype=np.int64)
            for stored, codes, size in zip(levels, chunk.levels, sizes, strict=True):
                stored[place] = codes
                cell = cell * size + codes
            count_into(totals, chunk.student, chunk.score)
            tallied.append(
                _merged([*tallied[-1:], distinct_counts(cell * k + chunk.score, int(np.prod(sizes)) * k)])
            )
            del tallied[:-1]
            for stored in (score, *levels):
                forget(stored)
        file.array("totals", totals)
        cells, times = tallied[-1]
        file.array("cells", cells)
        file.array("times", times)
        about.update(
            categories=k,
            facets=list(labels.facets),
            notes=list(labels.notes),
            backend=labels.backend,
            cut=labels.cut,
        )


def count_into(counts: Counts, codes: Codes, weights: AnyArray | None = None) -> None:
    """Add how often each code occurs, or its weights; a chunk in order has the codes of a short stretch."""
    if not len(codes):
        return
    lowest = int(codes.min())
    found = np.bincount(codes - lowest, weights)
    counts[lowest : lowest + len(found)] += found.astype(np.int64)


def _places(student: Codes, following: Counts) -> AnyArray:
    """Where each rating goes: after those that its student has so far, in the order in which they come."""
    order = None if (np.diff(student) >= 0).all() else np.argsort(student, kind="stable")
    own = student if order is None else student[order]
    first = np.flatnonzero(np.diff(own, prepend=-1))
    length = np.diff(first, append=len(own))
    whose = own[first]
    place = np.repeat(following[whose] - first, length) + np.arange(len(own))
    following[whose] += length
    if order is None:
        return place
    back = np.empty_like(place)
    back[order] = place
    return back


def _merged(found: list[tuple[Counts, Counts]]) -> tuple[Counts, Counts]:
    if len(found) == 1:
        return found[0]
    cells, place = np.unique(np.concatenate([cells for cells, _ in found]), return_inverse=True)
    times: Any = np.concatenate([times for _, times in found])
    return cells, np.bincount(place, times).astype(np.int64)
