"""Smooth functions of a slope and a severity at a great many places: tabulated, and read off by Chebyshev polynomials.

A rater's draws of slope and severity lie within a small rectangle. A smooth function is known there, to many digits,
from its values on a few Chebyshev nodes each way; a thousand quadratures become a hundred and some arithmetic.
"""

from collections.abc import Callable

import numpy as np
from numpy.polynomial import chebyshev

from raterlens.types import Array

_NODES = 12
# Where a table is further off than this, at the outermost draws, the function itself is taken.
_CLOSE = 1e-7
# Draws of a rater from which on a table is worth making.
WORTH = 4 * _NODES**2


def read_off(function: Callable[[Array, Array], Array], a: Array, eta: Array) -> Array:
    """`function` at every (a, eta), both (rows, places): a table for each row."""
    angles = np.pi * (np.arange(_NODES) + 0.5) / _NODES
    (a_nodes, a_places), (eta_nodes, eta_places) = (_within(x, np.cos(angles)) for x in (a, eta))
    shape = len(a), _NODES, _NODES
    places = (np.broadcast_to(a_nodes[:, :, None], shape), np.broadcast_to(eta_nodes[:, None, :], shape))
    table = function(*(x.reshape(len(a), -1) for x in places)).reshape(shape)
    # Chebyshev polynomials are orthogonal on these nodes.
    to_coefficients = 2 / _NODES * np.cos(np.multiply.outer(np.arange(_NODES), angles))
    to_coefficients[0] /= 2
    coefficients = to_coefficients @ table @ to_coefficients.T
    by_a, by_eta = (chebyshev.chebvander(x, _NODES - 1) for x in (a_places, eta_places))
    found = np.asarray(np.einsum("rpi,rpi->rp", by_a @ coefficients, by_eta))

    row = np.arange(len(a))[:, None]
    ends = np.stack([a.argmin(1), a.argmax(1), eta.argmin(1), eta.argmax(1)], axis=1)
    off = np.abs(found[row, ends] - function(a[row, ends], eta[row, ends])).max(axis=1)
    rough = np.flatnonzero(~(off <= _CLOSE))
    if rough.size:
        found[rough] = function(a[rough], eta[rough])
    return found


def _within(x: Array, nodes: Array) -> tuple[Array, Array]:
    """Nodes of [-1, 1] between the extremes of each row, and the row's own places in [-1, 1]."""
    low, high = x.min(axis=1, keepdims=True), x.max(axis=1, keepdims=True)
    centre, half = (low + high) / 2, np.maximum((high - low) / 2, 1e-12)
    return centre + half * nodes, (x - centre) / half
