"""How well an exam classifies students, by the methods that measurement knows: those of Rudner and of Lee.

Accuracy is the chance that a student has the grade which belongs to the student's true value; consistency, that a
second exam of the same kind gives the same grade. Rudner (2001, 2005) takes each estimate of ability as normal around
itself; Lee (2010) takes the distribution of total scores at each ability, of one set of raters and items.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from raterlens.base.arrays import Array, Indices
from raterlens.estimation.scoring import Placed
from raterlens.likelihood.nodes import Nodes

# How far an estimate without a population may go from its mean, in standard deviations: as R's cacIRT has it.
FARTHEST = 4.0
_STEP = 0.05
# Nodes on either side that the log-likelihood is interpolated through.
_BESIDE = 4


class Classified(NamedTuple):
    """Chances of a right and of the same grade; one per student, per ability, or of the whole exam."""

    accuracy: Array
    consistency: Array


class Unshrunk(NamedTuple):
    """Abilities by each student's ratings alone, without the population."""

    estimate: Array
    se: Array


def rudner(estimate: Array, se: Array, cuts: Array) -> Classified:
    """(students,): on the scale of the estimates."""
    ends = np.concatenate([[-np.inf], cuts, [np.inf]])
    chance = np.diff(special.ndtr((ends - estimate[:, None]) / se[:, None]), axis=1)
    grade = np.searchsorted(cuts, estimate, side="right")
    return Classified(chance[np.arange(len(estimate)), grade], np.sum(chance**2, axis=1))


def lee(totals: Array, cuts: Array) -> Classified:
    """(abilities,): `totals` (totals, abilities) has the probabilities of total scores 0, 1, ...; `cuts` are on the
    scale of totals. The true grade is that of the expected total."""
    score = np.arange(len(totals), dtype=np.float64)
    grade, true = (np.searchsorted(cuts, each + 1e-9, side="right") for each in (score, score @ totals))
    chance = by_grade(totals, grade, len(cuts) + 1)
    return Classified(chance[true, np.arange(totals.shape[1])], np.sum(chance**2, axis=0))


def by_grade(totals: Array, grade: Indices, n_grades: int) -> Array:
    """(grades, abilities): totals added up by their grades."""
    found = np.zeros((n_grades, totals.shape[1]))
    np.add.at(found, grade, totals)
    return found


def unshrunk(placed: Placed) -> Unshrunk:
    """(students,): maximum likelihood, no farther than `FARTHEST`, and the standard error by its curvature; in units of
    the fit's population.

    On a lattice first, then by a polynomial through nine neighbours, whose error is below 1e-7 of the curvature.
    """
    problem = placed.problem
    steepest = float(np.abs(problem.model.predictor(placed.parameters).slope).max())
    step = _STEP / max(1.0, steepest * (problem.response.n_categories - 1) / 3)
    count = int(np.ceil(FARTHEST / step))
    step = FARTHEST / count
    points = np.asarray(np.arange(-count - _BESIDE, count + _BESIDE + 1) * step, np.float64)
    # Flat: posteriors are then likelihoods.
    nodes = Nodes(points, np.zeros(len(points)))
    estimate, information = np.empty(problem.n_students), np.empty(problem.n_students)
    tables = problem.tables(placed.parameters, nodes)
    around = np.arange(-_BESIDE, _BESIDE + 1)
    solve = np.linalg.inv(np.vander(around.astype(np.float64), increasing=True))
    for rows, likelihood, _ in problem.engine.posteriors(tables, nodes):
        top = _BESIDE + likelihood[:, _BESIDE:-_BESIDE].argmax(axis=1)
        # Where the likelihood is next to nothing it would be rounded to it; never beside the highest.
        beside = np.log(np.maximum(likelihood[np.arange(len(top))[:, None], top[:, None] + around], 1e-300))
        at = points[top] / step
        away, bend = _peak(beside @ solve.T, np.maximum(-1.0, -count - at), np.minimum(1.0, count - at))
        estimate[rows] = points[top] + step * away
        information[rows] = np.maximum(-bend, 0.0) / step**2
    with np.errstate(divide="ignore"):
        return Unshrunk(estimate, 1 / np.sqrt(information))


def _peak(coefficients: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Where polynomials (rows, constant first) have their maximum, and the second derivative there."""
    order = np.arange(coefficients.shape[1])
    first = coefficients[:, 1:] * order[1:]
    second = first[:, 1:] * order[1:-1]
    x = np.zeros(len(coefficients))
    for _ in range(30):
        slope, bend = _at(first, x), _at(second, x)
        # Uphill by the parabola; by half a node where there is none.
        step = np.where(bend < 0, slope / np.where(bend < 0, bend, 1.0), -0.5 * np.sign(slope))
        x = np.clip(x - step, low, high)
    return x, _at(second, x)


def _at(coefficients: Array, x: Array) -> Array:
    value = np.zeros_like(x)
    for column in coefficients.T[::-1]:
        value = value * x + column
    return value
