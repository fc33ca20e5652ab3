"""The five links: how the linear predictor S becomes the probability of a pass, P(y = 1) = F(S).

A link is written by five functions of S; log-probabilities and their first three derivatives follow from
them without cancellation in either tail.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from raterlens.base.arrays import Array
from raterlens.base.errors import choose

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


@dataclass(frozen=True, slots=True)
class Link:
    """A cumulative distribution F with density f, on the log scale.

    `tilt` is u = (log f)' and `bend` is u', from which every derivative of log F and log(1 - F) follows.
    """

    name: str
    log_pass: Callable[[Array], Array]
    """log F(S)"""
    log_fail: Callable[[Array], Array]
    """log(1 - F(S))"""
    log_density: Callable[[Array], Array]
    tilt: Callable[[Array], Array]
    bend: Callable[[Array], Array]
    symmetric: bool = True
    """f(-s) = f(s): the most capable severity is then 0."""
    upper: float = np.inf
    """F reaches 1 here: a fail is impossible from here on."""
    fail_slopes: Callable[[Array], tuple[Array, Array, Array]] | None = None
    """The three derivatives of log(1 - F), where the general formula would cancel."""

    def density(self, s: Array) -> Array:
        return np.exp(self.log_density(s))

    def mass(self, end: Array, width: Array) -> Array:
        """F(end) - F(end - width) without cancellation: by the density where narrow, else by a tail."""
        begin = end - width
        high, low = np.minimum(end, self.upper), np.minimum(begin, self.upper)
        gap = np.where((high == end) & (low == begin), width, high - low)
        narrow = np.clip(gap, -0.5, 0.5)
        inside = np.expand_dims(low, -1) + np.multiply.outer(narrow, (_NODES + 1) / 2)
        by_density = narrow * (self.density(inside) @ _WEIGHTS) / 2
        by_pass = np.exp(self.log_pass(high)) - np.exp(self.log_pass(low))
        by_fail = np.exp(self.log_fail(low)) - np.exp(self.log_fail(high))
        return np.where(np.abs(gap) < 0.5, by_density, np.where(high + low < 0, by_pass, by_fail))

    def slopes(self, s: Array, passed: NDArray[np.bool_] | np.bool_) -> tuple[Array, Array, Array]:
        """First three derivatives in S of log P(y | S), y = 1 where `passed`.

        With m = f / F (or -f / (1 - F)): l' = m, l'' = m (u - m), l''' = l'' (u - m) + m (u' - l'').
        Where the outcome is impossible (a fail from `upper` on) all three are 0, so that a node which has
        no posterior weight adds nothing to a gradient.
        """
        log_p = np.where(passed, self.log_pass(s), self.log_fail(s))
        log_p[log_p == -np.inf] = np.inf
        m = np.where(passed, 1.0, -1.0) * np.exp(self.log_density(s) - log_p)
        u = self.tilt(s)
        second = m * (u - m)
        third = second * (u - m) + m * (self.bend(s) - second)
        if self.fail_slopes is not None:
            exact = self.fail_slopes(s)
            m, second, third = (
                np.where(passed, *pair) for pair in zip((m, second, third), exact, strict=True)
            )
        return m, second, third


def _logistic_log_density(s: Array) -> Array:
    distance = np.abs(s)
    log_density: Array = -distance - 2 * np.log1p(np.exp(-distance))
    return log_density


_LOGIT = Link(
    "logit",
    log_pass=special.log_expit,
    log_fail=lambda s: special.log_expit(-s),
    log_density=_logistic_log_density,
    tilt=lambda s: -np.tanh(s / 2),
    bend=lambda s: -2 * np.exp(_logistic_log_density(s)),
)

_PROBIT = Link(
    "probit",
    log_pass=special.log_ndtr,
    log_fail=lambda s: special.log_ndtr(-s),
    log_density=lambda s: -0.5 * s**2 - 0.5 * np.log(2 * np.pi),
    tilt=lambda s: -s,
    bend=lambda s: -np.ones_like(s),
)

# atan2 keeps full precision in the tail where 1/2 + atan(s)/pi would cancel.
_CAUCHIT = Link(
    "cauchit",
    log_pass=lambda s: np.log(np.arctan2(1.0, -s) / np.pi),
    log_fail=lambda s: np.log(np.arctan2(1.0, s) / np.pi),
    log_density=lambda s: -np.log(np.pi) - np.log1p(s**2),
    tilt=lambda s: -2 * s / (1 + s**2),
    bend=lambda s: 2 * (s**2 - 1) / (1 + s**2) ** 2,
)


# Beyond these S the outcome has probability 0 in double precision; the third power of a slope stays finite.
_EXP_CAP = 200.0
_LOG_CAP = -1e-100


def _capped_exp(s: Array) -> Array:
    return np.exp(np.minimum(s, _EXP_CAP))


_CLOGLOG = Link(
    "cloglog",
    # log F = s to machine precision long before exp(s) underflows near s = -745.
    log_pass=lambda s: np.log(-np.expm1(-_capped_exp(np.maximum(s, -700)))) + np.minimum(s + 700, 0),
    log_fail=lambda s: -_capped_exp(s),
    log_density=lambda s: np.minimum(s, _EXP_CAP) - _capped_exp(s),
    tilt=lambda s: 1 - _capped_exp(s),
    bend=lambda s: -_capped_exp(s),
    symmetric=False,
    fail_slopes=lambda s: (-_capped_exp(s),) * 3,
)


# F(s) = exp(s) below 0 and 1 from 0 on.
_LOG = Link(
    "log",
    log_pass=lambda s: np.minimum(s, 0.0),
    log_fail=lambda s: np.where(s < 0, np.log(-np.expm1(np.minimum(s, _LOG_CAP))), -np.inf),
    log_density=lambda s: np.where(s < 0, s, -np.inf),
    tilt=lambda s: np.where(s < 0, 1.0, 0.0),
    bend=np.zeros_like,
    symmetric=False,
    upper=0.0,
)

LINKS = {link.name: link for link in (_LOGIT, _PROBIT, _CAUCHIT, _CLOGLOG, _LOG)}


def get_link(name: str) -> Link:
    """The link of that name; an error that lists them where there is none."""
    return LINKS[choose("link", name, LINKS)]
