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
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from raterlens.types import Array

if TYPE_CHECKING:
    from scipy.interpolate import PPoly

LARGEST_SHAPE = (0.5, 0.5)
"""Of c₃ and c₄, in size: beyond, all students would be in one or two places."""
_LEVEL = 4.0
_END, _STEP = 10.0, 0.02
_QUARTILES = (float(special.ndtr(-1.0)), 0.5, float(special.ndtr(1.0)))
# Of differences of first derivatives.
_DIFFERENCE = 3e-6


def _polynomials(t: Array) -> tuple[Array, Array]:
    """(2, ...): He₃ and He₄ of x, and their derivatives in t."""
    x = _LEVEL * np.tanh(t / _LEVEL)
    rise = 1 - (x / _LEVEL) ** 2
    value = np.stack([x**3 - 3 * x, x**4 - 6 * x**2 + 3])
    return value, np.stack([3 * x**2 - 3, 4 * x**3 - 12 * x]) * rise


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
    """Of He₃ and He₄."""
    log_total: float

    @staticmethod
    @lru_cache(maxsize=64)
    def of(c3: float, c4: float) -> "AbilityShape":
        from scipy.interpolate import CubicSpline  # only here, and slow to load

        t, c = np.arange(-_END, _END + _STEP / 2, _STEP), np.array([c3, c4])
        value, _ = _polynomials(t)
        log = -(t**2) / 2 + c @ value
        top = float(log.max())
        density = np.exp(log - top)
        total = _STEP * float(density.sum())
        density /= total
        mean = _STEP * (value @ density)
        rows = np.concatenate([density[None], density * (value - mean[:, None])])
        below = CubicSpline(t, rows, axis=1).antiderivative()
        found, moves = zip(*(_quantile(below, t, share) for share in _QUARTILES), strict=True)
        return AbilityShape(
            c,
            found[1],
            (found[2] - found[0]) / 2,
            moves[1],
            (moves[2] - moves[0]) / 2,
            mean,
            top + float(np.log(total)),
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


def _quantile(below: "PPoly", t: Array, share: float) -> tuple[float, Array]:
    """Where the share lies below, and how it moves with c₃ and c₄."""
    at = np.asarray(below(t))[0]
    place = float(np.interp(share, at, t))
    for _ in range(4):
        place -= (float(below(place)[0]) - share) / float(below(place, 1)[0])
    return place, -np.asarray(below(place))[1:] / float(below(place, 1)[0])


def _column(values: Array, like: Array) -> Array:
    return values.reshape(-1, *[1] * np.ndim(like))
