"""Do the scores of a reading share more than ability? Asked of the score at a variance of 0, without fitting again.

An impression u of variance v shifts the predictors of all ratings of a reading. With g the derivative of a rating's
log-probability in such a shift, and g' the second, the log-likelihood of a reading rises as v leaves 0 by

    d log P / d v = ((sum of g)^2 + sum of g') / 2

and a student's by what is expected of it over the posterior. The parameters of the model have absorbed some of that:
the scores of students are projected on those of the parameters; what is left tells how large a sum is by chance.
"""

from dataclasses import replace

import numpy as np
from scipy import sparse, special
from scipy.sparse.linalg import lsmr

from raterlens.engine.cells import reading_columns
from raterlens.engine.protocol import Nodes
from raterlens.estimation.scoring import Placed, place
from raterlens.models.calibration import Calibration
from raterlens.models.responses import Predictor, Response
from raterlens.ratings.coded import Ratings
from raterlens.types import Array
from raterlens.uncertainty.sandwich import student_scores

# Error of the log-likelihood per student that a test does not notice.
_ROUGH = 1e-3
# Relative, of what is left.
_ACCURACY = 1e-6


def halo_score(known: Calibration, ratings: Ratings) -> float:
    """The score of a common variance at 0 in standard errors: normal where there is no reading effect, and large where
    there is one; infinite where it is positive and students are too few to tell how large it could be by chance."""
    placed = place(replace(known, covariance=None), ratings)
    nodes = placed.rough_nodes(_ROUGH)
    own = _of_students(placed, nodes)
    total = float(own.sum())
    if total <= 0:
        return total / float(np.linalg.norm(own))
    left = len(own) - placed.problem.model.blocks.size
    if left <= 0:
        return float("inf")
    scores = student_scores(placed.problem, placed.ratings, placed.parameters, nodes)
    size = np.sqrt(np.maximum(scores.power(2).sum(axis=0), 1e-300))
    absorbed = lsmr(scores @ sparse.diags_array(1 / size), own, atol=_ACCURACY, btol=_ACCURACY)
    t = total / (absorbed[3] * np.sqrt(len(own) / left))
    # As the normal number of the same probability: students may be few.
    return -float(special.ndtri(max(special.stdtr(left, -t), 1e-300)))


def _of_students(placed: Placed, nodes: Nodes) -> Array:
    """(students,): each one's derivative of the log-likelihood in the variance, at 0."""
    problem, ratings = placed.problem, placed.ratings
    first, second = _shifted(problem.response, problem.model.predictor(placed.parameters), nodes.points)
    columns = reading_columns(ratings)
    reading = ratings.student.astype(np.int64) * columns.number + columns.of
    keys, reading = np.unique(reading, return_inverse=True)
    cell = problem.model.contexts.places(ratings).astype(np.int64) * problem.response.n_categories
    ones = np.ones(ratings.n_ratings)
    cells = sparse.csr_array((ones, (reading, cell + ratings.score)), shape=(len(keys), len(first)))
    student, own = keys // columns.number, np.zeros(ratings.n_students)
    for rows, posterior, _ in problem.engine.posteriors(problem.tables(placed.parameters, nodes), nodes):
        here = slice(*np.searchsorted(student, [rows.start, rows.stop]))
        rise = cells[here] @ first
        rise *= rise
        rise += cells[here] @ second
        of_reading = np.einsum("rq,rq->r", rise, posterior[student[here] - rows.start]) / 2
        own += np.bincount(student[here], of_reading, ratings.n_students)
    return own


def _shifted(response: Response, predictor: Predictor, t: Array) -> tuple[Array, Array]:
    """(cells, nodes) twice: first and second derivative of a cell's log-probability as its predictor is shifted."""
    first = np.tensordot(response.lever, response.scores(predictor, t), 1)
    second = np.empty_like(first)
    for k in range(response.n_categories):
        counts = np.zeros_like(first)
        counts[:, k] = 1.0
        second[:, k] = response.curvature(predictor, t, counts) @ response.lever @ response.lever
    return first.reshape(-1, len(t)), second.reshape(-1, len(t))
