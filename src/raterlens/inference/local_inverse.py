"""Blocks of the inverse of a large sparse matrix, without the inverse.

The matrix A couples each rater to those who share students with it. Z has, for each rater, the exact inverse among the
rater and its nearest neighbours, everybody else held. With E = I - A Z, what that leaves out,

    inv(A) = Z + E' inv(A) E

on each rater's own block. The second part is small. Most of it is in the few directions U that A knows least about:
E' U inv(U' A U) U' E follows exactly. The rest is estimated without bias from random right-hand sides (Hutchinson),
each solved by conjugate gradients. Raters for whom these still scatter are solved one by one.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from raterlens.base.records import dataclass
from raterlens.base.types import Array, Indices

_NEIGHBOURS, _PROBES = 16, 64
_DIRECTIONS = 24
# Of conjugate gradients: where a number is wanted exactly, and where chance is larger anyway.
EXACTLY, NEARLY = 1e-9, 1e-5
_MOST_STEPS = 500
# Of a variance: raters with more noise than this are solved one by one, up to so many.
_NOISE, _MOST_SOLVED = 0.015, 512
# Raters whose neighbourhoods are inverted, or who are solved, together.
_AT_ONCE = 50
_DENSE = 200


@dataclass(frozen=True, slots=True, eq=False)
class LocalInverse:
    """Of a positive definite matrix of raters' own parameters, those of a rater beside each other."""

    matrix: sparse.csr_array
    width: int
    """Parameters per rater."""
    preconditioner: sparse.csr_array
    """The inverse of each rater's own block."""

    @staticmethod
    def of(matrix: sparse.csr_array, width: int) -> "LocalInverse":
        blocks = np.linalg.inv(own_blocks(matrix, width))
        return LocalInverse(matrix, width, sparse.csr_array(sparse.block_diag(list(blocks), format="csr")))

    def columns(self, right: Array, tolerance: float = EXACTLY) -> Array:
        """inv(A) @ right"""
        return conjugate_gradients(self.matrix, self.preconditioner, right, tolerance)

    def blocks(self, weakest: Array, seed: int = 0) -> Array:
        """(raters, width, width)

        Parameters
        ----------
        weakest
            (parameters, directions): where the matrix is smallest.
        """
        a, (found, z) = self.matrix, self._near()
        along = weakest - z.T @ (a @ weakest)
        known = np.linalg.inv(weakest.T @ (a @ weakest))
        probes = np.random.default_rng(seed).choice([-1.0, 1.0], (a.shape[0], _PROBES))
        left = probes - a @ (z @ probes)
        solved = self.columns(left, NEARLY)
        solved -= weakest @ (known @ (weakest.T @ left))
        seen = self._by_rater(solved - z.T @ (a @ solved))
        given, directions = self._by_rater(probes), self._by_rater(along)
        each = seen[:, :, None] * given[:, None]
        found = found + directions @ known @ directions.transpose(0, 2, 1) + each.mean(axis=3)
        deviation = np.einsum("riip->rip", each).std(axis=2) / np.sqrt(_PROBES)
        noise = (deviation / np.maximum(np.einsum("rii->ri", found), 1e-300)).max(axis=1)
        self._solve(found, np.argsort(-noise)[: min(int((noise > _NOISE).sum()), _MOST_SOLVED)])
        return np.asarray((found + found.transpose(0, 2, 1)) / 2)

    def _by_rater(self, columns: Array) -> Array:
        """(raters, width, columns)"""
        return columns.reshape(-1, self.width, columns.shape[1])

    def _solve(self, blocks: Array, raters: Indices) -> None:
        """Put the exact blocks of these raters in their places."""
        for first in range(0, len(raters), _AT_ONCE):
            some = raters[first : first + _AT_ONCE]
            own = some[:, None] * self.width + np.arange(self.width)
            unit = np.zeros((self.matrix.shape[0], own.size))
            unit[own.ravel(), np.arange(own.size)] = 1.0
            solved = self.columns(unit, NEARLY).reshape(-1, len(some), self.width)
            blocks[some] = solved[own, np.arange(len(some))[:, None]]

    def _near(self) -> tuple[Array, sparse.csr_array]:
        """(raters, width, width): each rater's block of Z, and Z."""
        a, width = self.matrix, self.width
        n, near = a.shape[0] // width, _neighbours(a, width)
        key = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr)) * a.shape[0] + a.indices
        own, parts = np.empty((n, width, width)), []
        for first in range(0, n, _AT_ONCE):
            some = near[first : first + _AT_ONCE]
            missing = np.repeat(some < 0, width, axis=1)
            places = np.where(
                missing, 0, (some[:, :, None] * width + np.arange(width)).reshape(len(some), -1)
            )
            local = _looked_up(a, key, places)
            local[missing[:, :, None] | missing[:, None, :]] = 0.0
            local += np.eye(local.shape[1]) * missing[:, None, :]
            unit = np.broadcast_to(np.eye(local.shape[1], width), (len(some), local.shape[1], width))
            inverse = np.linalg.solve(local, unit)
            own[first : first + _AT_ONCE] = inverse[:, :width]
            inverse[missing] = 0.0
            column = (first + np.arange(len(some)))[:, None, None] * width + np.arange(width)
            rows, columns = np.broadcast_arrays(places[:, :, None], column)
            parts.append((rows.ravel(), columns.ravel(), inverse.ravel()))
        rows, columns, values = (np.concatenate(part) for part in zip(*parts, strict=True))
        return own, sparse.csr_array((values, (rows, columns)), shape=a.shape)


