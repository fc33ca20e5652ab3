"""Score tests of what a fit leaves out, without fitting again: is the log-likelihood level where a further term has its
null value?

The scores of students in the new parameters, at the null value, are projected on their scores in the fitted parameters,
which have absorbed some of what the term would explain. What is left of them tells how large their sum is by chance.

An impression u of variance v shifts the predictors of all ratings of a reading (halo): by u itself, or on the scale of
ability by u times the slope. With g the derivative of a rating's log-probability in u, and g' the second, the
log-likelihood of a reading rises as v leaves 0 by

    d log P / d v = ((sum of g)^2 + sum of g') / 2

and a student's by what is expected of it over the posterior.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse, special
from scipy.sparse.linalg import lsmr

from raterlens.base.arrays import Array, Indices
from raterlens.capability.population import AbilityShape
from raterlens.estimation.scoring import Placed, place
from raterlens.kernels.library import compiled_code_pays
from raterlens.likelihood.cells import reading_columns
from raterlens.likelihood.nodes import Nodes
from raterlens.models.calibration import Calibration
from raterlens.ratings.coded import Ratings

# Relative, of a projection; and of what is left of a direction below which it is one that the fit has absorbed.
_ACCURACY, _ABSORBED = 1e-6, 1e-6
# Parameters up to which normal equations are solved in full, and their ridge.
_MOST_FULL, _RIDGE = 1_000, 1e-10


class ScoreTest(NamedTuple):
    """Rao's test, with the variance that the students' own scores show."""

    statistic: float
    """Chi-squared; of a single variance, which cannot be negative, a normal number."""
    df: int
    p: float


def projected_score(own: Array, fitted: sparse.csr_array, *, one_sided: bool = False) -> ScoreTest | None:
    """Test new parameters from the scores of students in them (students, new) and in the fitted ones.

    None where students are too few to tell how large a score could be by chance.
    """
    total, left = own.sum(axis=0), own.copy()
    size = np.sqrt(np.asarray(fitted.power(2).sum(axis=0)).ravel())
    columns = fitted @ sparse.diags_array(1 / np.maximum(size, 1e-150))
    left -= columns @ _projected(columns, left)
    spare = len(own) - int(np.count_nonzero(size)) - own.shape[1] + 1
    unit = np.sqrt((own**2).sum(axis=0))
    if spare <= 0 or not unit.all():
        return None
    spread = left.T @ left / np.outer(unit, unit) * (len(own) / spare)
    value, direction = np.linalg.eigh(spread)
    kept = value > _ABSORBED
    if not kept.any():
        return None
    if one_sided:
        t = float(total[0] / unit[0] / np.sqrt(spread[0, 0]))
        p = float(special.stdtr(spare, -t))
        return ScoreTest(-float(special.ndtri(max(p, 1e-300))), 1, p)  # normal, however few the students
    statistic = float(np.sum((direction.T @ (total / unit))[kept] ** 2 / value[kept]))
    df = int(kept.sum())
    return ScoreTest(statistic, df, float(special.fdtrc(df, spare, statistic / df)))


def _projected(columns: sparse.csr_array, new: Array) -> Array:
    """(fitted, new): least squares of the new scores on the fitted ones, whose columns have length 1 or 0.

    Fitted parameters may be redundant, so that the normal equations have a null space: a ridge far below any share that
    matters leaves it alone.
    """
    if columns.shape[1] > _MOST_FULL:
        return np.column_stack([lsmr(columns, one, atol=_ACCURACY, btol=_ACCURACY)[0] for one in new.T])
    normal = (columns.T @ columns).toarray()
    normal[np.diag_indices_from(normal)] += _RIDGE
    return np.asarray(linalg.cho_solve(linalg.cho_factor(normal), columns.T @ new))


@dataclass(frozen=True, slots=True, eq=False)
class ScoredFit:
    """A fit on ratings, ready for tests of what it leaves out."""

    placed: Placed
    calibration: Calibration
    ratings: Ratings
    """As they were read."""
    nodes: Nodes
    fitted: sparse.csr_array
    """(students, parameters): scores in the fitted parameters."""

    @staticmethod
    def of(placed: Placed, calibration: Calibration, ratings: Ratings) -> "ScoredFit":
        nodes = placed.rough_nodes()
        fitted = placed.problem.student_scores(placed.parameters, nodes)
        return ScoredFit(placed, calibration, ratings, nodes, fitted)

    def posteriors(self) -> Iterator[tuple[slice, Array, Array]]:
        """Posteriors of abilities, some students at a time."""
        problem = self.placed.problem
        return problem.engine.posteriors(problem.tables(self.placed.parameters, self.nodes), self.nodes)


def halo_score(at: ScoredFit, *, on_ability: bool = False) -> ScoreTest | None:
    """A variance of the impressions that readings leave, the same for all raters, in logits or on the ability scale."""
    own = _rises_of_students(at, Readings.of(at.placed.ratings), on_ability=on_ability)
    if own.sum() <= 0:
        return ScoreTest(float(own.sum() / max(np.linalg.norm(own), 1e-150)), 1, 1.0)
    return projected_score(own[:, None], at.fitted, one_sided=True)


def shape_score(at: ScoredFit) -> ScoreTest | None:
    """The two parameters of a smooth distribution of abilities."""
    scores = AbilityShape.of(0.0, 0.0).scores(at.nodes.points)
    own = np.concatenate([posterior @ scores.T for _, posterior, _ in at.posteriors()])
    return projected_score(own, at.fitted)


def effect_score(at: ScoredFit, block: str, null: Array) -> ScoreTest | None:
    """A block of the model that the fit does not have, at its null value."""
    known = at.calibration
    scale = "partial credit" if block == "threshold" else known.scale
    effects = {**known.effects, block: null}
    larger = place(replace(known, effects=effects, scale=scale, covariance=None), at.ratings, as_fitted=True)
    problem = larger.problem
    own = problem.student_scores(larger.parameters, at.nodes)[:, problem.model.blocks[block]].toarray()
    own = own[:, (own != 0).any(axis=0)]
    return projected_score(own, at.fitted) if own.size else None


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
        column = reading_columns(ratings).of
        order = np.lexsort((column, ratings.student))
        student, column = ratings.student[order], column[order]
        begins = np.flatnonzero(np.diff(student, prepend=-1) | np.diff(column, prepend=-1))
        number = np.bincount(student[begins], minlength=ratings.n_students)
        return Readings(order, np.append(begins, len(order)), np.concatenate([[0], np.cumsum(number)]))

    @property
    def long(self) -> bool:
        """Whether any has two ratings or more."""
        return len(self.first) - 1 < len(self.order)

    @property
    def second(self) -> bool:
        """Whether any student has two or more."""
        return bool((np.diff(self.of_student) > 1).any())


def _rises_of_students(at: ScoredFit, readings: Readings, *, on_ability: bool) -> Array:
    """(students,): each one's derivative of the log-likelihood in the variance, at 0."""
    model, response = at.placed.problem.model.single, at.placed.problem.response.single
    ratings, t = at.placed.ratings, at.nodes.points
    predictor = model.predictor(at.placed.parameters)
    by = predictor.slope[:, None, None] if on_ability else np.ones((1, 1, 1))
    first, second = (
        (by**power * found).reshape(-1, len(t))
        for power, found in enumerate(response.shift_derivatives(predictor, t), start=1)
    )
    cell = model.contexts.places(ratings) * response.n_categories + ratings.score
    cell, own = cell[readings.order], np.zeros(ratings.n_students)
    compiled = compiled_code_pays(len(cell) * len(t))
    for rows, posterior, _ in at.posteriors():
        if compiled:
            from raterlens.kernels.reading_effect import rises  # may be missing

            place = readings.of_student[rows.start : rows.stop + 1], readings.first
            own[rows] = rises(place, cell, first, second, posterior)
        else:
            own[rows] = rises_by_loop(readings, rows, cell, first, second, posterior)
    return own


def rises_by_loop(
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
