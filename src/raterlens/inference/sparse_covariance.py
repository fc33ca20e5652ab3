"""Standard errors of large panels, without a matrix of all raters.

The information A couples two raters only through the students they share, and all raters to a few other parameters:
difficulties, thresholds. With W the part of the raters, B what couples them to the others, and C the part of these,

    inv(A) on the others:  K = inv(C - B' inv(W) B)            on a rater:  inv(W) + inv(W) B K B' inv(W)

The others' columns are solved exactly; raters' blocks of inv(W) follow from `local_inverse.py`. On panels of hundreds
of raters and more, standard errors are within 2 % of the exact ones (`python -m benchmarks.many_raters exact`).
"""

import numpy as np
from scipy import sparse

from raterlens.base.records import dataclass
from raterlens.base.types import Array, Indices, Mask
from raterlens.inference.covariance import SET_ASIDE, UNDETERMINED, Covariance
from raterlens.inference.local_inverse import LocalInverse, lowest, own_blocks
from raterlens.models.facets import FacetsModel
from raterlens.models.redundancy import Redundancy

# A rater whose own block has less information than this, relative to its parameters', has one of them set aside.
_WEAK = 1e-6
# So often parameters are looked for that carry a direction without information.
_ROUNDS = 20
# Added then to every parameter's own information, relative to it.
_STEADIED = (0.0, 1e-3, 1e-2, 1e-1, 0.3, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class LargeCovariance:
    """What inference needs of the covariance of centred parameters, piece by piece."""

    raters: LocalInverse
    weakest: Array
    """(raters' parameters, directions) about which least is known."""
    shared: Array
    """inv(W) B"""
    corner: Array
    """K"""
    own: Indices
    """(raters, own parameters): where each rater's slope and severity stand."""
    rest: Indices
    """Where the other parameters stand."""
    excess: Array
    """(redundancies, parameters): what centring takes away, `inv(A) = V + excess' excess`."""

    @staticmethod
    def build(information: sparse.csr_array, redundant: Redundancy, own: Indices) -> "LargeCovariance":
        # Weighed so heavily that the redundant directions keep next to no variance of their own.
        u, d = redundant.constraints * np.sqrt(1e3 * information.max()), redundant.directions
        constraints = sparse.csr_array(u)
        full = sparse.csr_array(information + constraints.T @ constraints)
        rest = np.setdiff1d(np.arange(full.shape[0]), own.ravel())
        among = of_raters(full, own)
        raters = LocalInverse.of(among, own.shape[1])
        between = full[own.ravel()][:, rest].toarray()
        shared = raters.columns(between)
        corner = np.linalg.inv(full[rest][:, rest].toarray() - between.T @ shared)
        np.linalg.cholesky(corner)  # or the information has no inverse that is a covariance
        excess = np.linalg.solve(d @ u.T, d)
        return LargeCovariance(raters, lowest(among)[1], shared, corner, own, rest, excess)

    def blocks(self, seed: int = 0) -> Array:
        """(raters, own, own): each rater's block of V."""
        shared = self.shared.reshape(*self.own.shape, -1)
        taken = self.excess.T[self.own]
        found = self.raters.blocks(self.weakest, seed)
        return found + shared @ self.corner @ shared.transpose(0, 2, 1) - taken @ taken.transpose(0, 2, 1)

    def others(self) -> Array:
        """The block of V of all other parameters."""
        taken = self.excess[:, self.rest]
        return np.asarray(self.corner - taken.T @ taken)


def large_covariance(
    information: sparse.csr_array, redundant: Redundancy, held: Mask, model: FacetsModel
) -> Covariance:
    """Each rater's own variances, and those of everything that is not a rater's; between raters, none.

    What two of very many raters have in common, through the students they share, is small beside what each has alone.
    """
    own = model.of_single_raters
    free = sparse.diags_array((~held).astype(float))
    known = sparse.csr_array(free @ information @ free + sparse.diags_array(held.astype(float)))
    determined, aside = _without_undetermined(known, own)
    inverted = _inverted(determined, redundant, own)
    if inverted is None:  # slopes that all of the ratings together say nothing about: none is left in
        aside[model.blocks["slope"]] = True
        inverted = _inverted(_set_aside(known, aside), redundant, own)
    if inverted is None:
        raise FloatingPointError("the information is singular, even without slopes")
    found, blocks, more = inverted
    matrix = _assemble(blocks, own, found.others(), found.rest, model.blocks.size)
    return Covariance(sparse.csr_array(free @ matrix @ free), np.flatnonzero(aside & ~held), more)


def _inverted(
    known: sparse.csr_array, redundant: Redundancy, own: Indices
) -> tuple[LargeCovariance, Array, float] | None:
    """The covariance, each rater's block of it, and the share of itself that was added to what is known of each
    parameter to get there; None where none of them is enough."""
    for more in _STEADIED:
        steadied = sparse.csr_array(known + sparse.diags_array(more * known.diagonal())) if more else known
        try:
            found = LargeCovariance.build(steadied, redundant, own)
            return found, found.blocks(), more
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


def _assemble(blocks: Array, own: Indices, corner: Array, rest: Indices, size: int) -> sparse.csr_array:
    rows, columns = np.broadcast_arrays(own[:, :, None], own[:, None, :])
    across, down = np.meshgrid(rest, rest)
    return sparse.csr_array(
        (
            np.concatenate([blocks.ravel(), corner.ravel()]),
            (np.concatenate([rows.ravel(), down.ravel()]), np.concatenate([columns.ravel(), across.ravel()])),
        ),
        shape=(size, size),
    )