def own_blocks(matrix: sparse.csr_array, width: int) -> Array:
    """(raters, width, width): each rater's block."""
    first = np.arange(0, matrix.shape[0], width)
    blocks = np.empty((len(first), width, width))
    for i in range(width):
        for j in range(width):
            blocks[:, i, j] = np.asarray(matrix[first + i, first + j]).ravel()
    return blocks


def lowest(matrix: sparse.csr_array) -> tuple[Array, Array]:
    """The smallest eigenvalues, in units of the diagonal, and their directions, roughly."""
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh  # on large panels only

    scale = sparse.diags_array(1 / np.sqrt(np.maximum(np.abs(matrix.diagonal()), 1e-12)))
    scaled, size = scale @ matrix @ scale, matrix.shape[0]
    if size <= _DENSE:
        values, vectors = np.linalg.eigh(scaled.toarray())
        values, vectors = values[:_DIRECTIONS], vectors[:, :_DIRECTIONS]
    else:
        try:
            values, vectors = eigsh(scaled, _DIRECTIONS, which="SA", tol=1e-2, v0=np.ones(size))
        except ArpackNoConvergence as stopped:
            values, vectors = stopped.eigenvalues, stopped.eigenvectors
    return values, scale @ vectors


def conjugate_gradients(
    matrix: sparse.csr_array, preconditioner: sparse.csr_array, right: Array, tolerance: float = EXACTLY
) -> Array:
    """Solve for all columns at once, to a residual that is small in every one of them."""
    x = np.zeros_like(right)
    residual = right.copy()
    direction = z = preconditioner @ residual
    size = np.sum(residual * z, axis=0)
    enough = tolerance**2 * size
    for _ in range(_MOST_STEPS):
        if (size <= enough).all():
            return x
        image = matrix @ direction
        curvature = np.sum(direction * image, axis=0)
        if (curvature < 0).any():
            break
        step = size / np.maximum(curvature, 1e-300)
        x += step * direction
        residual -= step * image
        z = preconditioner @ residual
        previous, size = size, np.sum(residual * z, axis=0)
        direction = z + size / np.maximum(previous, 1e-300) * direction
    raise FloatingPointError("conjugate gradients did not settle: the information is singular")


def _neighbours(matrix: sparse.csr_array, width: int) -> NDArray[np.int64]:
    """(raters, neighbours + 1): itself first, then those to whom it is coupled most; -1 where there are no more."""
    coo, scale = matrix.tocoo(), np.sqrt(np.maximum(matrix.diagonal(), 1e-300))
    n = matrix.shape[0] // width
    strength = np.abs(coo.data) / (scale[coo.row] * scale[coo.col])
    strength[coo.row // width == coo.col // width] = np.inf
    coupled = sparse.csr_array((strength, (coo.row // width, coo.col // width)), shape=(n, n))
    coupled.sum_duplicates()
    near = np.full((n, _NEIGHBOURS + 1), -1)
    for rater, (first, last) in enumerate(zip(coupled.indptr[:-1], coupled.indptr[1:], strict=True)):
        order = np.argsort(-coupled.data[first:last])[: _NEIGHBOURS + 1]
        near[rater, : len(order)] = coupled.indices[first:last][order]
    return near


def _looked_up(matrix: sparse.csr_array, key: NDArray[np.int64], places: NDArray[np.int64]) -> Array:
    """(groups, places, places): the matrix among the places of each group. `key` has the place of every entry."""
    wanted = places[:, :, None] * matrix.shape[0] + places[:, None, :]
    at = np.minimum(np.searchsorted(key, wanted.ravel()), len(key) - 1)
    return np.where(key[at] == wanted.ravel(), matrix.data[at], 0.0).reshape(wanted.shape)
