"""Standard errors of large panels, without a matrix of all raters.

The information A couples two raters only through the students they share, and all raters to a few other parameters:
difficulties, thresholds. With W the part of the raters, B what couples them to the others, and C the part of these,

    inv(A) on the others:  K = inv(C - B' inv(W) B)            on a rater:  inv(W) + inv(W) B K B' inv(W)

The others' columns are solved exactly; raters' blocks of inv(W) follow from `local_inverse.py`. On panels of hundreds
of raters and more, standard errors are within 2 % of the exact ones (`python -m benchmarks.truth.many_raters exact`).
"""

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.estimation.facets_estimate import Covariance
from raterlens.inference.covariance import SET_ASIDE, UNDETERMINED
from raterlens.models.facets import FacetsModel, Redundancy

# ----------------------------------------------------------------------------------------------------
# Blocks of the inverse of a large sparse matrix, without the inverse.
#
# The matrix A couples each rater to those who share students with it. Z has the inverse of each rater's own block,
# everybody else held. With E = I - A Z, what that leaves out,
#
#     inv(A) = Z + E' inv(A) E
#
# on each rater's own block. Most of the second part is in the few directions U that A knows least about:
# E' U inv(U' A U) U' E follows exactly. The rest is estimated without bias from random right-hand sides (Hutchinson),
# each solved by conjugate gradients. Raters for whom these still scatter are solved one by one. With the inverse among
# each rater's nearest neighbours for Z, errors of 800 raters are no better after twice as much code.

_PROBES = 128
_DIRECTIONS = 24
# Of conjugate gradients: where a number is wanted exactly, and where chance is larger anyway.
EXACTLY, NEARLY = 1e-9, 1e-5
_MOST_STEPS = 500
# Of a variance: raters with more noise than this are solved one by one, up to this many.
_NOISE, _MOST_SOLVED = 0.015, 512
# Raters who are solved together.
_AT_ONCE = 50
_DENSE = 200


def blocks_of_inverse(matrix: sparse.csr_array, width: int, seed: int = 0) -> Array:
    """(raters, width, width): each rater's block of inv(matrix), with the parameters of a rater next to each other."""

    def by_rater(columns: Array) -> Array:
        """(raters, width, columns)"""
        return columns.reshape(-1, width, columns.shape[1])

    z, weakest = inverse_of_own_blocks(matrix, width), lowest(matrix)[1]
    along = weakest - z @ (matrix @ weakest)
    known = np.linalg.inv(weakest.T @ (matrix @ weakest))
    probes = np.random.default_rng(seed).choice([-1.0, 1.0], (matrix.shape[0], _PROBES))
    left = probes - matrix @ (z @ probes)
    solved = conjugate_gradients(matrix, z, left, NEARLY)
    solved -= weakest @ (known @ (weakest.T @ left))
    each = by_rater(solved - z @ (matrix @ solved))[:, :, None] * by_rater(probes)[:, None]
    directions = by_rater(along)
    found = own_blocks(z, width) + each.mean(axis=3) + directions @ known @ directions.transpose(0, 2, 1)
    deviation = np.einsum("riip->rip", each).std(axis=2) / np.sqrt(_PROBES)
    noise = (deviation / np.maximum(np.einsum("rii->ri", found), 1e-300)).max(axis=1)
    noisy = np.argsort(-noise)[: min(int((noise > _NOISE).sum()), _MOST_SOLVED)]
    for first in range(0, len(noisy), _AT_ONCE):
        some = noisy[first : first + _AT_ONCE]
        own = some[:, None] * width + np.arange(width)
        unit = np.zeros((matrix.shape[0], own.size))
        unit[own.ravel(), np.arange(own.size)] = 1.0
        exact = conjugate_gradients(matrix, z, unit, NEARLY).reshape(-1, len(some), width)
        found[some] = exact[own, np.arange(len(some))[:, None]]
    return np.asarray((found + found.transpose(0, 2, 1)) / 2)


def inverse_of_own_blocks(matrix: sparse.csr_array, width: int) -> sparse.csr_array:
    return sparse.csr_array(sparse.block_diag(list(np.linalg.inv(own_blocks(matrix, width))), format="csr"))


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


# A rater whose own block has less information than this, relative to its parameters', has one of them set aside.
_WEAK = 1e-6
# So often parameters are looked for that carry a direction without information.
_ROUNDS = 20
# Added then to every parameter's own information, relative to it.
_STEADIED = (0.0, 1e-3, 1e-2, 1e-1, 0.3, 1.0)


