"""How students were marked: readings, distinct patterns of them, and the distribution of total scores."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from raterlens.base.arrays import Array, Indices
from raterlens.capability.population import READINGS
from raterlens.estimation.scoring import places_of
from raterlens.grading.grades import Classified, Cuts, Grid, by_grade, lee
from raterlens.inference.expected_scores import MOST_RATERS, fitted_levels, spread_over
from raterlens.likelihood.cells import reading_columns
from raterlens.likelihood.nodes import Nodes
from raterlens.models.calibration import Calibration
from raterlens.models.panel import Rows
from raterlens.models.term import Contexts
from raterlens.ratings.coded import Codes, Ratings
from raterlens.ratings.groupings import grouped

# ---------------------------------------------------------------------------------------------- marking patterns


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


# ------------------------------------------------------------------------------------------------ reading totals


# How likely each total score of a reading is: all scores that one rater gives a student's items.
#
# Totals build up item by item (Lord and Wingersky, 1984): with p_k the probability of score k on the next item,
#
#     P(total = x) <- sum over k of P(total = x - k) p_k.
#
# Where scores of a reading share more than ability (halo), this holds given the impression u, and is averaged over u.

# Numbers in the table of one block of raters: 64 MB.
_BLOCK = 2**23


def reading_totals(known: Calibration, items: Sequence[Rows], theta: Array) -> Array:
    """(raters, totals, abilities): probabilities of the totals, counted from the lowest that there can be. `items` has
    the raters' rows on each item."""
    n, halo = len(items[0].halo), items[0].halo
    u, weights = READINGS if np.any(halo) else (np.zeros(1), np.ones(1))
    highest = len(items) * (known.scores[-1] - known.scores[0])
    size = max(1, _BLOCK // (len(u) * (highest + 1) * len(theta)))
    found = np.empty((n, highest + 1, len(theta)))
    for first in range(0, n, size):
        some = slice(first, first + size)
        parts = [_by_score(known, rows.of(some).given_impressions(u).chances(theta)) for rows in items]
        whole = convolved(parts).reshape(len(halo[some]), len(u), -1, len(theta))
        found[some] = np.einsum("ruxq,u->rxq", whole, weights)
    return found


_LONG = 30
"""Scores of one part from which on it is convolved by Fourier transforms."""


def convolved(parts: Iterable[Array]) -> Array:
    """(..., totals, abilities): of independent parts together, each (..., totals, abilities)."""
    total: Array | None = None
    for part in parts:
        if total is None:
            total = part
            continue
        if part.shape[-2] > _LONG:  # so many marks that transforms are quicker; they leave 1e-16
            size = total.shape[-2] + part.shape[-2] - 1
            both = np.fft.rfft(total, size, axis=-2) * np.fft.rfft(part, size, axis=-2)
            total = np.maximum(np.fft.irfft(both, size, axis=-2), 0.0)
            continue
        longer = np.zeros((*total.shape[:-2], total.shape[-2] + part.shape[-2] - 1, total.shape[-1]))
        for score in range(part.shape[-2]):
            longer[..., score : score + total.shape[-2], :] += total * part[..., score, None, :]
        total = longer
    assert total is not None
    return total


def _by_score(known: Calibration, p: Array) -> Array:
    """From probabilities of the scores that occur to those of every score from the lowest to the highest."""
    lowest, *_, highest = known.scores
    if p.shape[1] == highest - lowest + 1:
        return p
    found = np.zeros((len(p), highest - lowest + 1, p.shape[2]))
    found[:, np.array(known.scores) - lowest] = p
    return found


# -------------------------------------------------------------------------------------------------- marking sets


MOST_PATTERNS, MOST_SETS = 200, 500
"""Patterns of items, the most frequent, and sets of raters, drawn at random, that are looked at."""

_POPULATION = Nodes.equally_spaced(-5.0, 5.0, 0.05)


def repeat_chances(known: Calibration, ratings: Ratings, grid: Grid, cuts: Cuts, grade: Indices) -> Array:
    """(students,): the chance that as many other raters of the panel, drawn at random, give this raw grade for the same
    items; not a number for students whose pattern of items is rare."""
    patterns = marking_patterns(ratings, raters=False)
    frequent = np.argsort(-patterns.students, kind="stable")[:MOST_PATTERNS]
    items = places_of(ratings.items, known.labels["item"], "items")
    own: dict[tuple[int, ...], Array] = {}
    chances = {
        int(which): _panel_chances(known, readings, items, grid.abilities, cuts, own)
        for which, readings in zip(frequent, readings_of(ratings, patterns.example[frequent]), strict=True)
    }
    found = np.full(len(grade), np.nan)
    for rows, posterior in grid.posteriors():
        mine, given = patterns.of_student[rows], grade[rows]
        for which in chances.keys() & set(mine.tolist()):
            some = np.flatnonzero(mine == which)
            found[rows.start + some] = np.einsum("nq,nq->n", posterior[some], chances[which][given[some]])
    return found


def _panel_chances(
    known: Calibration,
    readings: tuple[Reading, ...],
    items: Codes,
    theta: Array,
    cuts: Cuts,
    own: dict[tuple[int, ...], Array],
) -> Array:
    """(grades, abilities): of the raw result of these readings by raters drawn from the panel."""
    some = spread_over(known.effects["severity"], MOST_RATERS)
    for reading in readings:
        key = tuple(sorted(reading.items))
        if key not in own:
            rows = [known.rows(some, int(items[item])) for item in key]
            own[key] = reading_totals(known, rows, theta).mean(axis=0)
    totals = convolved(own[tuple(sorted(reading.items))] for reading in readings)
    return grade_chances(known, totals, sum(len(reading.items) for reading in readings), cuts)


def grade_chances(known: Calibration, totals: Array, n_ratings: int, cuts: Cuts) -> Array:
    """(grades, abilities): totals of this many ratings, counted from the lowest, by the grades of their means."""
    mean = (np.arange(len(totals)) / n_ratings + known.scores[0]) * known.score_step
    return by_grade(totals, cuts.grade_of(mean), len(cuts.grades))


def consistency_of_sets(known: Calibration, ratings: Ratings, cuts: Cuts) -> tuple[Classified, int]:
    """Lee's accuracy and consistency of raw results on average over students, each by the set of raters that the
    student had, over the fit's population; and the number of students."""
    patterns = marking_patterns(ratings, raters=True)
    weights = np.exp(_POPULATION.log_weights)
    weights /= weights.sum()
    mean, sd = known.population
    marking = Marking.of(known, ratings, mean + sd * _POPULATION.points)
    drawn = _drawn(patterns)
    found = np.zeros(2)
    examples = patterns.example[list(drawn)]
    for readings, students in zip(readings_of(ratings, examples), drawn.values(), strict=True):
        n = sum(len(one.items) for one in readings)
        one = lee(marking.totals(readings), (cuts.score / known.score_step - known.scores[0]) * n)
        found += students * np.array([one.accuracy @ weights, one.consistency @ weights])
    n_students = sum(drawn.values())
    return Classified(*(found / n_students)), n_students


@dataclass(frozen=True, slots=True, eq=False)
class Marking:
    """Total scores that readings of these ratings have at some abilities."""

    known: Calibration
    theta: Array
    contexts: Contexts
    rows: Rows
    """Rows of the contexts"""
    sizes: Sequence[int]
    """Levels of raters, items and further facets"""
    _found: dict[Reading, Array] = field(default_factory=dict)

    @staticmethod
    def of(known: Calibration, ratings: Ratings, theta: Array) -> "Marking":
        contexts = Contexts.of(ratings)
        rows = known.rows(*fitted_levels(known, ratings, contexts))
        return Marking(known, theta, contexts, rows, ratings.sizes)

    def totals(self, readings: tuple[Reading, ...]) -> Array:
        """(totals, abilities): of the readings together, counted from the lowest."""
        return convolved(self.reading(one) for one in readings)

    def reading(self, one: Reading) -> Array:
        """(totals, abilities): of one reading."""
        if one not in self._found:
            levels = np.full(len(one.items), one.rater), np.array(one.items), *map(np.array, one.facets)
            places = np.searchsorted(self.contexts.codes, np.ravel_multi_index(levels, self.sizes))
            rows = [self.rows.of(slice(place, place + 1)) for place in places]
            self._found[one] = reading_totals(self.known, rows, self.theta)[0]
        return self._found[one]


def _drawn(patterns: Patterns) -> dict[int, int]:
    """How many students have each pattern: all, or of patterns drawn with the students who have them."""
    students = patterns.students
    if len(students) <= MOST_SETS:
        return dict(enumerate(students.tolist()))
    drawn = np.random.default_rng(0).choice(len(patterns.of_student), MOST_SETS, replace=False)
    return dict(Counter(patterns.of_student[drawn].tolist()))
