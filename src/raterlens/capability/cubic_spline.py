"""A smooth curve through points: the cubic spline whose first two and last two pieces are one each ("not a knot")."""

import numpy as np

from raterlens.base.arrays import Array


def spline(x: Array, y: Array, at: Array) -> Array:
    """The spline through (x, y), four points or more in increasing order, at other places.

    SciPy has one, too, whose module takes longer to load than most fits take.

    Examples
    --------
    >>> x = np.linspace(0.0, 2.0, 9)
    >>> spline(x, x**3, np.array([0.3, 1.9])).round(6).tolist()
    [0.027, 6.859]
    """
    width = np.diff(x)
    rise = np.diff(y) / width
    slope = np.linalg.solve(*_equations(width, rise))
    cell = np.clip(np.searchsorted(x, at, "right") - 1, 0, len(width) - 1)
    part, h = at - x[cell], width[cell]
    bend = (3 * rise[cell] - 2 * slope[cell] - slope[cell + 1]) / h
    twist = (slope[cell] + slope[cell + 1] - 2 * rise[cell]) / h**2
    return np.asarray(y[cell] + part * (slope[cell] + part * (bend + part * twist)))


def _equations(width: Array, rise: Array) -> tuple[Array, Array]:
    """For the slopes at the points: the second derivative is continuous, and the third at the second point from either
    end."""
    n = len(width) + 1
    system, right = np.zeros((n, n)), np.zeros(n)
    before, after, inner = width[:-1], width[1:], np.arange(1, n - 1)
    system[inner, inner - 1], system[inner, inner + 1] = after, before
    system[inner, inner] = 2 * (before + after)
    right[inner] = 3 * (after * rise[:-1] + before * rise[1:])
    for row, near, far in ((0, 0, 1), (-1, -1, -2)):
        both = width[near] + width[far]
        system[row, near], system[row, far] = width[far], both
        right[row] = (
            (width[near] + 2 * both) * width[far] * rise[near] + width[near] ** 2 * rise[far]
        ) / both
    return system, right
