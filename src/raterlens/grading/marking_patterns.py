"""Who marked what: students by the readings that they have, each distinct pattern once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from raterlens.base.arrays import Indices
from raterlens.diagnostics.grouping import grouped
from raterlens.likelihood.cells import reading_columns
from raterlens.ratings.coded import Ratings

_MIXER = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Reading:
    """One rater's scores of a student's work."""

    rater: int
    items: tuple[int, ...]
    facets: tuple[tuple[int, ...], ...]
    """Levels of further facets: for each facet, one per item"""


@dataclass(frozen=True, slots=True, eq=False)
class Patterns:
    """Distinct patterns of readings."""

    of_student: Indices
    """(students,)"""
    example: Indices
    """(patterns,): a student who has it"""

    @property
    def students(self) -> Indices:
        """(patterns,): how many have it"""
        return np.bincount(self.of_student, minlength=len(self.example))


def marking_patterns(ratings: Ratings, *, raters: bool) -> Patterns:
    """Students who have the same readings: of the same items and, with `raters`, by the same raters at the same
    levels of further facets."""
    code = np.random.default_rng(0).integers(2**64, size=sum(ratings.sizes), dtype=np.uint64)
    keys = np.concatenate([_keys(part, code, raters) for part in ratings.parts()])
    _, example, of_student = np.unique(keys, return_index=True, return_inverse=True)
    return Patterns(of_student, example)


def readings_of(ratings: Ratings, students: NDArray[np.integer]) -> list[tuple[Reading, ...]]:
    """The readings of some students, in their order."""
    order = np.argsort(students, kind="stable")
    sorted_students, first = students[order], 0
    found: list[tuple[Reading, ...]] = []
    for part in ratings.parts():
        own = sorted_students[np.searchsorted(sorted_students, first) :] - first
        found += _spelled(part, own[own < part.n_students])
        first += part.n_students
    return [found[place] for place in np.argsort(order)]


def _keys(ratings: Ratings, code: NDArray[np.uint64], raters: bool) -> NDArray[np.uint64]:
    """(students,): a number for each pattern. A multiset is known by the sum of its members' random numbers."""
    before = np.cumsum([0, *ratings.sizes])
    columns = reading_columns(ratings)
    key = code[before[1] + ratings.item]
    if raters:
        key = key + code[ratings.rater] * _MIXER
        for place, facet in enumerate(ratings.facets):
            key += code[before[2 + place] + facet.codes] * (_MIXER >> np.uint64(place + 1))
        key = _mixed(key)
    readings = grouped(ratings.student, ratings.n_students, columns.of, columns.number)
    own = _mixed(np.add.reduceat(key[readings.order], readings.first[:-1]))
    whose = ratings.student[readings.example]
    starts = np.flatnonzero(np.diff(whose, prepend=-1))
    return np.asarray(np.add.reduceat(own, starts))


def _mixed(key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scrambled, so that sums of sums do not meet."""
    key = (key ^ (key >> np.uint64(31))) * _MIXER
    return key ^ (key >> np.uint64(29))


def _spelled(ratings: Ratings, students: NDArray[np.integer]) -> list[tuple[Reading, ...]]:
    """The readings of some students of a part, in rising order."""
    place = np.full(ratings.n_students, -1)
    place[students] = np.arange(len(students))
    rows = np.flatnonzero(place[ratings.student] >= 0)
    columns = reading_columns(ratings)
    readings = grouped(place[ratings.student[rows]], len(students), columns.of[rows], columns.number)
    found: list[list[Reading]] = [[] for _ in students]
    for first, end in zip(readings.first[:-1], readings.first[1:], strict=True):
        own = rows[readings.order[first:end]]
        facets = tuple(tuple(facet.codes[own].tolist()) for facet in ratings.facets)
        reading = Reading(int(ratings.rater[own[0]]), tuple(ratings.item[own].tolist()), facets)
        found[place[ratings.student[own[0]]]].append(reading)
    return [tuple(each) for each in found]
