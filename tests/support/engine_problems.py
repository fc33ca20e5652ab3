"""Random students, tables and scores for engines, and covariances of scores written out."""

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array
from raterlens.likelihood.engines.contract import CellScores, Tables
from raterlens.likelihood.engines.numpy import NumpyEngine
from raterlens.likelihood.nodes import Nodes


def random_problem(
    n_cells: int = 9, steepness: float = 1.0, *, linear: bool = True
) -> tuple[sparse.csr_array, sparse.csr_array | None, Tables, Nodes]:
    random = np.random.default_rng(0)
    counts = sparse.csr_array(random.poisson(0.7, (300, n_cells)) * (random.random((300, 1)) < 0.9) * 1.0)
    sums = sparse.csr_array(random.poisson(0.7, (300, 4)).astype(float)) if linear else None
    nodes = Nodes.equally_spaced(-5, 5, 0.3)
    cells = -steepness * random.exponential(1.0, (n_cells, len(nodes.points)))
    return counts, sums, Tables(cells, random.normal(size=4) if linear else None), nodes


def logistic_problem(
    *, linear: bool = True, nodes: Nodes | None = None
) -> tuple[sparse.csr_array, sparse.csr_array | None, Tables, Nodes, CellScores]:
    """Smooth in ability, as a model is: each cell depends on three of seven parameters, each sum on one of them."""
    counts, sums, tables, _ = random_problem(linear=linear)
    nodes = nodes or Nodes.equally_spaced(-9, 9, 0.3)  # wide enough for posteriors to end within
    rated = np.diff(counts.indptr) > 0  # nobody has sums without cells
    counts, sums = counts[rated], None if sums is None else sums[rated]
    random, n_cells = np.random.default_rng(1), counts.shape[1]
    steep = random.uniform(0.3, 1.5, n_cells)
    cells = -np.log1p(np.exp(np.multiply.outer(steep, nodes.points) + random.normal(size=(n_cells, 1))))
    shift = np.multiply.outer(np.repeat(steep, 3), nodes.points) + random.normal(size=(3 * n_cells, 1))
    table = random.normal(size=(3 * n_cells, 1)) / (1 + np.exp(-shift))
    parameter = np.column_stack([np.zeros(n_cells), np.ones(n_cells), 2 + np.arange(n_cells) % 5])
    slopes = np.eye(7)[[0, 1, 0, 1]] * random.normal(size=(4, 1)) if linear else np.zeros((1, 7))
    scores = CellScores(
        np.arange(0, 3 * n_cells + 1, 3),
        parameter.ravel().astype(np.int64),
        table,
        sparse.csr_array(slopes),
        steep,
    )
    return counts, sums, Tables(cells, 0.2 * np.abs(tables.linear) if linear else None), nodes, scores


def written_out_covariance(
    counts: sparse.csr_array,
    sums: sparse.csr_array | None,
    tables: Tables,
    nodes: Nodes,
    scores: CellScores,
) -> Array:
    """Node by node, student by student."""
    total = np.zeros((scores.n_parameters,) * 2)
    for own, posterior in _written_out_scores(counts, sums, tables, nodes, scores):
        away = own - np.einsum("npq,nq->np", own, posterior)[..., None]
        total += np.einsum("npq,nrq,nq->pr", away, away, posterior)
    return total


def _written_out_scores(
    counts: sparse.csr_array,
    sums: sparse.csr_array | None,
    tables: Tables,
    nodes: Nodes,
    scores: CellScores,
) -> Iterator[tuple[Array, Array]]:
    """(students, parameters, nodes) scores, and posteriors (students, nodes)."""
    rows = np.zeros((counts.shape[1], scores.n_parameters, len(nodes.points)))
    for cell, (first, last) in enumerate(zip(scores.first, scores.first[1:], strict=False)):
        for row in range(first, last):
            rows[cell, scores.parameter[row]] += scores.table[row]
    score = np.einsum("nc,cpq->npq", counts.toarray(), rows)
    if sums is not None:
        score += np.multiply.outer(sums.toarray() @ scores.slopes.toarray(), nodes.points)
    for students, posterior, _ in NumpyEngine(counts, sums).posteriors(tables, nodes):
        yield score[students], posterior
