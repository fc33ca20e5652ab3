"""Covariance of the estimates from their information, with redundant and undetermined directions told apart."""

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from raterlens.engine.protocol import Matrix
from raterlens.engine.symmetric import mirrored
from raterlens.models.redundancy import Redundancy
from raterlens.parallel.linear_algebra import few_waits
from raterlens.records import dataclass
from raterlens.types import Array

# A direction with less information than this, relative to the parameters' own, is undetermined by the data.
UNDETERMINED = 1e-7
# Rows at a time, so that a product with them stays small.
_ROWS = 256
# The information left to a parameter that is set aside, relative to its own.
SET_ASIDE = 1e-3


@dataclass(frozen=True, slots=True)
class Covariance:
    """Of the centred parameters."""

    matrix: Matrix
    """Sparse for large panels: each rater's own block, and one of everything else."""
    undetermined: NDArray[np.int64]
    """Parameters that the data say next to nothing about; their variances are large but finite."""
    steadied: float = 0.0
    """What had to be added to every parameter's information, relative to it, to invert them together."""


def in_full(matrix: Matrix) -> Array:
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray())


def covariance(information: Matrix, redundant: Redundancy, held: NDArray[np.bool_]) -> Covariance:
    """Invert the information over the parameters that are not held fixed.

    Centring gives the redundant directions D no variance. With its constraints U,
    `inv(I + U'U) = V + D' inv(U D') inv(D U') D`.
    """
    u, d = redundant.constraints, redundant.directions
    full = u.T @ u
    full += in_full(information)
    free = np.flatnonzero(~held)
    if not len(free):
        return Covariance(np.zeros_like(full), free)
    inverse, undetermined = _inverse(_among(full, free))
    matrix = _put(inverse, free, len(full), 0.0)
    excess = np.linalg.solve(d @ u.T, d)
    for first in range(0, len(matrix), _ROWS):
        matrix[first : first + _ROWS] -= excess.T[first : first + _ROWS] @ excess
    return Covariance(matrix, free[undetermined])


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
    try:
        inverse = _positive_inverse(correlation)
        if np.diag(inverse).max(initial=0.0) < 1 / UNDETERMINED:
            return inverse, nothing, nothing
    except linalg.LinAlgError:
        pass
    # Of the eigenvectors, only those without information: all of them would take three times as long.
    values, weak = linalg.eigh(correlation, subset_by_value=(-np.inf, UNDETERMINED))
    wrong = values < -UNDETERMINED
    if wrong.any():
        return correlation, nothing, np.unique(np.abs(weak[:, wrong]).argmax(axis=0))
    inverse = _positive_inverse(correlation + (weak * (UNDETERMINED - values)) @ weak.T)
    return inverse, np.flatnonzero((weak**2).sum(axis=1) > 0.05), nothing


def _positive_inverse(matrix: Array) -> Array:
    """From the Cholesky factor in its place, a third of the work of solving for every column."""
    if not len(matrix):  # LAPACK would complain of it on standard output
        return matrix
    with few_waits(len(matrix)):
        # Transposed, which is the same matrix, it stands in memory as LAPACK wants it.
        factor, failed = linalg.lapack.dpotrf(matrix.T, lower=1, clean=1)
        if not failed:
            factor, failed = linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
    if failed:
        raise linalg.LinAlgError(f"row {failed} of the Cholesky factor has no inverse")
    return mirrored(factor)
