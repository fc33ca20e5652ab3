"""Do predictions hold? One reading of each student is held out, and its grade foreseen from the others.

The others alone decide the student's grade. Given them, the model foresees how probable it is that the rater of the
reading held out agrees with it: its predictions are right if raters agree as often as foreseen.
"""

import numpy as np
import polars as pl

from raterlens.base.arrays import Array, Mask
from raterlens.estimation.scoring import place
from raterlens.grading.grades import Cuts, Grid, Marking, Reading, grade_chances, readings_of
from raterlens.likelihood.cells import reading_columns
from raterlens.models.calibration import Calibration
from raterlens.ratings.coded import Ratings
from raterlens.ratings.groupings import grouped


def held_out_agreement(known: Calibration, ratings: Ratings, cuts: Cuts, which: int = 0) -> pl.DataFrame:
    """student, rater, grade (by the other readings), foreseen (the chance that the rater agrees) and agreed: a row
    for every student with two readings or more and with one in this place, in the order of raters."""
    held = _held(ratings, which)
    rest, own = ratings.subset(~held & _several(ratings)), ratings.subset(held, keep_levels=True)
    placed = place(known, rest)
    grid = Grid(known, placed, placed.abilities(), cuts)
    weights = grid.grade_weights()
    readings = [reading for (reading,) in readings_of(own, np.arange(own.n_students))]
    marking, found = Marking(known, own, grid.abilities), np.empty(own.n_students)
    grade = np.empty(own.n_students, np.int64)
    chances: dict[Reading, Array] = {}
    at = np.searchsorted(rest.students.cast(pl.String), own.students.cast(pl.String))
    of_student = np.full(rest.n_students, -1)
    of_student[at] = np.arange(own.n_students)
    for rows, posterior in grid.posteriors():
        given = (posterior @ weights).argmax(axis=1)
        for place_, student in enumerate(of_student[rows]):
            if student < 0:
                continue
            one = readings[student]
            if one not in chances:
                chances[one] = grade_chances(known, marking.reading(one), len(one.items), cuts)
            grade[student] = given[place_]
            found[student] = posterior[place_] @ chances[one][given[place_]]
    return pl.DataFrame(
        {
            "student": own.students,
            "rater": own.raters.gather([one.rater for one in readings]),
            "grade": pl.Series(cuts.grades).gather(grade),
            "foreseen": found,
            "agreed": cuts.grade_of(own.tally("student").mean) == grade,
        }
    )


def _several(ratings: Ratings) -> Mask:
    """(ratings,): of students with two readings or more."""
    column = reading_columns(ratings).of
    lowest, highest = np.full(ratings.n_students, column.max()), np.zeros(ratings.n_students, column.dtype)
    np.minimum.at(lowest, ratings.student, column)
    np.maximum.at(highest, ratings.student, column)
    return np.asarray((lowest < highest)[ratings.student])


def _held(ratings: Ratings, which: int) -> Mask:
    """(ratings,): in the reading of that place, of students with several."""
    columns = reading_columns(ratings)
    readings = grouped(ratings.student, ratings.n_students, columns.of, columns.number)
    whose = ratings.student[readings.example]
    first = np.searchsorted(whose, whose)
    place_ = np.arange(len(whose)) - first
    return np.asarray((place_ == which)[readings.of_row] & _several(ratings))
