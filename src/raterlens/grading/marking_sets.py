"""Grades by other raters: raw grades by sets of raters, those of the exam and others of the panel."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from raterlens.base.arrays import Array, Indices
from raterlens.diagnostics.expected_scores import MOST_RATERS, rater_effects, spread_over
from raterlens.estimation.scoring import places_of
from raterlens.grading.classification import Classified, by_grade, lee
from raterlens.grading.cuts import Cuts
from raterlens.grading.marking_patterns import Patterns, Reading, marking_patterns, readings_of
from raterlens.grading.posterior_grades import Grid
from raterlens.grading.reading_totals import convolved, reading_totals
from raterlens.likelihood.nodes import Nodes
from raterlens.models.calibration import Calibration
from raterlens.models.terms.rater_interactions import ITEM, block_of
from raterlens.ratings.coded import Codes, Ratings

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
    every, _ = rater_effects(known)
    some = every.of(spread_over(every.severity, MOST_RATERS))
    for reading in readings:
        key = tuple(sorted(reading.items))
        if key not in own:
            own[key] = reading_totals(known, some, [int(items[item]) for item in key], theta).mean(axis=0)
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
    mean, sd = known.effects.get("population", (0.0, 1.0))
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
    rater: Codes
    item: Codes
    """Places of the ratings' raters and items among those of the fit"""
    harder: Array
    """(raters, items): what raters add to their severity on single items"""
    facets: tuple[Array, ...]
    """(raters, levels): for each further facet, effects of its levels, with what raters add"""
    _found: dict[Reading, Array] = field(default_factory=dict)

    @staticmethod
    def of(known: Calibration, ratings: Ratings, theta: Array) -> "Marking":
        rater = places_of(ratings.raters, known.labels["rater"], "raters")
        item = places_of(ratings.items, known.labels["item"], "items")

        def added(facet: str, places: Codes) -> Array:
            own = known.effects.get(block_of(facet))
            return np.zeros((len(rater), len(places))) if own is None else own[np.ix_(rater, places)]

        facets = []
        for facet in ratings.facets:
            name = f"facet {facet.name}"
            places = places_of(facet.labels, known.labels[name], "levels")
            facets.append(known.effects[name][places] + added(facet.name, places))
        return Marking(known, theta, rater, item, added(ITEM, item), tuple(facets))

    def totals(self, readings: tuple[Reading, ...]) -> Array:
        """(totals, abilities): of the readings together, counted from the lowest."""
        return convolved(self.reading(one) for one in readings)

    def reading(self, one: Reading) -> Array:
        """(totals, abilities): of one reading."""
        if one not in self._found:
            further = self.harder[one.rater, list(one.items)]
            for effect, level in zip(self.facets, one.facets, strict=True):
                further = further + effect[one.rater, list(level)]
            own = rater_effects(self.known)[0].of(self.rater[[one.rater]])
            items = self.item[list(one.items)].tolist()
            self._found[one] = reading_totals(self.known, own, items, self.theta, further.tolist())[0]
        return self._found[one]


def _drawn(patterns: Patterns) -> dict[int, int]:
    """How many students have each pattern: all, or of patterns drawn with the students who have them."""
    students = patterns.students
    if len(students) <= MOST_SETS:
        return dict(enumerate(students.tolist()))
    drawn = np.random.default_rng(0).choice(len(patterns.of_student), MOST_SETS, replace=False)
    return dict(Counter(patterns.of_student[drawn].tolist()))
