"""Observed information of a latent class model's marginal likelihood, exact, by Louis's identity.

With p the probability that the true category of a student-item is 1 given its ratings and an ability, and pi
the same without its ratings, the log-probability of a cell c at ability t has the derivatives

    d T   = d L_0 + p u - pi ds                  u = d(L_1 - L_0) + ds,    s = sigma t - d_i
    d2 T  = p d2 L_1 + (1 - p) d2 L_0 + p (1 - p) u u' - pi (1 - pi) ds ds'

(L_k: log-probability of its ratings given category k). The information sums -d2 T over the expected cells and
takes off, for each student, the covariance of the sum of d T over the posterior of ability. Only p, pi and
t (p - pi) vary with ability there, so a student with m items needs the covariances of 2 m + 1 numbers.
"""

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from raterlens.base.types import Array, Indices
from raterlens.engine.protocol import Nodes, Tables
from raterlens.engine.student_items import Part
from raterlens.estimation.latent_marginal import LatentClassMarginal, Mixture
from raterlens.models.signal_detection import LatentClassModel

# Numbers gathered at a time.
_BLOCK = 2**21


def observed_information(
    problem: LatentClassMarginal, parameters: Array, nodes: Nodes, extra: Array | float = 0.0
) -> Array:
    """(parameters, parameters): minus the second derivative of what was maximised.

    Parameters
    ----------
    extra
        (raters, scores, categories): further ratings with known true category.
    """
    model, t = problem.model, nodes.points
    prevalence = model.prevalence(parameters, t)
    information = _known_truth(problem, parameters, nodes, extra)
    for part, mixture, expected in problem.evaluations(parameters, nodes):
        rows = _derivatives(model, parameters, part)
        of_sigma = np.full(len(part.item), rows.shape[0] - 1)
        cells = np.arange(len(part.item))
        unsure = expected.counts * mixture.truth * (1 - mixture.truth)
        once, twice = unsure @ t, np.sum(unsure @ t**2, keepdims=True)
        weight = sparse.coo_array(
            (
                np.concatenate([unsure.sum(axis=1), once, once, twice]),
                (
                    np.concatenate([cells, cells, of_sigma, of_sigma[:1]]),
                    np.concatenate([cells, of_sigma, cells, of_sigma[:1]]),
                ),
            ),
            shape=(rows.shape[0], rows.shape[0]),
        )
        information -= (rows.T @ weight.tocsr() @ rows).toarray()
        if model.rasch:
            for weight in _ability_covariances(problem, part, mixture, prevalence[1], nodes):
                information -= (rows.T @ weight @ rows).toarray()
    return np.asarray((information + information.T) / 2)


def _known_truth(
    problem: LatentClassMarginal, parameters: Array, nodes: Nodes, extra: Array | float
) -> Array:
    """Information if true categories and abilities were known to be as expected: level 1, then level 2."""
    model, t = problem.model, nodes.points
    blocks = model.blocks
    complete = problem.complete(parameters, nodes)
    lines = _lines(model)
    curvature = -np.sum((complete.answers + extra) * model.responses(parameters).second, axis=1)
    information = (lines.T @ (lines * curvature.reshape(-1, 1))).toarray()
    fail, succeed = model.prevalence(parameters, t)
    level_2 = complete.truths.sum(axis=0) * fail * succeed
    item, sigma = np.arange(blocks.size)[blocks["difficulty"]], blocks["sigma"]
    information[item, item] += level_2.sum(axis=1)
    information[item, sigma] -= (level_2 @ t)[:, None]
    information[sigma, item] -= level_2 @ t
    information[sigma, sigma] += np.sum(level_2 @ t**2)
    return np.asarray(information)


def _lines(model: LatentClassModel) -> sparse.csr_array:
    """(raters x categories, parameters): derivatives of the lines b_r + a_r (1/2 - xi)."""
    rater = np.repeat(np.arange(model.n_raters), 2)
    half = np.tile([0.5, -0.5], model.n_raters)
    row = np.arange(2 * model.n_raters)
    slope = model.blocks["slope"].start + rater
    values, columns = np.concatenate([np.ones_like(half), half]), np.concatenate([rater, slope])
    return sparse.csr_array((values, (np.tile(row, 2), columns)), shape=(len(row), model.blocks.size))


def _derivatives(model: LatentClassModel, parameters: Array, part: Part) -> sparse.csr_array:
    """(cells + items + 1, parameters): u without sigma for each cell, -ds for each item, and a row for sigma."""
    blocks = model.blocks
    first = model.responses(parameters).first * [-1.0, 1.0]
    answer, line = np.broadcast_arrays(
        np.arange(2 * model.n_raters).reshape(-1, 2, 1), np.arange(2 * model.n_raters).reshape(-1, 1, 2)
    )
    size = (2 * model.n_raters, 2 * model.n_raters)
    to_lines = sparse.csr_array((first.ravel(), (answer.ravel(), line.ravel())), shape=size)
    columns = np.arange(blocks.size)
    items = _unit_rows(columns[blocks["difficulty"]], blocks.size)
    sigma = _unit_rows(columns[blocks["sigma"]], blocks.size, at_least=1)
    return sparse.vstack(
        [part.members @ to_lines @ _lines(model) - part.of_item.T @ items, items, sigma], format="csr"
    )


def _unit_rows(columns: Indices, size: int, at_least: int = 0) -> sparse.csr_array:
    n = len(columns)
    return sparse.csr_array((np.ones(n), (np.arange(n), columns)), shape=(max(n, at_least), size))


def _ability_covariances(
    problem: LatentClassMarginal, part: Part, mixture: Mixture, prevalence: Array, nodes: Nodes
) -> Iterator[sparse.csr_array]:
    """Sums over students of the posterior covariances of p, pi and t (p - pi), in the rows of `_derivatives`."""
    units = problem.units
    n_cells, n_items = len(part.item), len(prevalence)
    for rows, posterior, _ in part.engine.posteriors(Tables(mixture.log_prob), nodes):
        student = part.students.start + np.arange(rows.start, rows.start + len(posterior))
        begin, end = np.searchsorted(units.student, [student, student + 1])
        for m in np.unique(end - begin):
            alike = np.flatnonzero(end - begin == m)
            step = max(1, _BLOCK // ((2 * m + 1) * max(2 * m + 1, len(nodes.points))))
            for low in range(0, len(alike), step):
                some = alike[low : low + step]
                cell = units.cell[begin[some][:, None] + np.arange(m)] - part.cells.start
                item = part.item[cell]
                p, pi = mixture.truth[cell], prevalence[item]
                moving = np.sum(p - pi, axis=1, keepdims=True) * nodes.points
                functions = np.concatenate([p, pi, moving], axis=1)
                functions -= functions @ posterior[some][:, :, None]
                functions *= np.sqrt(posterior[some])[:, None]
                row = np.concatenate(
                    [cell, n_cells + item, np.full((len(some), 1), n_cells + n_items)], axis=1
                )
                left, right = np.broadcast_arrays(row[:, :, None], row[:, None, :])
                values = functions @ functions.transpose(0, 2, 1)
                size = (n_cells + n_items + 1, n_cells + n_items + 1)
                yield sparse.csr_array((values.ravel(), (left.ravel(), right.ravel())), shape=size)
