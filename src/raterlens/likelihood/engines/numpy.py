"""The readable engine: NumPy and SciPy-sparse, students in blocks that stay in cache."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array, Indices
from raterlens.likelihood.engines.contract import CellScores, Expected, Matrix, Moments, Tables, Weighting
from raterlens.likelihood.nodes import NestedNodes, Nodes

# Numbers in one block of posteriors: 2 MB, small enough for a core's cache, large enough to amortise Python.
_BLOCK = 2**18


class NumpyEngine:
    """Evaluates tables over students' counts (and sums, where the model has a linear part)."""

    def __init__(
        self, counts: sparse.csr_array, sums: sparse.csr_array | None = None, block: int = _BLOCK
    ) -> None:
        self._counts, self._sums, self._block = counts, sums, block

    @property
    def n_students(self) -> int:
        return int(self._counts.shape[0])

    def evaluate(self, tables: Tables, nodes: Nodes) -> Expected:
        if isinstance(nodes, NestedNodes):
            found = self.evaluate(*_in_between(tables, nodes))
            return replace(found, counts=found.counts @ nodes.between())
        loglik = 0.0
        counts = np.zeros_like(tables.cells)
        mean = np.empty(self.n_students)
        for rows, posterior, block_loglik in self.posteriors(tables, nodes):
            loglik += float(block_loglik.sum())
            counts += self._counts[rows].T @ posterior
            mean[rows] = posterior @ nodes.points
        linear = None if self._sums is None else self._sums.T @ mean
        return Expected(loglik, counts, linear)

    def moments(self, tables: Tables, nodes: Nodes) -> Moments:
        if isinstance(nodes, NestedNodes):
            return self.moments(*_in_between(tables, nodes))
        return Moments.joined(
            Moments.by(posterior, nodes.points) for _, posterior, _ in self.posteriors(tables, nodes)
        )

    def posteriors(self, tables: Tables, nodes: Nodes) -> Iterator[tuple[slice, Array, Array]]:
        if isinstance(nodes, NestedNodes):
            back = nodes.between()
            for rows, posterior, loglik in self.posteriors(*_in_between(tables, nodes)):
                yield rows, posterior @ back, loglik
            return
        ability = None if self._sums is None else self._sums @ tables.linear
        size = max(1, self._block // len(nodes.points))
        for first in range(0, self.n_students, size):
            rows = slice(first, min(first + size, self.n_students))
            joint = self._counts[rows] @ tables.cells
            joint += nodes.log_weights
            if ability is not None:
                joint += np.multiply.outer(ability[rows], nodes.points)
            top = joint.max(axis=1)
            joint -= top[:, None]
            np.exp(joint, out=joint)
            total = joint.sum(axis=1)
            joint /= total[:, None]
            yield rows, joint, top + np.log(total)

    def score_covariance(self, tables: Tables, nodes: Nodes, scores: CellScores) -> Matrix:
        if isinstance(nodes, NestedNodes):
            table = np.asarray(scores.table @ nodes.between().T)
            return self.score_covariance(*_in_between(tables, nodes), replace(scores, table=table))
        posteriors = self.posteriors(tables, nodes)
        return expanded_covariance(self._counts, self._sums, posteriors, nodes, scores)

    def scores(
        self, tables: Tables, nodes: Nodes, scores: CellScores, weights: Weighting
    ) -> sparse.csr_array:
        posteriors = self.posteriors(tables, nodes)
        return summed_scores(self._counts, self._sums, posteriors, nodes, scores, weights)

    def mean_variances(self, tables: Tables, nodes: Nodes, scores: CellScores, spread: Array) -> Array:
        about = partial(about_means, points=nodes.points)
        return mean_variances(self.scores(tables, nodes, scores, about), spread)


def _in_between(tables: Tables, nodes: NestedNodes) -> tuple[Tables, Nodes]:
    """As if everybody were narrow: the readable way to say what a nested grid is."""
    return replace(tables, cells=np.asarray(tables.cells @ nodes.between().T)), nodes.fine()


# Nodes this far apart, in posterior standard deviations and no more than 1 / slope, lose less than 1e-8.
STEP = 0.8
# Share of the covariance that the expansion may leave out.
_ACCURACY = 1e-9
# Sizes of the expansion: the smallest that is accurate enough is taken.
_TERMS = (5, 8, 12, 18, 26)
# Numbers gathered at a time. Single precision: their projections are summed, and 1e-7 is more than is asked.
_GATHERED_AT_ONCE, _GATHERED = 2**23, np.float32
# Numbers that stay in the cache.
_NEAR = 2**16
# A product of full matrices takes a twentieth of the time for each of its terms.
_FULL = 20
# Weights below this are set to zero: processors are slow at the subnormal numbers that they would become.
_NEGLIGIBLE = 1e-20


def expanded_covariance(
    counts: sparse.csr_array,
    sums: sparse.csr_array | None,
    posteriors: Iterable[tuple[slice, Array, Array]],
    nodes: Nodes,
    scores: CellScores,
) -> sparse.csr_array:
    """(parameters, parameters)"""
    cells, table, parameter = rows_of_students(counts, sums, nodes, scores)
    table = table.astype(_GATHERED)
    total: Matrix = sparse.csr_array((scores.n_parameters,) * 2)
    for rows, posterior, _ in posteriors:
        block, own = cells[rows], counts[rows]
        steepest = np.zeros(len(posterior))
        np.maximum.at(
            steepest, np.repeat(np.arange(len(posterior)), np.diff(own.indptr)), scores.steepest[own.indices]
        )
        for basis in _bases(posterior, nodes, np.maximum(steepest, 1e-3)):
            thin = np.ascontiguousarray(table[:, :: basis.stride])
            for alike, place in _alike(block, basis.students, len(basis.points)):
                row = block.indices[place]
                projected = basis.project(thin[row], alike)
                projected *= block.data[place][..., None]
                through = _rows_of_terms(projected, parameter[row], scores.n_parameters)
                total = total + _products(through)
    return sparse.csr_array(total)


def summed_scores(
    counts: sparse.csr_array,
    sums: sparse.csr_array | None,
    posteriors: Iterable[tuple[slice, Array, Array]],
    nodes: Nodes,
    scores: CellScores,
    weights: Weighting,
) -> sparse.csr_array:
    """(students, parameters): over nodes, with weights that are made of the posteriors."""
    cells, table, parameter = rows_of_students(counts, sums, nodes, scores)
    shape = len(parameter), scores.n_parameters
    through = sparse.csr_array((np.ones(shape[0]), parameter, np.arange(shape[0] + 1)), shape=shape)
    size, found = max(1, _NEAR // len(nodes.points)), []
    for rows, posterior, _ in posteriors:
        block, weight = cells[rows], weights(posterior)
        student, value = np.repeat(np.arange(len(weight)), np.diff(block.indptr)), np.empty(block.nnz)
        for first in range(0, block.nnz, size):
            some = slice(first, first + size)
            value[some] = np.einsum("eq,eq->e", weight[student[some]], table[block.indices[some]])
        value *= block.data
        found.append(sparse.csr_array((value, block.indices, block.indptr), shape=block.shape) @ through)
    return sparse.csr_array(sparse.vstack(found, format="csr"))


def mean_variances(moved: sparse.csr_array, spread: Array) -> Array:
    """(students,): of posterior means whose derivatives by the parameters are `moved`."""
    return np.asarray(moved.multiply(moved @ spread).sum(axis=1)).ravel()


def about_means(posterior: Array, points: Array) -> Array:
    """(students, nodes): weights that give the derivative of a posterior's mean."""
    deviation = points - (posterior @ points)[:, None]
    deviation *= posterior
    return deviation


def _products(rows: sparse.csr_array) -> Matrix:
    """rows' rows, by full matrices where a row has a good part of the parameters."""
    if rows.shape[1] ** 2 <= _FULL * (rows.nnz / rows.shape[0]) ** 2:
        full = rows.toarray()
        return np.asarray(full.T @ full)
    return sparse.csr_array(rows.T @ rows)


def rows_of_students(
    counts: sparse.csr_array, sums: sparse.csr_array | None, nodes: Nodes, scores: CellScores
) -> tuple[sparse.csr_array, Array, Indices]:
    """How often each student has each row of the table, the table, and the parameters of its rows. A sum is a cell,
    too, whose score is proportional to ability."""
    size = len(scores.parameter)
    rows = sparse.csr_array((np.ones(size), np.arange(size), scores.first), shape=(counts.shape[1], size))
    if sums is None:
        return sparse.csr_array(counts @ rows), scores.table, scores.parameter
    slopes = scores.slopes
    of_sums = sparse.csr_array(
        (np.ones(slopes.nnz), np.arange(slopes.nnz), slopes.indptr), shape=(slopes.shape[0], slopes.nnz)
    )
    return (
        sparse.csr_array(sparse.hstack([counts @ rows, sums @ of_sums], format="csr")),
        np.concatenate([scores.table, np.multiply.outer(slopes.data, nodes.points)]),
        np.concatenate([scores.parameter, slopes.indices]),
    )


@dataclass(frozen=True, slots=True)
class _Basis:
    """An orthonormal basis, constants left out, for the posteriors of some students on every few nodes."""

    students: Indices
    stride: int
    points: Array
    weights: Array
    """(students, terms, nodes): basis functions times the posterior. Where the nodes themselves are the basis, the
    posterior alone, (students, nodes): spelled out, the basis would take the square of the nodes."""

    def project(self, scores: Array, some: Indices) -> Array:
        """(students, entries, nodes) -> (students, entries, terms)"""
        weights = self.weights[some].astype(_GATHERED)
        if weights.ndim == 3:
            return np.asarray(scores @ weights.transpose(0, 2, 1))
        deviation = scores - scores @ weights[..., None]
        return np.asarray(deviation * np.sqrt(weights)[:, None])


def _bases(posterior: Array, nodes: Nodes, steepest: Array) -> Iterator[_Basis]:
    """Group students: wide posteriors need fewer nodes, narrow ones and flat slopes fewer terms."""
    sd = Moments.by(posterior, nodes.points).sd
    reach = np.minimum(STEP * sd, 1 / steepest) / nodes.step
    strides = (2 ** np.floor(np.log2(np.maximum(reach, 1.0)))).astype(int)
    # Terms fall off like (s a / pi)^2, as far as a posterior of width s reaches towards the logistic curve's
    # poles at +- i pi / a.
    ratio = np.clip(sd * steepest / np.pi, 0.01, 0.99)
    terms = np.searchsorted(_TERMS, np.log(_ACCURACY) / (2 * np.log(ratio)))
    for stride, which in np.unique(np.stack([strides, terms], axis=1), axis=0):
        students = np.flatnonzero((strides == stride) & (terms == which))
        thinned = posterior[students, ::stride]
        thinned = thinned / thinned.sum(axis=1, keepdims=True)
        points = nodes.points[::stride]
        few = which < len(_TERMS) and 2 * _TERMS[which] <= len(points)
        weights = _weighted_polynomials(thinned, points, _TERMS[which]) if few else thinned
        weights[np.abs(weights) < _NEGLIGIBLE] = 0.0
        yield _Basis(students, int(stride), points, weights)


def _alike(block: sparse.csr_array, students: Indices, n_nodes: int) -> Iterator[tuple[Indices, Indices]]:
    """Batches of these students with the same number of entries: their places among them, and of their entries."""
    length = np.diff(block.indptr)[students]
    for size in np.unique(length[length > 0]):
        alike = np.flatnonzero(length == size)
        step = max(1, _GATHERED_AT_ONCE // (int(size) * n_nodes))
        for first in range(0, len(alike), step):
            batch = alike[first : first + step]
            yield batch, block.indptr[students[batch]][:, None] + np.arange(size)


def _rows_of_terms(values: Array, columns: Indices, width: int) -> sparse.csr_array:
    """Values (students, entries, terms) and columns (students, entries) -> (students x terms, width)."""
    value = values.transpose(0, 2, 1)
    students, terms, entries = value.shape
    column = np.broadcast_to(columns[:, None], value.shape)
    first = np.arange(0, value.size + 1, entries)
    return sparse.csr_array(
        (value.ravel().astype(float), column.ravel(), first), shape=(students * terms, width)
    )


def _weighted_polynomials(posterior: Array, t: Array, terms: int) -> Array:
    """(students, terms, nodes): posterior times its orthonormal polynomials of degree 1 .. terms."""
    root = np.sqrt(posterior)
    basis = np.empty((len(root), terms + 1, len(t)))
    basis[:, 0] = root
    for k in range(terms):
        following = t * basis[:, k]
        # In exact arithmetic only the last two matter (three-term recurrence); rounding spoils all.
        for _ in range(2):
            overlap = np.matmul(basis[:, : k + 1], following[..., None])
            following -= np.matmul(overlap.transpose(0, 2, 1), basis[:, : k + 1])[:, 0]
        norm = np.sqrt(np.einsum("nq,nq->n", following, following))[:, None]
        # A posterior on fewer nodes than terms runs out of polynomials; nothing is left to expand then.
        basis[:, k + 1] = np.where(norm > 1e-9, following / np.maximum(norm, 1e-9), 0.0)
    return root[:, None] * basis[:, 1:]
