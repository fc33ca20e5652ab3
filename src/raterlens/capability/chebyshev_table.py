"""Smooth functions of a slope and a severity at a great many places: tabulated, and read off by Chebyshev polynomials.

A rater's draws of slope and severity lie within a small rectangle. A smooth function is known there, to many digits,
from its values on a few Chebyshev nodes each way; a thousand quadratures become a hundred and some arithmetic.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.kernels.library import available

# Nodes of slope and of severity: the fewest that are close enough, row by row.
_NODES = 12
_SIZES = ((7, 7), (_NODES, _NODES), (16, 16))
# Of what does not depend on severity.
_SLOPE_SIZES = ((10, 1), (20, 1))
# Where slopes reach further than this from their centre, the first size is not tried.
_NEAR = 0.4
# Where severities are spread wide.
_WIDE_SIZES = ((_NODES, _NODES), (_NODES, 24), (_NODES, 48))
# Where a table is further off than this, at the outermost and some other draws, the next one or the function itself is
# taken.
_CLOSE, _OTHERS = 1e-7, 4
# Draws of a rater from which on a table is worth making.
WORTH = 4 * _NODES**2
# Numbers of a table's products at a time.
_AT_A_TIME = 4_000_000

Function = Callable[[Array, Array, Indices], Array]
Sizes = Sequence[tuple[int, int]]


def many_draws(a: Array) -> bool:
    """Whether there are enough draws of each rater for a table."""
    return np.ndim(a) == 2 and np.shape(a)[1] >= WORTH


def read_off(function: Function, a: Array, eta: Array, *, wide: bool = False) -> Array:
    """`function` at every (a, eta), both (rows, places): a table for each row.

    `function` is told which rows these are, and may return several numbers per place, in axes before those of the
    places. `wide`: severities differ much more than slopes.
    """
    size = max(1, _AT_A_TIME // (a.shape[1] * _NODES))
    parts = [np.arange(first, min(first + size, len(a))) for first in range(0, len(a), size)]
    sizes = _WIDE_SIZES if wide else _SIZES
    return np.concatenate(
        [_of_rows(function, _Places(a[rows], eta[rows], rows), sizes) for rows in parts], axis=-2
    )


def read_off_slopes(function: Callable[[Array], Array], a: Array) -> Array:
    """A function of slopes alone at every one of them, (rows, places): a table for each row."""
    # Any severities will do: there is one polynomial of them, a constant.
    places = _Places(a, a, np.arange(len(a)))
    return _of_rows(lambda slope, *_: function(slope), places, _SLOPE_SIZES)


class _Places(NamedTuple):
    """Slopes and severities, each (rows, places), and whose they are."""

    a: Array
    eta: Array
    row: Indices

    def of(self, rows: Indices) -> "_Places":
        return self if len(rows) == len(self.a) else _Places(self.a[rows], self.eta[rows], self.row[rows])


def _of_rows(function: Function, draws: _Places, sizes: Sizes) -> Array:
    """Each row by the first of the sizes that is close enough for it, whatever the others need."""
    a, eta, _ = draws
    row = np.arange(len(a))[:, None]
    outermost = np.stack([a.argmin(1), a.argmax(1), eta.argmin(1), eta.argmax(1)], axis=1)
    few = np.concatenate([outermost, np.broadcast_to(np.arange(_OTHERS), (len(a), _OTHERS))], axis=1)
    tried = _Places(a[row, few], eta[row, few], draws.row)
    exact = function(*tried)
    found = np.empty((*exact.shape[:-1], a.shape[1]))
    left, far = np.arange(len(a)), np.ptp(tried.a, axis=1) > 2 * _NEAR
    for size in sizes:
        some = left[~far[left]] if size is _SIZES[0] else left
        if not len(some):
            continue
        few_of = tried.of(some)
        table = _Table.of(function, few_of, size)
        off = np.abs(table.at(few_of) - exact[..., some, :]).max(axis=-1)
        close = off.reshape(-1, len(some)).max(axis=0) <= _CLOSE
        if close.any():
            (table if close.all() else table.of_rows(close)).fill(found, draws, some[close])
        left = np.setdiff1d(left, some[close], assume_unique=True)
    if len(left):
        found[..., left, :] = function(*draws.of(left))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """For each row, on the rectangle that its places lie in."""

    centre: Array
    """(2, rows): of slopes and of severities."""
    half: Array
    """(2, rows): from the centre to either end."""
    coefficients: Array
    """(..., rows, i, j): of the polynomials through the function's values on the nodes."""

    @staticmethod
    def of(function: Function, places: _Places, size: tuple[int, int]) -> "_Table":
        """`places`: at least those of each row that are furthest out."""
        both = np.stack(places[:2])
        low, high = both.min(axis=2), both.max(axis=2)
        centre, half = (low + high) / 2, np.maximum((high - low) / 2, 1e-12)
        (slopes, to_slopes), (severities, to_severities) = (_transform(n) for n in size)
        rectangle = len(places.a), *size
        nodes = (
            (centre[0][:, None] + half[0][:, None] * slopes)[:, :, None],
            (centre[1][:, None] + half[1][:, None] * severities)[:, None, :],
        )
        slope, severity = (np.broadcast_to(x, rectangle).reshape(len(places.a), -1) for x in nodes)
        values = function(slope, severity, places.row)
        values = values.reshape(*values.shape[:-1], *size)
        return _Table(centre, half, to_slopes @ values @ to_severities.T)

    def of_rows(self, rows: Mask) -> "_Table":
        return _Table(self.centre[:, rows], self.half[:, rows], self.coefficients[..., rows, :, :])

    def at(self, places: _Places) -> Array:
        """(..., rows, places): what the table says."""
        found = np.empty((*self.coefficients.shape[:-2], places.a.shape[1]))
        self.fill(found, places, np.arange(len(places.a)))
        return found

    def fill(self, found: Array, places: _Places, rows: Indices) -> None:
        """found (..., all rows, places) <- what the table says of its own rows, which these are among all."""
        *_, n_rows, n, m = self.coefficients.shape
        if available():
            from raterlens.kernels.capability_sums import chebyshev_sums  # may be missing

            flat, out = self.coefficients.reshape(-1, n_rows, n, m), found.reshape(-1, *places.a.shape)
            chebyshev_sums(flat, (places.a, places.eta), self.centre, self.half, rows, out)
        else:
            within = [
                (part[rows] - centre[:, None]) / half[:, None]
                for part, centre, half in zip(places[:2], self.centre, self.half, strict=True)
            ]
            by_slope, by_severity = (
                chebyshev.chebvander(part, size - 1) for part, size in zip(within, (n, m), strict=True)
            )
            found[..., rows, :] = np.einsum("...rpi,rpi->...rp", by_slope @ self.coefficients, by_severity)


@cache
def _transform(nodes: int) -> tuple[Array, Array]:
    """Nodes of [-1, 1], and from values there to coefficients: Chebyshev polynomials are orthogonal on them."""
    angles = np.pi * (np.arange(nodes) + 0.5) / nodes
    to_coefficients = 2 / nodes * np.cos(np.multiply.outer(np.arange(nodes), angles))
    to_coefficients[0] /= 2
    return np.cos(angles), to_coefficients
