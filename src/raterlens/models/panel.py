"""Raters on reference rows, whatever the model: what was estimated of them, and the scores they can be expected to
give."""

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.capability.population import over_readings
from raterlens.capability.yardstick import LARGEST_SLOPE, may_set_yardstick
from raterlens.models.responses import Predictor, Response


class Covarying(Protocol):
    """A covariance matrix, or what can be asked like one: its product with a vector, and its diagonals."""

    def __matmul__(self, right: Array, /) -> Any: ...

    def diagonal(self, k: int = 0, /) -> Any: ...


@dataclass(frozen=True, slots=True)
class PanelSpread:
    """How much raters differ: what is reported of s and v."""

    mean_slope: float
    slope: float | None
    """s, the spread of slopes; None where all raters share one slope."""
    slope_low: float | None
    slope_high: float | None
    severity: float
    """v, the spread of severities."""
    severity_low: float | None
    severity_high: float | None
    largest: float = 0.0
    """The largest slope, on average over what is known of all of them."""
    slope_p: float | None = None
    """p value of equal slopes, by a likelihood ratio without the prior; None where there is none."""
    severity_p: float | None = None
    """p value of equal severities."""


@dataclass(frozen=True, slots=True, eq=False)
class SlopeLimits:
    """95 % limits of each rater's slope by profile likelihood."""

    low: Array
    high: Array
    severity_low: Array
    """By how much the severity differs from its estimate where the slope is at its lower limit; from the average."""
    severity_high: Array

    @property
    def severity_unheld(self) -> Array:
        """(raters,): by how much the severity differs where a slope that ran to a limit is at its other one; else 0."""
        either = np.where(self.severity_low == 0, self.severity_high, self.severity_low)
        return np.where((self.severity_low == 0) | (self.severity_high == 0), either, 0.0)

    def of(self, rows: slice | Indices) -> "SlopeLimits":
        return SlopeLimits(self.low[rows], self.high[rows], self.severity_low[rows], self.severity_high[rows])

    def stretched(self, stretch: float) -> "SlopeLimits":
        """On an item with this slope."""
        return replace(self, low=stretch * self.low, high=stretch * self.high)


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """Raters' slopes and severities with their uncertainty."""

    slope: Array
    severity: Array
    """As it enters the predictor, not centred."""
    covariance: Covarying | None
    """(2 raters, 2 raters): of the slopes, then the severities; None where it was not computed."""
    falling: Array
    """How fast the log-likelihood falls as a slope that is held at 0 rises."""
    ran: Mask | None = None
    """Raters whose slope or severity ran to its limit; None: those whose slope is as large as may be."""
    apart: Mask | None = None
    """Raters in a small group that shares no student with the rest; None: nobody."""
    halo: Array | None = None
    """Variances of the reading effect; None where the model has none."""
    halo_covariance: Covarying | None = None
    """(raters, 3 raters): of these variances with the slopes, the severities and each other."""
    largest: float | None = None
    """Where raters were fitted as a sample of raters: the largest slope, on average over what is known of them."""
    extreme: Mask | None = None
    """Raters who gave only the lowest, or only the highest score: how severe they are has no end."""
    limits: SlopeLimits | None = None
    """How far slopes could be from their estimates, where that was looked for."""

    @property
    def at_limit(self) -> Mask:
        return np.asarray(np.abs(self.slope) >= LARGEST_SLOPE) if self.ran is None else self.ran

    @property
    def aside(self) -> Mask:
        """Who does not count in the average rater."""
        found = self.at_limit.copy()
        for some in (self.apart, self.extreme):
            found |= False if some is None else some
        return found

    @property
    def candidates(self) -> Mask:
        """Who may set the yardstick."""
        return may_set_yardstick(self.slope, self.at_limit, self.apart)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Ratings that raters could give on items, as a calibrated model has them."""

    predictor: Predictor
    response: Response
    halo: Array
    """(rows,): variances of the reading effect."""

    def chances(self, theta: Array, less: float = 0.0) -> Array:
        """(rows, categories, abilities): probabilities of the scores; `less`: taken off the predictor."""
        return over_readings(
            lambda shift: self.response.chances(self._shifted(shift - less), theta), self.halo
        )

    def mean_of(self, row: NDArray[np.integer], theta: Array, less: float = 0.0) -> Array:
        """(ratings,): expected scores of ratings, each of a row and of a student of this ability."""
        reach = self.predictor.slope[row] * theta - less
        return over_readings(
            lambda shift: self.response.mean_of(self.predictor, row, reach + shift), self.halo[row]
        )

    def given_impressions(self, u: Array) -> "Rows":
        """Each row once for every impression, which is no longer averaged over."""
        n = len(u)
        repeated = Predictor(
            np.repeat(self.predictor.slope, n), np.repeat(self.predictor.intercepts, n, axis=0)
        )
        shift = np.multiply.outer(np.sqrt(self.halo), u).ravel()
        return Rows(repeated.shifted(shift, self.response.lever), self.response, np.zeros(len(shift)))

    def of(self, some: slice) -> "Rows":
        """These rows alone."""
        predictor = Predictor(self.predictor.slope[some], self.predictor.intercepts[some])
        return Rows(predictor, self.response, self.halo[some])

    def _shifted(self, amount: Array | float) -> Predictor:
        every = np.broadcast_to(amount, len(self.predictor.slope))
        return self.predictor.shifted(every, self.response.lever)
