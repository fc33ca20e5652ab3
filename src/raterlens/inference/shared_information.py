"""Observed information of the marginal likelihood with a shared dimension, exact, by Louis's identity (information.py).

Everything is added up in the contexts' slopes, intercepts and biases, in which the predictor of a context at the
node (t, z) has the derivatives t, 1 and z, and carried to the parameters.
"""

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from raterlens.base.records import dataclass
from raterlens.base.types import Array, Indices
from raterlens.engine.product_nodes import ProductNodes
from raterlens.estimation.context_curvature import context_curvature
from raterlens.estimation.extremes import PSEUDO_NODES
from raterlens.estimation.shared_marginal import SharedMarginal
from raterlens.models.responses import counted_scores
from raterlens.models.shared_dimension import BIAS

# Of a posterior's highest node: those below it have no part in a covariance.
_NEGLIGIBLE = 1e-9
# Coordinates of contexts up to which covariances are added up as they are; beyond, those of parameters.
_MOST_COORDINATES = 2_000


def shared_information(problem: SharedMarginal, parameters: Array, nodes: ProductNodes) -> Array:
    """(parameters, parameters): minus the second derivative of what was maximised."""
    model, response = problem.model, problem.response
    predictor, found = model.predictor(parameters), problem.derivatives(parameters, nodes)
    through = _through(problem, parameters)
    bend = problem.at_nodes(parameters, nodes).curvature(predictor, nodes.points, found.counts)
    second = through.T @ _curvature(bend, response.lever, nodes) @ through
    pseudo, jacobian = problem.pseudo.spread(), model.jacobian(parameters)
    second = second + jacobian.T @ context_curvature(response, predictor, PSEUDO_NODES, pseudo) @ jacobian
    at_nodes = counted_scores(response, predictor, PSEUDO_NODES.points, pseudo)
    d_slope = found.d_slope + at_nodes @ response.lever @ PSEUDO_NODES.points
    second = second + model.second(parameters, d_slope, found.d_intercepts + at_nodes.sum(axis=1))
    information = -second.toarray() - _score_covariance(problem, parameters, nodes, through)
    information = (information + information.T) / 2
    return np.asarray(
        information if problem.ridge is None else information + problem.ridge.information(model)
    )


def ability_gradient(problem: SharedMarginal, parameters: Array, nodes: ProductNodes) -> Array:
    """(students, parameters): of the posterior means of ability."""
    through = _through(problem, parameters)
    found = np.zeros((problem.n_students, problem.model.blocks.size))
    for student in _students(problem, parameters, nodes):
        t = nodes.points[student.nodes]
        off = student.weight * (t - student.weight @ t)
        found[student.number] = (student.scores @ off) @ through[student.rows]
    return found


def expected_scores(
    problem: SharedMarginal, parameters: Array, nodes: ProductNodes, answers: Array
) -> list[Array]:
    """For each answer, whose probabilities at the nodes are a row of `answers`, (students, parameters): the students'
    expected scores, were it known."""
    through = _through(problem, parameters)
    found = [np.zeros((problem.n_students, problem.model.blocks.size)) for _ in answers]
    for student in _students(problem, parameters, nodes):
        own = through[student.rows]
        for answer, scores in zip(answers, found, strict=True):
            joint = student.weight * answer[student.nodes]
            scores[student.number] = (student.scores @ (joint / max(joint.sum(), 1e-300))) @ own
    return found


def _through(problem: SharedMarginal, parameters: Array) -> sparse.csr_array:
    """(contexts x (slope, intercepts, bias), parameters)"""
    model = problem.model
    n, steps, jacobian = len(model.contexts), len(problem.response.lever), model.jacobian(parameters)
    by_rater = sparse.vstack([model.loads, sparse.csr_array((1, model.n_own))], format="csr")
    of_bias = sparse.hstack(
        [sparse.csr_array((n, model.blocks[BIAS].start)), by_rater[model.contexts.rater]], format="csr"
    )
    rows = sparse.vstack([jacobian, of_bias], format="csr")
    context = np.arange(n)[:, None]
    intercepts = n + context * steps + np.arange(steps)
    order = np.hstack([context, intercepts, n * (1 + steps) + context])
    return sparse.csr_array(rows[order.ravel()])


