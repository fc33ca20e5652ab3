"""Smooth functions of a slope and a severity at a great many places: tabulated, and read off by Chebyshev polynomials.

A rater's draws of slope and severity lie within a small rectangle. A smooth function is known there, to many digits,
from its values on a few Chebyshev nodes each way; a thousand quadratures become a hundred and some arithmetic.
Averages over shifts of the severity, as over the impressions of readings, are read off one wider table.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.polynomial import chebyshev

from raterlens.types import Array, Indices

# Nodes of slope and of severity: the fewest that are close enough, row by row.
_NODES = 12
_SIZES = ((7, 7), (_NODES, _NODES))
# Where shifts spread severity.
_SHIFTED_SIZES = ((_NODES, _NODES), (_NODES, 24), (_NODES, 48))
# Where a table is further off than this, at the outermost draws, the next one or the function itself is taken.
_CLOSE = 1e-7
# Draws of a rater from which on a table is worth making.
WORTH = 4 * _NODES**2
# Numbers of a table's products at a time.
_AT_A_TIME = 4_000_000

Function = Callable[[Array, Array], Array]
Shifts = Sequence[tuple[float, Array | float]]
"""Weights, and what is taken off the severity."""
UNSHIFTED: Shifts = ((1.0, 0.0),)


def many_draws(a: Array) -> bool:
    """Whether there are enough draws of each rater for a table."""
    return np.ndim(a) == 2 and np.shape(a)[1] >= WORTH


def read_off(function: Function, a: Array, eta: Array, shifts: Shifts = UNSHIFTED) -> Array:
    """The weighted sum of `function` at every (a, eta - shift), both (rows, places): a table for each row.

    `function` may return several numbers per place, in axes before those of the places.
    """
    size = max(1, _AT_A_TIME // (a.shape[1] * _NODES))
    parts = [slice(first, first + size) for first in range(0, len(a), size)]
    return np.concatenate(
        [_of_rows(function, a[rows], eta[rows], _rows_of(shifts, rows)) for rows in parts], axis=-2
    )


def _of_rows(function: Function, a: Array, eta: Array, shifts: Shifts) -> Array:
    first, *others = _SIZES if len(shifts) == 1 else _SHIFTED_SIZES
    found, off = _tabulated(function, a, eta, shifts, first)
    for size in others:
        if len(rough := np.flatnonzero(~(off <= _CLOSE))):
            again = _tabulated(function, a[rough], eta[rough], _rows_of(shifts, rough), size)
            found[..., rough, :], off[rough] = again
    if len(rough := np.flatnonzero(~(off <= _CLOSE))):
        found[..., rough, :] = summed(function, a[rough], eta[rough], _rows_of(shifts, rough))
    return found


def summed(function: Function, a: Array, eta: Array, shifts: Shifts) -> Array:
    """The same, of the function itself."""
    return np.asarray(sum(weight * function(a, eta - shift) for weight, shift in shifts))


def _tabulated(
    function: Function, a: Array, eta: Array, shifts: Shifts, size: tuple[int, int]
) -> tuple[Array, Array]:
    """What a table says, and how far off it is in each row."""
    moved = [eta - shift for _, shift in shifts]
    ends = np.stack([pick(x, 1) for x in moved for pick in (np.min, np.max)], axis=1)
    (a_angles, to_a), (eta_angles, to_eta) = (_transform(n) for n in size)
    a_nodes, a_within = _range(a, np.cos(a_angles))
    eta_nodes, eta_within = _range(ends, np.cos(eta_angles))
    shape = len(a), *size
    places = (np.broadcast_to(a_nodes[:, :, None], shape), np.broadcast_to(eta_nodes[:, None, :], shape))
    table = function(*(x.reshape(len(a), -1) for x in places))
    coefficients = to_a @ table.reshape(*table.shape[:-1], *size) @ to_eta.T
    by_a = chebyshev.chebvander(a_within(a), size[0] - 1)
    by_eta = sum(
        weight * chebyshev.chebvander(eta_within(x), size[1] - 1)
        for (weight, _), x in zip(shifts, moved, strict=True)
    )
    found = np.asarray(np.einsum("...rpi,rpi->...rp", by_a @ coefficients, by_eta))

    row = np.arange(len(a))[:, None]
    few = np.stack([a.argmin(1), a.argmax(1), eta.argmin(1), eta.argmax(1)], axis=1)
    own = [(weight, np.asarray(shift)[row, few] if np.ndim(shift) else shift) for weight, shift in shifts]
    off = np.abs(found[..., row, few] - summed(function, a[row, few], eta[row, few], own)).max(axis=-1)
    return found, off.reshape(-1, len(a)).max(axis=0)


def _transform(nodes: int) -> tuple[Array, Array]:
    """Angles of the nodes, and from values there to coefficients: Chebyshev polynomials are orthogonal on them."""
    angles = np.pi * (np.arange(nodes) + 0.5) / nodes
    to_coefficients = 2 / nodes * np.cos(np.multiply.outer(np.arange(nodes), angles))
    to_coefficients[0] /= 2
    return angles, to_coefficients


def _range(x: Array, nodes: Array) -> tuple[Array, Callable[[Array], Array]]:
    """Nodes of [-1, 1] between the extremes of each row, and from places of the row to [-1, 1]."""
    low, high = x.min(axis=1, keepdims=True), x.max(axis=1, keepdims=True)
    centre, half = (low + high) / 2, np.maximum((high - low) / 2, 1e-12)
    return centre + half * nodes, lambda places: (places - centre) / half


def _rows_of(shifts: Shifts, rows: slice | Indices) -> Shifts:
    return [(weight, np.asarray(shift)[rows] if np.ndim(shift) else shift) for weight, shift in shifts]
