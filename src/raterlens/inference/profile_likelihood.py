"""Profile likelihood of a rater's capability: how far kappa can be moved before the ratings object.

    deviance(k) = 2 (max loglik - max {loglik : kappa_r = k})

A 95 % interval holds the k with a deviance below 3.84. It needs no standard errors and no normal approximation.

Where the yardstick is whoever discriminates best, kappa = T(a_r, eta_r) / Delta(max a) has a corner wherever two raters
change places. So the maximum is sought with one rater c as the yardstick and everybody else held at or below it, for
each c that could be, and the best of them counts. Coordinates are whitened by the information, in which the
likelihood is nearly a sphere: SLSQP then needs a handful of steps.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize, sparse

from raterlens.base.records import dataclass
from raterlens.base.types import Array
from raterlens.capability.index import Index
from raterlens.capability.yardstick import Measure
from raterlens.engine.protocol import Matrix, Nodes
from raterlens.inference.covariance import in_full
from raterlens.likelihood.marginal import FacetsMarginal
from raterlens.models.redundancy import redundancy

# Of the log-likelihood: a hundredth of what decides an interval's third digit.
_TOLERANCE = 1e-6
_MOST_STEPS = 60
# Raters this many standard errors below the top cannot come to be the yardstick.
_REACH = 4.0
# Of the ends of an interval.
_CLOSE = 5e-4


@dataclass(frozen=True, slots=True)
class Interval:
    low: float
    high: float
    points: Array
    """(points, 2): every kappa that was tried, and its deviance."""


@dataclass(frozen=True, slots=True, eq=False)
class Likelihood:
    """A fitted model in coordinates z in which its log-likelihood is about -z'z / 2."""

    problem: FacetsMarginal
    nodes: Nodes
    estimate: Array
    free: NDArray[np.int64]
    """Parameters that may move."""
    unwhiten: Array
    """(free parameters, z)"""
    top: float

    @staticmethod
    def of(
        problem: FacetsMarginal,
        nodes: Nodes,
        estimate: Array,
        information: Matrix,
        held: NDArray[np.bool_],
    ) -> "Likelihood":
        free = np.flatnonzero(~held)
        # Centred parameters only: along redundant directions the likelihood is flat, and severities would run away.
        centred = linalg.null_space(redundancy(problem.model, estimate, held).constraints[:, free])
        values, vectors = linalg.eigh(centred.T @ in_full(information)[np.ix_(free, free)] @ centred)
        scale = 1 / np.sqrt(np.maximum(values, 1e-8 * values.max()))
        top = problem.value(estimate, nodes).objective
        return Likelihood(problem, nodes, estimate, free, centred @ vectors * scale, top)

    def parameters(self, z: Array) -> Array:
        x = self.estimate.copy()
        x[self.free] += self.unwhiten @ z
        return x

    def through(self, z: Array) -> tuple[sparse.csr_array, sparse.csr_array]:
        """Derivatives of the slopes and of the severities in z."""
        model = self.problem.model
        jacobian = model.effect_jacobian(self.parameters(z))[:, self.free] @ self.unwhiten
        return jacobian[model.effects["slope"]], jacobian[model.effects["severity"]]

    def falls(self, z: Array) -> tuple[float, Array]:
        """How far below its maximum the log-likelihood is, and the gradient."""
        value = self.problem.value(self.parameters(z), self.nodes)
        return self.top - value.objective, -self.unwhiten.T @ value.gradient[self.free]


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """Of one rater's kappa."""

    likelihood: Likelihood
    rater: int
    index: Index
    origin: Measure
    yardstick: Measure | None
    """None where it is whoever discriminates best."""
    se: Array
    """Of all slopes."""
    reversible: bool = False

    def kappa(self) -> float:
        """At the maximum."""
        slope = self._slopes(np.zeros(self._size))[0]
        sigma = float(np.abs(slope).max()) if self.yardstick is None else self.yardstick.of(np.abs(slope))
        return float(self._kappa(np.zeros(self._size), self._of(sigma))[0])

    def deviance(self, kappa: float, near: Array | None = None) -> tuple[float, Array]:
        """Twice the fall of the log-likelihood where this rater has this kappa, and the z where it is."""
        start = np.zeros(self._size) if near is None else near
        found = [self._constrained(kappa, best, start) for best in self._yardsticks()]
        fall, z = min(found, key=lambda pair: pair[0])
        return 2 * max(fall, 0.0), z

    def interval(self, threshold: float, guess: tuple[float, float], bounds: tuple[float, float]) -> Interval:
        """Where the deviance reaches `threshold`, between bounds; `guess` saves steps."""
        centre = self.kappa()
        tried = {centre: 0.0}

        def excess(k: float) -> float:
            """In standard errors, nearly linear in k."""
            if k not in tried:
                tried[k] = self.deviance(k)[0]
            return float(np.sqrt(tried[k]) - np.sqrt(threshold))

        low, high = (_end(excess, centre, first, limit) for first, limit in zip(guess, bounds, strict=True))
        return Interval(low, high, np.array(sorted(tried.items())))

    # -- the constrained maximum ------------------------------------------------------------------------------

    @property
    def _size(self) -> int:
        return int(self.likelihood.unwhiten.shape[1])

    def _slopes(self, z: Array) -> tuple[Array, Array]:
        model = self.likelihood.problem.model
        effects = model.effects_at(self.likelihood.parameters(z))
        return effects[model.effects["slope"]], effects[model.effects["severity"]]

    def _of(self, sigma: float) -> Callable[[Array], tuple[float, Array]]:
        """A yardstick of this slope."""
        return lambda slopes: (sigma, np.zeros_like(slopes))

    def _yardsticks(self) -> Iterator[int | None]:
        """Raters who could be the yardstick; None where that is settled."""
        if self.yardstick is not None:
            yield None
            return
        slope = np.abs(self._slopes(np.zeros(self._size))[0])
        if np.ptp(slope) == 0:
            yield self.rater  # one slope for all
            return
        others = np.where(np.arange(len(slope)) == self.rater, -np.inf, slope)
        best, farthest = int(np.argmax(others)), int(np.argmax(others + 2 * self.se))
        yield from dict.fromkeys((best, farthest))
        if slope[self.rater] + _REACH * self.se[self.rater] > others[best] - _REACH * self.se[best]:
            yield self.rater

    def _kappa(self, z: Array, sigma_of: Callable[[Array], tuple[float, Array]]) -> tuple[float, Array]:
        """kappa and its gradient in z."""
        slopes, severities = self._slopes(z)
        by_slopes, by_severities = self.likelihood.through(z)
        r = self.rater
        sigma, of_slopes = sigma_of(slopes)
        a, eta = slopes[[r]], severities[[r]] - self.origin.of(severities)
        s = np.array([max(sigma, 1e-6)])
        gradient = self.index.gradient(a, eta, s)
        by = float(gradient.slope[0]) * by_slopes[r] + float(gradient.severity[0]) * (
            by_severities[r] - self.origin.weights @ by_severities
        )
        return float(self.index.kappa(a, eta, s)[0]), by + float(gradient.sigma[0]) * (of_slopes @ by_slopes)

    def _constrained(self, kappa: float, best: int | None, start: Array) -> tuple[float, Array]:
        slope = self._slopes(np.zeros(self._size))[0]
        sign = np.sign(slope)

        def sigma_of(slopes: Array) -> tuple[float, Array]:
            if best is None:
                assert self.yardstick is not None
                weights = self.yardstick.weights * sign
                return self.yardstick.constant + float(weights @ slopes), weights
            weights = np.eye(1, len(slopes), best)[0] * sign[best]
            return float(weights @ slopes), weights

        rows, limits = self._limits(slope, best)
        constraints = [
            {
                "type": "eq",
                "fun": lambda z: self._kappa(z, sigma_of)[0] - kappa,
                "jac": lambda z: self._kappa(z, sigma_of)[1],
            }
        ]
        if len(rows):
            constraints.append({"type": "ineq", "fun": lambda z: rows @ z - limits, "jac": lambda z: rows})
        found = optimize.minimize(
            self.likelihood.falls,
            start,
            jac=True,
            method="SLSQP",
            constraints=constraints,
            options={"ftol": _TOLERANCE, "maxiter": _MOST_STEPS},
        )
        missed = abs(self._kappa(found.x, sigma_of)[0] - kappa)
        if missed > 1e-4 or not np.isfinite(found.fun):
            return np.inf, start
        return float(found.fun), found.x

    def _limits(self, slope: Array, best: int | None) -> tuple[Array, Array]:
        """Rows of rows @ z >= limits: slopes near 0 stay above it, slopes near the yardstick's below that."""
        by_slopes, _ = self.likelihood.through(np.zeros(self._size))
        rows, limits = [], []
        if not self.reversible:
            for r in np.flatnonzero((slope < _REACH * self.se) | (np.arange(len(slope)) == self.rater)):
                rows.append(by_slopes[r])
                limits.append(-slope[r])
        if best is not None and np.ptp(slope) > 0:
            near = slope + 2 * _REACH * (self.se + self.se[best]) > slope[best]
            for r in np.flatnonzero(near):
                if r != best:
                    rows.append(by_slopes[best] - by_slopes[r])
                    limits.append(slope[r] - slope[best])
        return np.array(rows).reshape(-1, self._size), np.array(limits)


def _end(excess: Callable[[float], float], centre: float, guess: float, limit: float) -> float:
    """Where `excess` changes sign between the centre, where it is negative, and the limit."""
    if abs(limit - centre) < _CLOSE:
        return limit
    away = float(np.sign(limit - centre))
    inside, outside = centre, centre + away * min(max(abs(guess - centre), 10 * _CLOSE), abs(limit - centre))
    while excess(outside) < 0:
        if outside == limit:
            return limit
        inside, outside = outside, outside + away * min(abs(outside - centre) / 2, abs(limit - outside))
    return float(optimize.brentq(excess, inside, outside, xtol=_CLOSE))
