"""Do the scores of a reading share more than ability? Asked of the score at a variance of 0, without fitting again.

An impression u of variance v shifts the predictors of all ratings of a reading. With g the derivative of a rating's
log-probability in such a shift, and g' the second, the log-likelihood of a reading rises as v leaves 0 by

    d log P / d v = ((sum of g)^2 + sum of g') / 2

and a student's by what is expected of it over the posterior. The parameters of the model have absorbed some of that:
the scores of students are projected on those of the parameters; what is left tells how large a sum is by chance.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special
from scipy.sparse.linalg import lsmr

from raterlens.base.arrays import Array, Indices
from raterlens.base.memo import kept_with
from raterlens.estimation.scoring import Placed
from raterlens.kernels.break_even import compiled_code_pays
from raterlens.likelihood.cells import reading_columns
from raterlens.likelihood.nodes import Nodes
from raterlens.models.responses import Predictor, Response
from raterlens.ratings.coded import Ratings
from raterlens.ratings.grouping import grouped

# Relative, of what is left.
_ACCURACY = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Readings:
    """Ratings by readings, and these by students."""

    order: Indices
    """(ratings,): rows, reading after reading."""
    first: Indices
    """(readings + 1,): where each begins in that order, with the end."""
    of_student: Indices
    """(students + 1,): where the readings of each begin."""

    @staticmethod
    def of(ratings: Ratings) -> "Readings":
        """Found once, for all who ask."""
        return kept_with(ratings, "readings", lambda: Readings._of(ratings))

    @staticmethod
    def _of(ratings: Ratings) -> "Readings":
        found = grouped(ratings.student, ratings.n_students, ratings.rater, ratings.n_raters)
        # Most often items are in order within each, so that none occurs again and each group is one reading.
        item = ratings.item[found.order]
        rises = item[1:] > item[:-1]
        rises[found.first[1:-1] - 1] = True
        if ratings.piece is not None or not rises.all():
            columns = reading_columns(ratings)
            found = grouped(ratings.student, ratings.n_students, columns.of, columns.number)
        number = np.bincount(ratings.student[found.example], minlength=ratings.n_students)
        return Readings(found.order, found.first, np.concatenate([[0], np.cumsum(number)]))

    @property
    def long(self) -> bool:
        """Whether any has two ratings or more."""
        return len(self.first) - 1 < len(self.order)

    @property
    def second(self) -> bool:
        """Whether any student has two or more."""
        return bool((np.diff(self.of_student) > 1).any())


def halo_score(at: Placed, readings: Readings | None = None) -> float:
    """The score of a common variance at 0 in standard errors: normal where there is no reading effect, and large where
    there is one; infinite where it is positive and students are too few to tell how large it could be by chance.

    Found once, for all who ask. `readings`: of these ratings, where they are known.
    """
    return kept_with(at.problem, "halo score", lambda: _halo_score(at, readings or Readings.of(at.ratings)))


def _halo_score(at: Placed, readings: Readings) -> float:
    nodes = at.rough_nodes
    own = _of_students(at, nodes, readings)
    total = float(own.sum())
    if total <= 0:
        return total / float(np.linalg.norm(own))
    left = len(own) - at.problem.model.blocks.size
    if left <= 0:
        return float("inf")
    scores = at.problem.student_scores(at.parameters, nodes)
    size = np.sqrt(np.maximum(scores.power(2).sum(axis=0), 1e-300))
    absorbed = lsmr(scores @ sparse.diags_array(1 / size), own, atol=_ACCURACY, btol=_ACCURACY)
    t = total / (absorbed[3] * np.sqrt(len(own) / left))
    # As the normal number of the same probability: students may be few.
    return -float(special.ndtri(max(special.stdtr(left, -t), 1e-300)))


def _of_students(at: Placed, nodes: Nodes, readings: Readings) -> Array:
    """(students,): each one's derivative of the log-likelihood in the variance, at 0."""
    problem, ratings = at.problem, at.ratings
    first, second = _shifted(problem.response, problem.model.predictor(at.parameters), nodes.points)
    cell = problem.model.contexts.places(ratings) * problem.response.n_categories + ratings.score
    cell, own = cell[readings.order], np.zeros(ratings.n_students)
    compiled = compiled_code_pays(len(cell) * len(nodes.points))
    for rows, posterior, _ in problem.engine.posteriors(problem.tables(at.parameters, nodes), nodes):
        if compiled:
            from raterlens.kernels.reading_rise import rises  # may be missing

            place = readings.of_student[rows.start : rows.stop + 1], readings.first
            own[rows] = rises(place, cell, first, second, posterior)
        else:
            own[rows] = _rises(readings, rows, cell, first, second, posterior)
    return own


def _rises(
    readings: Readings, rows: slice, cell: NDArray[np.integer], first: Array, second: Array, posterior: Array
) -> Array:
    """(students,): those of some rows, from the derivatives of each cell and the students' posteriors."""
    begin = readings.of_student[rows.start : rows.stop + 1]
    ends = readings.first[begin[0] : begin[-1] + 1]
    own = slice(ends[0], ends[-1])
    shape = len(ends) - 1, len(first)
    cells = sparse.csr_array((np.ones(own.stop - own.start), cell[own], ends - ends[0]), shape=shape)
    rise = cells @ first
    rise *= rise
    rise += cells @ second
    student = np.repeat(np.arange(len(posterior)), np.diff(begin))
    of_reading = np.einsum("rq,rq->r", rise, posterior[student]) / 2
    return np.asarray(np.bincount(student, of_reading, len(posterior)), np.float64)


def _shifted(response: Response, predictor: Predictor, t: Array) -> tuple[Array, Array]:
    """(cells, nodes) twice: first and second derivative of a cell's log-probability as its predictor is shifted."""

    first, second = response.shift_derivatives(predictor, t)
    return first.reshape(-1, len(t)), second.reshape(-1, len(t))
