"""The readable engine: NumPy and SciPy-sparse, students in blocks that stay in cache."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array, Indices
from raterlens.likelihood.engines.contract import CellScores, Expected, Matrix, Summed, Tables, Weighting
from raterlens.likelihood.nodes import Moments, Nodes

# Numbers in one block of posteriors: 2 MB, small enough for a core's cache, large enough to amortise Python.
_BLOCK = 2**18
# Share of cells that a student has from which on counts are kept in full, up to so many numbers: 512 MB.
_DENSE, _LARGEST = 0.05, 2**26
# Numbers gathered at a time: 32 MB.
_GATHERED = 2**22
# Numbers that stay in the cache.
_NEAR = 2**16
# Numbers of a matrix of all parameters that is added up in full: 32 MB.
_FULL = 2**22


class NumpyEngine:
    """Evaluates tables over students' counts (and sums, where the model has a linear part)."""

    def __init__(
        self,
        counts: sparse.csr_array,
        sums: sparse.csr_array | None = None,
        block: int = _BLOCK,
        *,
        finite: bool = False,
    ) -> None:
        """`finite`: tables are, so that counts may be kept in full where students have a good part of the cells."""
        self._counts, self._sums, self._block = counts, sums, block
        cells = int(np.prod(counts.shape))
        full = finite and _DENSE * cells <= counts.nnz and cells <= _LARGEST
        self._rows = counts.toarray() if full else counts

    @property
    def n_students(self) -> int:
        return int(self._counts.shape[0])

    def evaluate(self, tables: Tables, nodes: Nodes) -> Expected:
        loglik, fine = 0.0, nodes.fine()
        counts = np.zeros((len(tables.cells), len(fine.points)))
        mean = np.empty(self.n_students)
        for rows, posterior, block_loglik in self._on_fine(tables, nodes):
            loglik += float(block_loglik.sum())
            counts += self._rows[rows].T @ posterior
            mean[rows] = posterior @ fine.points
        linear = None if self._sums is None else self._sums.T @ mean
        return Expected(loglik, nodes.coarsened(counts), linear)

    def moments(self, tables: Tables, nodes: Nodes, *, pieces: bool = False) -> Moments:
        points = nodes.fine().points
        return Moments.joined(
            Moments.by(posterior, points) for _, posterior, _ in self._on_fine(tables, nodes)
        )

    def posteriors(self, tables: Tables, nodes: Nodes) -> Iterator[tuple[slice, Array, Array]]:
        for rows, posterior, loglik in self._on_fine(tables, nodes):
            yield rows, nodes.coarsened(posterior), loglik

    def _on_fine(self, tables: Tables, nodes: Nodes) -> Iterator[tuple[slice, Array, Array]]:
        """Posteriors as if everybody were narrow: the readable way to say what divided steps are."""
        fine, cells = nodes.fine(), nodes.refined(tables.cells)
        ability = None if self._sums is None else self._sums @ tables.linear
        size = max(1, self._block // len(fine.points))
        for first in range(0, self.n_students, size):
            rows = slice(first, min(first + size, self.n_students))
            joint = self._rows[rows] @ cells
            joint += fine.log_weights
            if ability is not None:
                joint += np.multiply.outer(ability[rows], fine.points)
            top = joint.max(axis=1)
            joint -= top[:, None]
            np.exp(joint, out=joint)
            total = joint.sum(axis=1)
            joint /= total[:, None]
            yield rows, joint, top + np.log(total)

    def covariance(self, tables: Tables, nodes: Nodes, scores: CellScores) -> Matrix:
        """Student by student, node by node."""
        fine, scores = nodes.fine(), replace(scores, table=nodes.refined(scores.table))
        cells, table, parameter = rows_of_students(self._counts, self._sums, fine, scores)
        size = scores.n_parameters
        total: Matrix = np.zeros((size, size)) if size**2 <= _FULL else sparse.csr_array((size, size))
        for rows, posterior, _ in self._on_fine(tables, nodes):
            block = cells[rows]
            for some, place in alike(block.indptr, len(fine.points)):
                row, times, weight = block.indices[place], block.data[place], posterior[some]
                off = table[row]
                if (times != 1).any():
                    off *= times[..., None]
                off -= off @ weight[..., None]
                off *= np.sqrt(weight)[:, None]
                found = off @ off.transpose(0, 2, 1)
                down, across = np.broadcast_arrays(parameter[row][:, :, None], parameter[row][:, None, :])
                if isinstance(total, np.ndarray):
                    at = (down.astype(np.int64) * size + across).ravel()
                    total += np.bincount(at, found.ravel(), size**2).reshape(size, size)
                else:
                    at = down.ravel(), across.ravel()
                    total = total + sparse.csr_array((found.ravel(), at), shape=(size, size))
        return total

    def scores(self, tables: Tables, nodes: Nodes, scores: CellScores, weights: Weighting) -> Summed:
        cells, table, parameter = rows_of_students(self._counts, self._sums, nodes, scores)
        shape = len(parameter), scores.n_parameters
        through = sparse.csr_array((np.ones(shape[0]), parameter, np.arange(shape[0] + 1)), shape=shape)
        size, found = max(1, _NEAR // len(nodes.points)), []
        for rows, posterior, _ in self.posteriors(tables, nodes):
            block, weight = cells[rows], weights(posterior)
            student, value = np.repeat(np.arange(len(weight)), np.diff(block.indptr)), np.empty(block.nnz)
            for first in range(0, block.nnz, size):
                some = slice(first, first + size)
                value[some] = np.einsum("eq,eq->e", weight[student[some]], table[block.indices[some]])
            value *= block.data
            own = sparse.csr_array((value, block.indices, block.indptr), shape=block.shape) @ through
            found.append(Summed(own, weight.sum(axis=1)))
        return Summed.joined(found)


def rows_of_students(
    counts: sparse.csr_array, sums: sparse.csr_array | None, nodes: Nodes, scores: CellScores
) -> tuple[sparse.csr_array, Array, Indices]:
    """How often each student has each row of the table, the table, and the parameters of its rows. A sum is a cell,
    too, whose score is proportional to ability."""
    size = len(scores.parameter)
    factor = np.ones(size) if scores.factor is None else scores.factor
    table = scores.table if scores.row is None else scores.table[scores.row]
    rows = sparse.csr_array((factor, np.arange(size), scores.first), shape=(counts.shape[1], size))
    if sums is None:
        return sparse.csr_array(counts @ rows), table, scores.parameter
    slopes = scores.slopes
    of_sums = sparse.csr_array(
        (np.ones(slopes.nnz), np.arange(slopes.nnz), slopes.indptr), shape=(slopes.shape[0], slopes.nnz)
    )
    return (
        sparse.csr_array(sparse.hstack([counts @ rows, sums @ of_sums], format="csr")),
        np.concatenate([table, np.multiply.outer(slopes.data, nodes.points)]),
        np.concatenate([scores.parameter, slopes.indices]),
    )


def alike(begins: Indices, n_nodes: int) -> Iterator[tuple[Indices, Indices]]:
    """Batches of rows with the same number of entries, of which each row's begin there: which, and the places of their
    entries."""
    length = np.diff(begins)
    for size in np.unique(length[length > 0]):
        some = np.flatnonzero(length == size)
        step = max(1, _GATHERED // (int(size) * max(n_nodes, int(size))))
        for first in range(0, len(some), step):
            batch = some[first : first + step]
            yield batch, begins[batch][:, None] + np.arange(size)
