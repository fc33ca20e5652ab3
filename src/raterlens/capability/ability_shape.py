"""The shape of the students' distribution, where it is not taken for normal.

    log g(t) = −t²/2 + c₃ He₃(x) + c₄ He₄(x) − log Z,      x = L tanh(t / L)

c₃ makes it skewed, c₄ heavy-tailed or two-peaked; a linear and a quadratic term would be no different from other
severities and slopes. x is t within the range where students are, and levels off beyond it: tails that ratings cannot
see stay those of a normal distribution, and every c₃ and c₄ makes a proper density.

Abilities are θ = (t − m) / s with m the median and s half the distance between the quantiles Φ(1) and Φ(−1), so that
θ has median 0 and quantiles near −1 and 1 whatever the shape, and is standard normal where c₃ = c₄ = 0. Its mean and
variance would depend on the tails.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import special

from raterlens.base.arrays import Array

LARGEST_SHAPE = (0.5, 0.5)
"""Bounds of |c₃| and |c₄|: beyond, all students would be in one or two places."""
_LEVEL = 4.0
_END, _STEP = 10.0, 0.02
_QUARTILES = special.ndtr([-1.0, 0.0, 1.0])
# Five points of Gauss's rule on [0, 1] leave nothing within a step.
_GAUSS = tuple(part / 2 for part in (np.polynomial.legendre.leggauss(5) + np.array([[1.0], [0.0]])))
# From the middle of a step, each of Newton's squares what is left: 1e-2, 1e-5, 1e-10, 1e-20.
_NEWTON = 3
# Of differences of first derivatives.
_DIFFERENCE = 3e-6


def _levelled(t: Array) -> Array:
    return np.asarray(_LEVEL * np.tanh(t / _LEVEL))


def _polynomials(t: Array) -> tuple[Array, Array]:
    """(2, ...): He₃ and He₄ of x, and their derivatives in t."""
    x = _levelled(t)
    rise = 1 - (x / _LEVEL) ** 2
    value = np.stack([x**3 - 3 * x, x**4 - 6 * x**2 + 3])
    return value, np.stack([3 * x**2 - 3, 4 * x**3 - 12 * x]) * rise


_GRID = np.arange(-_END, _END + _STEP / 2, _STEP)
_ON_GRID = _polynomials(_GRID)


@dataclass(frozen=True, slots=True, eq=False)
class AbilityShape:
    """A distribution of abilities.

    Examples
    --------
    >>> normal = AbilityShape.of(0.0, 0.0)
    >>> bool(np.allclose(normal.log_density(np.array([0.0, 2.0])), [-0.918939, -2.918939]))
    True
    """

    c: Array
    """(2,)"""
    median: float
    """m, and below s: in units of t."""
    half_width: float
    d_median: Array
    """(2,): derivatives in c₃ and c₄; so for the next two."""
    d_half_width: Array
    mean: Array
    """Means of He₃ and He₄."""
    log_total: float

    @staticmethod
    @lru_cache(maxsize=64)
    def of(c3: float, c4: float) -> "AbilityShape":
        c = np.array([c3, c4])
        log = -(_GRID**2) / 2 + c @ _ON_GRID[0]
        top = float(log.max())
        density = np.exp(log - top)
        total = _STEP * float(density.sum())
        mean = _STEP / total * (_ON_GRID[0] @ density)
        terms = _Terms(c, mean, top + float(np.log(total)))
        place, move = terms.quantiles(density / total)
        half_width, d_half_width = (place[2] - place[0]) / 2, (move[:, 2] - move[:, 0]) / 2
        return AbilityShape(
            c, float(place[1]), float(half_width), move[:, 1], d_half_width, mean, terms.log_total
        )

    def log_density(self, theta: Array) -> Array:
        t = self.median + self.half_width * theta
        value, _ = _polynomials(t)
        logs = -(t**2) / 2 + np.tensordot(self.c, value, 1) - self.log_total + np.log(self.half_width)
        return np.asarray(logs)

    def log_ratio(self, theta: Array) -> Array:
        """The logarithm of the density over that of a standard normal distribution."""
        return np.asarray(self.log_density(theta) + theta**2 / 2 + np.log(2 * np.pi) / 2)

    def scores(self, theta: Array) -> Array:
        """(2, ...): derivatives of the log-density in c₃ and c₄."""
        t = self.median + self.half_width * theta
        value, rise = _polynomials(t)
        along = np.multiply.outer(self.d_half_width, theta) + _column(self.d_median, theta)
        of_scale = _column(self.d_half_width / self.half_width - self.mean, theta)
        return np.asarray(value + (np.tensordot(self.c, rise, 1) - t) * along + of_scale)

    def curvature(self, theta: Array) -> Array:
        """(2, 2, ...): second derivatives."""
        found = []
        for axis in np.eye(2) * _DIFFERENCE:
            ahead, back = (
                AbilityShape.of(*(self.c + sign * axis).tolist()).scores(theta) for sign in (1, -1)
            )
            found.append((ahead - back) / (2 * _DIFFERENCE))
        both = np.stack(found)
        return np.asarray((both + both.swapaxes(0, 1)) / 2)

    def at(self, share: Array) -> Array:
        """Quantiles: abilities that these shares of students are below."""
        theta = np.linspace(*self.ends(), 4001)
        below = np.cumsum(np.exp(self.log_density(theta)))
        return np.interp(share, (below - below[0]) / (below[-1] - below[0]), theta)

    def ends(self) -> tuple[float, float]:
        """Abilities between which next to all students are."""
        return (-_END - self.median) / self.half_width, (_END - self.median) / self.half_width


class _Terms(NamedTuple):
    """Integrands: the density, and its derivatives in c₃ and c₄."""

    c: Array
    mean: Array
    log_total: float

    def quantiles(self, on_grid: Array) -> tuple[Array, Array]:
        """Where shares Φ(−1), 1/2 and Φ(1) lie below, and (2, 3) how these places move with c₃ and c₄."""
        rows, slopes = self._rows(on_grid)
        # The trapezoidal rule is exact but for the end of the range (Euler and Maclaurin).
        below = _STEP * (np.cumsum(rows, axis=1) - rows / 2) - _STEP**2 / 12 * slopes
        cell = np.searchsorted(below[0], _QUARTILES) - 1
        start, beyond = _GRID[cell], np.full(len(_QUARTILES), _STEP / 2)
        for _ in range(_NEWTON):
            within = self._at(start[:, None] + beyond[:, None] * _GAUSS[0])
            reached = below[:, cell] + beyond * (within @ _GAUSS[1])
            here = self._at(start + beyond)[0]
            beyond = beyond - (reached[0] - _QUARTILES) / here
        return start + beyond, -reached[1:] / here

    def _at(self, t: Array) -> Array:
        x = _levelled(t)
        third, fourth = x**3 - 3 * x, x**4 - 6 * x**2 + 3
        density = np.exp(-(t**2) / 2 + self.c[0] * third + self.c[1] * fourth - self.log_total)
        return np.stack([density, density * (third - self.mean[0]), density * (fourth - self.mean[1])])

    def _rows(self, density: Array) -> tuple[Array, Array]:
        """(3, grid): the terms, and their derivatives in t."""
        value, rise = _ON_GRID
        rows = np.concatenate([density[None], density * (value - self.mean[:, None])])
        slopes = rows * (self.c @ rise - _GRID)
        slopes[1:] += density * rise
        return rows, slopes


def _column(values: Array, like: Array) -> Array:
    return values.reshape(-1, *[1] * np.ndim(like))
