"""Marks on a fine scale, such as percentages: normal around a mean that rises with ability."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from raterlens.base.arrays import Array
from raterlens.capability.curves import MarkCurve
from raterlens.models.responses import Predictor, Response

# Of a standard normal distribution.
_POINTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(41)
_WEIGHTS /= _WEIGHTS.sum()


@dataclass(frozen=True, slots=True, eq=False)
class Marks(Response):
    """Marks on a fine scale, normal around a mean that rises with ability: y ~ N(a t + e_1, exp(e_2)^2).

    Marks are counted from the middle of their scale, in units of a sixth of it, so that slopes, severities and noise
    are of the size that they have in logits. Log-probabilities are logarithms of densities, per mark of the file.
    """

    step: float
    """Between neighbouring marks of the file."""
    highest: float
    """Highest mark of the scale that units are counted on."""
    n_categories: int

    @staticmethod
    def of(n_categories: int, step: float) -> "Marks":
        return Marks(step, step * (n_categories - 1), n_categories)

    @property
    def lever(self) -> Array:
        return np.array([1.0, 0.0])

    @property
    def probabilities(self) -> bool:
        """Whether marks are probabilities, fractions from 0 to 1: they are normal as log-odds."""
        return self.step < 1 and self.highest <= 1

    @property
    def link(self) -> str:
        """From the predictor to a mark."""
        return "logit" if self.probabilities else "identity"

    @property
    def unit(self) -> float:
        """Marks in a unit of the model; of probabilities, log-odds."""
        return 1.0 if self.probabilities else self.highest / 6

    @property
    def least_noise(self) -> float:
        """The noise of marks that are exact but for being rounded to the scale, in units."""
        slope = 4.0 if self.probabilities else 1.0  # of log-odds, at a half
        return slope * self.step / (self.unit * float(np.sqrt(12)))

    @property
    def values(self) -> Array:
        """(marks,): in units from the middle."""
        return self.counted(self.step * np.arange(float(self.n_categories)))

    def counted(self, mark: Array) -> Array:
        """Marks of the file in units from the middle."""
        if not self.probabilities:
            return np.asarray((mark - self.highest / 2) / self.unit)
        inside = np.clip(mark, self.step / 2, 1 - self.step / 2)
        return np.asarray(np.log(inside) - np.log1p(-inside))

    def from_middle(self, value: float) -> float:
        """A mark in units from the middle as the file has it; of probabilities, log-odds."""
        return value if self.probabilities else self.highest / 2 + self.unit * value

    def curve(self, noise: float | Array) -> MarkCurve:
        """How marks with this noise, in units, follow their mean."""
        values, span = self.values, self.highest / self.unit
        return MarkCurve((values[1:] + values[:-1]) / 2, noise, span)

    def chances(self, predictor: Predictor, t: Array) -> Array:
        reached = self.curve(self._noise(predictor)[:, None]).cumulative(self._mean(predictor, t))[0]
        ends = np.zeros((1, *reached.shape[1:]))
        return np.moveaxis(-np.diff(reached, axis=0, prepend=1 + ends, append=ends), 0, 1)

    def mean(self, predictor: Predictor, t: Array) -> Array:
        """It may lie beyond the ends of the scale, but for probabilities."""
        mean, noise = self._mean(predictor, t), self._noise(predictor)[:, None]
        if not self.probabilities:
            return self.curve(noise).mean(mean) * (self.n_categories - 1)
        share = sum(w * special.expit(mean + noise * x) for x, w in zip(_POINTS, _WEIGHTS, strict=True))
        return np.asarray(share * (self.n_categories - 1))

    def reach(self, predictor: Predictor) -> Array:
        return np.asarray(np.abs(predictor.slope) / self._noise(predictor))

    def log_prob(self, predictor: Predictor, t: Array) -> Array:
        constant = predictor.intercepts[:, 1] + np.log(2 * np.pi) / 2 + np.log(self.unit)
        return np.asarray(-(self._residuals(predictor, t) ** 2) / 2 - constant[:, None, None])

    def scores(self, predictor: Predictor, t: Array) -> Array:
        off = self._residuals(predictor, t)
        return np.stack([off / self._noise(predictor)[:, None, None], off**2 - 1])

    def counted_scores(self, predictor: Predictor, t: Array, counts: Array) -> Array:
        n, first, second = self._sums(predictor, t, counts)
        return np.stack([first / self._noise(predictor)[:, None], second - n], axis=-1)

    def curvature(self, predictor: Predictor, t: Array, counts: Array) -> Array:
        n, first, second = self._sums(predictor, t, counts)
        noise = self._noise(predictor)[:, None]
        found = np.empty((*n.shape, 2, 2))
        found[..., 0, 0], found[..., 1, 1] = -n / noise**2, -2 * second
        found[..., 0, 1] = found[..., 1, 0] = -2 * first / noise
        return found

    def _sums(self, predictor: Predictor, t: Array, counts: Array) -> tuple[Array, Array, Array]:
        """(contexts, nodes) each: marks counted, and the sums of their residuals and of the squares of these."""
        powers = np.stack([np.ones(self.n_categories), self.values, self.values**2])
        n, total, squares = np.tensordot(powers, counts, (1, 1))
        mean, noise = self._mean(predictor, t), self._noise(predictor)[:, None]
        return n, (total - n * mean) / noise, (squares - 2 * mean * total + n * mean**2) / noise**2

    def _residuals(self, predictor: Predictor, t: Array) -> Array:
        """(contexts, marks, nodes): in units of the noise."""
        off = self.values[:, None] - self._mean(predictor, t)[:, None]
        off /= self._noise(predictor)[:, None, None]
        return off

    @staticmethod
    def _mean(predictor: Predictor, t: Array) -> Array:
        return np.asarray(np.multiply.outer(predictor.slope, t) + predictor.intercepts[:, :1])

    @staticmethod
    def _noise(predictor: Predictor) -> Array:
        return np.exp(predictor.intercepts[:, 1])
