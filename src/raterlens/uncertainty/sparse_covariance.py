"""Standard errors of large panels, without a matrix of all raters.

The information A couples two raters only through the students they share. Split it as A = M - N, with M a small
block for each rater and one for everything else. Then

    inv(A) = inv(M) + inv(M) N inv(M) + inv(M) N inv(M) N inv(M) + remainder

The blocks of the first three terms follow exactly from the sparse N. The remainder is small and is estimated
without bias from a few random right-hand sides (Hutchinson), each solved by conjugate gradients. On panels of
hundreds of raters and more, standard errors are within 2 % of the exact ones
(tests/uncertainty/test_sparse_covariance.py).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from raterlens.models.facets import FacetsModel
from raterlens.models.redundancy import Redundancy
from raterlens.types import Array, Indices
from raterlens.uncertainty.covariance import Covariance

_PROBES = 64
_SOLVED = 1e-9
_MOST_STEPS = 500
# A rater whose own block has less information than this, relative to its parameters', stands alone.
_WEAK = 1e-3
# So often raters who carry a direction without information are looked for, in a direction for so many raters at a time.
_ROUNDS, _RATERS = 8, 40
_UNDETERMINED = 1e-7
# Added then to every parameter's own information, relative to it.
_STEADIED = (1e-3, 1e-2, 1e-1, 0.3, 1.0)


@dataclass(frozen=True, slots=True)
class LargeCovariance:
    """What inference needs of the covariance of centred parameters, piece by piece."""

    information: sparse.csr_array
    """With the constraints of centring added: positive definite."""
    preconditioner: sparse.csr_array
    """inv(M): block-diagonal."""
    own: Indices
    """(raters, own parameters): where each rater's slope and severity stand."""
    excess: Array
    """(redundancies, parameters): what centring takes away, `inv(A) = V + excess' excess`."""

    @staticmethod
    def build(information: sparse.csr_array, redundant: Redundancy, own: Indices) -> "LargeCovariance":
        # Weighed so heavily that the redundant directions keep next to no variance of their own.
        u, d = redundant.constraints * np.sqrt(1e3 * information.max()), redundant.directions
        constraints = sparse.csr_array(u)
        full = sparse.csr_array(information + constraints.T @ constraints)
        excess = np.linalg.solve(d @ u.T, d)
        return LargeCovariance(full, _block_inverse(full, own), own, excess)

    def columns(self, right: Array) -> Array:
        """V @ right, for (parameters, columns)."""
        solved = _conjugate_gradients(self.information, self.preconditioner, right)
        return np.asarray(solved - self.excess.T @ (self.excess @ right))

    def blocks(self, seed: int = 0) -> Array:
        """(raters, own, own): each rater's block of V."""
        inverse = self.preconditioner
        coupling = _off_blocks(self.information, self.own)
        n, width = self.own.shape
        probes = np.random.default_rng(seed).choice([-1.0, 1.0], (self.information.shape[0], _PROBES))
        first = inverse @ probes
        second = inverse @ (coupling @ first)
        third = inverse @ (coupling @ second)
        remainder = _conjugate_gradients(self.information, inverse, probes) - first - second - third
        # inv(M) N inv(M) N inv(M) = Y Y' with Y = inv(M) N F and inv(M) = F F'.
        y = sparse.csr_array(inverse @ coupling @ _factor(inverse, self.own))
        out = np.empty((n, width, width))
        for i in range(width):
            for j in range(i, width):
                one, other = self.own[:, i], self.own[:, j]
                value = np.asarray(inverse[one, other]).ravel()
                value = value + np.asarray(y[one].multiply(y[other]).sum(axis=1)).ravel()
                value = value + np.mean(remainder[one] * probes[other], axis=1)
                out[:, i, j] = out[:, j, i] = value - np.sum(
                    self.excess[:, one] * self.excess[:, other], axis=0
                )
        return out


def large_covariance(
    information: sparse.csr_array, redundant: Redundancy, held: NDArray[np.bool_], model: FacetsModel
) -> Covariance:
    """Each rater's own variances, and those of everything that is not a rater's; between raters, none.

    What two of very many raters have in common, through the students they share, is small beside what each has alone.
    """
    blocks, own = model.blocks, model.of_single_raters
    free = sparse.diags_array((~held).astype(float))
    fixed = sparse.diags_array(held.astype(float))
    known = sparse.csr_array(free @ information @ free + fixed)
    rest = _rest(blocks.size, own)
    unit = np.zeros((blocks.size, len(rest)))
    unit[rest, np.arange(len(rest))] = 1.0
    alone = _weak(known, own)
    for more in (0.0,) * _ROUNDS + _STEADIED:
        steadied = _standing_alone(known, own, alone)
        steadied = sparse.csr_array(steadied + sparse.diags_array(more * steadied.diagonal()))
        try:
            found = LargeCovariance.build(steadied, redundant, own)
            matrix = _assemble(found.blocks(), own, found.columns(unit)[rest], rest, blocks.size)
            break
        except (FloatingPointError, np.linalg.LinAlgError):
            if more == _STEADIED[-1]:
                raise
            if not more:
                alone |= _against(steadied, own)
    undetermined = own[alone].ravel()
    return Covariance(sparse.csr_array(free @ matrix @ free), undetermined[~held[undetermined]], more)