def _curvature(bend: Array, lever: Array, nodes: ProductNodes) -> sparse.csr_array:
    """(contexts x coordinates) twice: expected second derivatives, of (contexts, nodes, steps, steps) in intercepts."""
    t, z = nodes.points, nodes.z
    by_lever, twice = bend @ lever, bend @ lever @ lever
    n, steps = len(bend), len(lever)
    block = np.zeros((n, steps + 2, steps + 2))
    block[:, 0, 0], block[:, 0, -1], block[:, -1, -1] = twice @ t**2, twice @ (t * z), twice @ z**2
    block[:, -1, 0] = block[:, 0, -1]
    for place, by in ((0, t), (-1, z)):
        block[:, place, 1:-1] = np.einsum("cqj,q->cj", by_lever, by)
        block[:, 1:-1, place] = block[:, place, 1:-1]
    block[:, 1:-1, 1:-1] = bend.sum(axis=1)
    return sparse.csr_array(sparse.block_diag(list(block), format="csr"))


@dataclass(frozen=True, slots=True)
class _Student:
    number: int
    rows: Indices
    """Coordinates of the contexts that the student is rated in."""
    nodes: Indices
    """Where the posterior has mass."""
    weight: Array
    scores: Array
    """(rows, nodes): the derivative of the student's log-probability in each of them, but for constants."""


def _students(problem: SharedMarginal, parameters: Array, nodes: ProductNodes) -> Iterator[_Student]:
    lever, k = problem.response.lever, problem.response.n_categories
    own = problem.at_nodes(parameters, nodes).scores(problem.model.predictor(parameters), nodes.points)
    own = own.reshape(len(lever), -1, len(nodes.points)).transpose(1, 0, 2)  # (cells, steps, nodes)
    base = np.einsum("cjq,j->cq", own, lever)
    table = np.concatenate([(base * nodes.points)[:, None], own, (base * nodes.z)[:, None]], axis=1)
    width, counts = table.shape[1], problem.counts
    for rows, posterior, _ in problem.engine.posteriors(problem.tables(parameters, nodes), nodes):
        for number, weight in enumerate(posterior, rows.start):
            own_cells = slice(counts.indptr[number], counts.indptr[number + 1])
            cells, times = counts.indices[own_cells], counts.data[own_cells]
            seen = np.flatnonzero(weight > _NEGLIGIBLE * weight.max())
            scores = table[cells][:, :, seen] * times[:, None, None]
            coordinates = (cells // k)[:, None] * width + np.arange(width)
            yield _Student(number, coordinates.ravel(), seen, weight[seen], scores.reshape(-1, len(seen)))


def _score_covariance(
    problem: SharedMarginal, parameters: Array, nodes: ProductNodes, through: sparse.csr_array
) -> Array:
    """(parameters, parameters): sum over students of the posterior covariance of their scores."""
    size, n_parameters = through.shape
    by_contexts = size <= _MOST_COORDINATES
    total = np.zeros((size, size) if by_contexts else (n_parameters, n_parameters))
    for student in _students(problem, parameters, nodes):
        weight = student.weight / student.weight.sum()
        off = (student.scores - (student.scores @ weight)[:, None]) * np.sqrt(weight)
        if by_contexts:
            # A context may occur with two scores.
            if len(np.unique(student.rows)) < len(student.rows):
                np.add.at(total, np.ix_(student.rows, student.rows), off @ off.T)
            else:
                total[np.ix_(student.rows, student.rows)] += off @ off.T
            continue
        own = (through[student.rows].T @ off).T
        touched = np.flatnonzero(own.any(axis=0))
        total[np.ix_(touched, touched)] += own[:, touched].T @ own[:, touched]
    return np.asarray(through.T @ (through.T @ total).T) if by_contexts else total