def covariance_blocks(
    information: sparse.csr_array, redundant: Redundancy, own: Indices
) -> tuple[Array, Array]:
    """Each rater's block of the covariance of centred parameters (raters, own, own), and that of all other parameters;
    `own`: where each rater's slope and severity stand."""
    # Weighed so heavily that the redundant directions keep next to no variance of their own.
    u, d = redundant.constraints * np.sqrt(1e3 * information.max()), redundant.directions
    constraints = sparse.csr_array(u)
    full = sparse.csr_array(information + constraints.T @ constraints)
    rest, width = np.setdiff1d(np.arange(full.shape[0]), own.ravel()), own.shape[1]
    among, between = of_raters(full, own), full[own.ravel()][:, rest].toarray()
    shared = conjugate_gradients(among, inverse_of_own_blocks(among, width), between)
    corner = np.linalg.inv(full[rest][:, rest].toarray() - between.T @ shared)
    np.linalg.cholesky(corner)  # or the information has no inverse that is a covariance
    # What centring takes away: inv(A) = V + excess' excess.
    excess = np.linalg.solve(d @ u.T, d)
    of_own, of_rest, shared = excess.T[own], excess[:, rest], shared.reshape(*own.shape, -1)
    found = blocks_of_inverse(among, width) + shared @ corner @ shared.transpose(0, 2, 1)
    return found - of_own @ of_own.transpose(0, 2, 1), np.asarray(corner - of_rest.T @ of_rest)


def large_covariance(
    information: sparse.csr_array, redundant: Redundancy, held: Mask, model: FacetsModel
) -> Covariance:
    """Each rater's own variances, and those of everything that is not a rater's; between raters, none.

    What two of very many raters have in common, through the students they share, is small beside what each has alone.
    """
    own, size = model.of_single_raters, model.blocks.size
    free = sparse.diags_array((~held).astype(float))
    known = sparse.csr_array(free @ information @ free + sparse.diags_array(held.astype(float)))
    determined, aside = _without_undetermined(known, own)
    inverted = _inverted(determined, redundant, own)
    if inverted is None:  # slopes that all of the ratings together say nothing about: none is left in
        aside[model.blocks["slope"]] = True
        inverted = _inverted(_set_aside(known, aside), redundant, own)
    if inverted is None:
        raise FloatingPointError("the information is singular, even without slopes")
    (blocks, others), more = inverted
    place = np.argsort(np.append(own.ravel(), np.setdiff1d(np.arange(size), own.ravel())))
    matrix = sparse.csr_array(sparse.block_diag([*blocks, others], format="csr"))[place][:, place]
    return Covariance(sparse.csr_array(free @ matrix @ free), np.flatnonzero(aside & ~held), more)


def _inverted(
    known: sparse.csr_array, redundant: Redundancy, own: Indices
) -> tuple[tuple[Array, Array], float] | None:
    """The blocks of the covariance, and the share of itself that was added to what is known of each parameter to get
    there; None where none of them is enough."""
    for more in _STEADIED:
        steadied = sparse.csr_array(known + sparse.diags_array(more * known.diagonal())) if more else known
        try:
            return covariance_blocks(steadied, redundant, own), more
        except (FloatingPointError, np.linalg.LinAlgError):
            continue
    return None


def of_raters(matrix: sparse.csr_array, own: Indices) -> sparse.csr_array:
    """The part of the raters' own parameters, those of a rater beside each other."""
    among = sparse.csr_array(matrix[own.ravel()][:, own.ravel()])
    among.sort_indices()
    return among


def _without_undetermined(information: sparse.csr_array, own: Indices) -> tuple[sparse.csr_array, Mask]:
    """The information with parameters set aside that the data say nothing about, and which these are.

    At discrimination 0, or with few ratings, the likelihood of a rater can bend the wrong way, alone or together with
    others; left in, it would take everybody's standard errors. As in `covariance.py`, a little information of its own
    is left to what is set aside.
    """
    aside = information.diagonal() <= 0
    among = own_blocks(of_raters(information, own), own.shape[1])
    scale = np.sqrt(np.maximum(np.abs(np.einsum("rii->ri", among)), 1e-12))
    values, vectors = np.linalg.eigh(among / scale[:, :, None] / scale[:, None])
    weak = np.flatnonzero((values < _WEAK).any(axis=1))
    aside[own[weak, np.abs(vectors[weak, :, 0]).argmax(axis=1)]] = True
    for _ in range(_ROUNDS):
        found = _set_aside(information, aside)
        values, vectors = lowest(of_raters(found, own))
        wrong = values < -UNDETERMINED
        if not wrong.any():
            break
        share = np.abs(vectors[:, wrong]) * np.sqrt(np.abs(found.diagonal()[own.ravel()]))[:, None]
        aside[own.ravel()[share.argmax(axis=0)]] = True
    return _set_aside(information, aside), aside


def _set_aside(information: sparse.csr_array, aside: Mask) -> sparse.csr_array:
    kept = sparse.diags_array((~aside).astype(float))
    little = np.where(aside, SET_ASIDE * np.maximum(np.abs(information.diagonal()), 1e-12), 0.0)
    return sparse.csr_array(kept @ information @ kept + sparse.diags_array(little))