def _weak(information: sparse.csr_array, own: Indices) -> NDArray[np.bool_]:
    """(raters,) about whom next to nothing is known.

    A rater at discrimination 0, or with few ratings, can have a block that is singular or bends the wrong way.
    """
    _, blocks = _scaled_blocks(information, own)
    return np.asarray(np.linalg.eigvalsh(blocks)[:, 0] < _WEAK)


def _against(information: sparse.csr_array, own: Indices) -> NDArray[np.bool_]:
    """(raters,) who carry the directions in which the likelihood bends the wrong way, as far as those are found."""
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh  # where something is wrong only

    scale = sparse.diags_array(1 / np.sqrt(np.maximum(np.abs(information.diagonal()), 1e-12)))
    start = np.ones(information.shape[0])
    try:
        values, vectors = eigsh(
            scale @ information @ scale, 10 + len(own) // _RATERS, which="SA", tol=1e-2, v0=start
        )
    except ArpackNoConvergence as stopped:
        values, vectors = stopped.eigenvalues, stopped.eigenvectors
    share = (vectors[own] ** 2).sum(axis=1)
    found = np.zeros(len(own), dtype=bool)
    for value, of_rater in zip(values, share.T, strict=True):
        found |= (value < _UNDETERMINED) & (of_rater > of_rater.max() / 4)
    return found


def _standing_alone(
    information: sparse.csr_array, own: Indices, alone: NDArray[np.bool_]
) -> sparse.csr_array:
    """The information in which these raters share nothing with others, and have a little of their own."""
    if not alone.any():
        return information
    scale, blocks = _scaled_blocks(information, own[alone])
    values, vectors = np.linalg.eigh(blocks)
    floored = (vectors * np.maximum(values, _WEAK)[:, None, :]) @ vectors.transpose(0, 2, 1)
    blocks = floored * scale[:, :, None] * scale[:, None, :]
    strong = np.ones(information.shape[0])
    strong[own[alone].ravel()] = 0.0
    rows, columns = np.broadcast_arrays(own[alone][:, :, None], own[alone][:, None, :])
    their = sparse.csr_array((blocks.ravel(), (rows.ravel(), columns.ravel())), shape=information.shape)
    kept = sparse.diags_array(strong)
    return sparse.csr_array(kept @ information @ kept + their)


def _rest(size: int, own: Indices) -> Indices:
    return np.setdiff1d(np.arange(size), own.ravel())


def _block_inverse(matrix: sparse.csr_array, own: Indices) -> sparse.csr_array:
    """Inverse of each rater's block, and of the block of all other parameters."""
    rest = _rest(matrix.shape[0], own)
    corner = np.linalg.inv(matrix[rest][:, rest].toarray())
    return _assemble(np.linalg.inv(_own_blocks(matrix, own)), own, corner, rest, matrix.shape[0])


def _own_blocks(matrix: sparse.csr_array, own: Indices) -> Array:
    """(raters, own, own): each rater's block."""
    n, width = own.shape
    blocks = np.empty((n, width, width))
    for i in range(width):
        for j in range(width):
            blocks[:, i, j] = np.asarray(matrix[own[:, i], own[:, j]]).ravel()
    return blocks


def _scaled_blocks(matrix: sparse.csr_array, own: Indices) -> tuple[Array, Array]:
    """(raters, own), (raters, own, own): each parameter's scale, and the blocks in units of it."""
    blocks = _own_blocks(matrix, own)
    scale = np.sqrt(np.maximum(np.abs(np.einsum("nii->ni", blocks)), 1e-12))
    return scale, blocks / scale[:, :, None] / scale[:, None, :]


def _factor(inverse: sparse.csr_array, own: Indices) -> sparse.csr_array:
    """F with F F' = `inverse`, block by block."""
    rest = _rest(inverse.shape[0], own)
    corner = np.linalg.cholesky(inverse[rest][:, rest].toarray())
    return _assemble(np.linalg.cholesky(_own_blocks(inverse, own)), own, corner, rest, inverse.shape[0])


def _assemble(
    blocks: NDArray[np.floating], own: Indices, corner: NDArray[np.floating], rest: Indices, size: int
) -> sparse.csr_array:
    rows, columns = np.broadcast_arrays(own[:, :, None], own[:, None, :])
    across, down = np.meshgrid(rest, rest)
    return sparse.csr_array(
        (
            np.concatenate([blocks.ravel(), corner.ravel()]),
            (np.concatenate([rows.ravel(), down.ravel()]), np.concatenate([columns.ravel(), across.ravel()])),
        ),
        shape=(size, size),
    )


def _off_blocks(matrix: sparse.csr_array, own: Indices) -> sparse.csr_array:
    """N = M - A: minus the entries that lie in no block."""
    label = np.full(matrix.shape[0], -1)
    label[own] = np.arange(len(own))[:, None]
    coo = matrix.tocoo()
    outside = label[coo.row] != label[coo.col]
    return sparse.csr_array((-coo.data[outside], (coo.row[outside], coo.col[outside])), shape=matrix.shape)


def _conjugate_gradients(matrix: sparse.csr_array, preconditioner: sparse.csr_array, right: Array) -> Array:
    """Solve for all columns at once, to a residual that is small in every one of them."""
    x = np.zeros_like(right)
    residual = right.copy()
    direction = z = preconditioner @ residual
    size = np.sum(residual * z, axis=0)
    enough = _SOLVED**2 * size
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
