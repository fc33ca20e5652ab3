"""Covariance of the estimates from their information, with redundant and undetermined directions told apart."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from raterlens.base.arrays import Array, mirrored, single_threaded_blas
from raterlens.likelihood.engines.contract import Matrix
from raterlens.models.redundancy import Redundancy

# A direction with less information than this, relative to the parameters' own, is undetermined by the data.
UNDETERMINED = 1e-7
# Rows at a time, so that a product with them stays small.
_ROWS = 256
# The information left to a parameter that is set aside, relative to its own.
SET_ASIDE = 1e-3


@dataclass(frozen=True, slots=True)
class Covariance:
    """Covariance of the centred parameters."""

    matrix: Matrix
    """Sparse for large panels: each rater's own block, and one of everything else."""
    undetermined: NDArray[np.int64]
    """Parameters that the data say next to nothing about; their variances are large but finite."""
    steadied: float = 0.0
    """Relative addition to every parameter's information that made the matrix invertible."""


def in_full(matrix: Matrix) -> Array:
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray())


def covariance(
    information: Matrix, redundant: Redundancy, held: NDArray[np.bool_], *, in_place: bool = False
) -> Covariance:
    """Invert the information over the parameters that are not held fixed; `in_place`: it need not be kept.

    Centring gives the redundant directions D no variance. With its constraints U,
    `inv(I + U'U) = V + D' inv(U D') inv(D U') D`.
    """
    u, d = redundant.constraints, redundant.directions
    full = in_full(information)
    if full is information and not in_place:
        full = full.copy()
    for rows in _stretches(len(full)):
        full[rows] += u.T[rows] @ u
    free = np.flatnonzero(~held)
    if not len(free):
        return Covariance(np.zeros_like(full), free)
    inverse, undetermined = _inverse(_among(full, free))
    matrix = _put(inverse, free, len(full), 0.0)
    excess = np.linalg.solve(d @ u.T, d)
    for rows in _stretches(len(matrix)):
        matrix[rows] -= excess.T[rows] @ excess
    return Covariance(matrix, free[undetermined])


def _stretches(size: int) -> list[slice]:
    return [slice(first, first + _ROWS) for first in range(0, size, _ROWS)]


def _inverse(information: Array) -> tuple[Array, NDArray[np.int64]]:
    """The inverse, and what is undetermined; the information is lost.

    Where the likelihood bends the wrong way (a rater at discrimination 0), a parameter has no standard error of its
    own; left in, it would take everybody else's. Such parameters are set aside with a large variance.
    """
    scale = np.sqrt(np.maximum(np.abs(np.diag(information)), 1e-12))
    kept = np.flatnonzero(np.diag(information) > 0)
    correlation = information
    correlation /= scale
    correlation /= scale[:, None]
    inverse, undetermined, against = _kept_inverse(_among(correlation, kept))
    while len(against):
        kept = np.delete(kept, against)
        inverse, undetermined, against = _kept_inverse(_among(correlation, kept))
    whole = _put(inverse, kept, len(scale), 1 / SET_ASIDE)
    whole /= scale
    whole /= scale[:, None]
    aside = np.setdiff1d(np.arange(len(scale)), kept)
    return whole, np.union1d(kept[undetermined], aside)


def _among(matrix: Array, some: NDArray[np.int64]) -> Array:
    """Rows and columns of some: without a copy where these are all."""
    return matrix if len(some) == len(matrix) else matrix[np.ix_(some, some)]


def _put(part: Array, some: NDArray[np.int64], size: int, variance: float) -> Array:
    """Rows and columns of some among all, of which the others have this variance: without a copy where there are
    none."""
    if len(some) == size:
        return part
    whole = np.diag(np.full(size, variance))
    whole[np.ix_(some, some)] = part
    return whole


def _kept_inverse(correlation: Array) -> tuple[Array, NDArray[np.int64], NDArray[np.int64]]:
    """The inverse, what is undetermined, and what has to be set aside first: then there is none yet."""
    nothing = np.empty(0, dtype=np.int64)
    if (inverse := _positive_inverse(correlation)) is not None:
        return inverse, nothing, nothing
    # Eigenvectors with next to no information alone: all of them would take five times as long.
    values, vectors = linalg.eigh(correlation, subset_by_value=(-np.inf, 2 * UNDETERMINED))
    wrong = values < -UNDETERMINED
    if wrong.any():
        return correlation, nothing, np.unique(np.abs(vectors[:, wrong]).argmax(axis=0))
    # Given as much information as parameters have, they leave a matrix with an inverse; theirs is put right afterwards.
    inverse = _positive_inverse(correlation + (vectors * (1 - values)) @ vectors.T)
    assert inverse is not None
    inverse += (vectors * (1 / np.maximum(values, UNDETERMINED) - 1)) @ vectors.T
    weak = vectors[:, values < UNDETERMINED]
    return inverse, np.flatnonzero((weak**2).sum(axis=1) > 0.05), nothing


def _positive_inverse(matrix: Array) -> Array | None:
    """From the Cholesky factor, a third of the work of solving for every column; both in the matrix's place. None,
    and the matrix as it was, where there is none or something is undetermined."""
    if not len(matrix):  # LAPACK would complain of it on standard output
        return matrix
    diagonal = matrix.diagonal().copy()
    with single_threaded_blas(len(matrix)):
        # Transposed, which is the same matrix, it stands in memory as LAPACK wants it; half of it is left alone.
        factor, failed = linalg.lapack.dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
        if not failed:
            factor, failed = linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
    if not failed and factor.diagonal().max() < 1 / UNDETERMINED:
        return mirrored(factor.T)
    np.fill_diagonal(matrix, diagonal)
    mirrored(matrix.T)
    return None
