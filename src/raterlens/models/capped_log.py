"""Pass or fail through the log link: P(y = 1) = exp(S), capped at 1 where S exceeds 0.

Ability is unbounded, so S always exceeds 0 for the ablest students. The likelihood of a capped exponential has a
corner there, which a sum over ability nodes turns into steps of its gradient; averaged over a short stretch of
S, the corner is round and the likelihood smooth enough for the optimiser and for standard errors.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from raterlens.base.arrays import Array
from raterlens.capability.links import get_link
from raterlens.models.responses import Linked, Predictor, Response

CORNER = 0.02
"""Stretch of S over which the corner is rounded. Rounding moves estimates by some hundredths of a standard error at
most; it would change the log-likelihood itself by more than that matters, so what is reported is `sharp`."""

# A fail is impossible beyond the corner. This log-probability keeps steps of the optimiser there finite, and low.
_IMPOSSIBLE = -500.0


@dataclass(frozen=True, slots=True)
class Capped(Response):
    """P(y = 1) = F(a t + e), F the average of min(exp, 1) over CORNER.

    With v = w / 2 - s the distance from the end of the corner, of width w:

        1 - F = 1 - exp(s) sinh(w / 2) / (w / 2)   (v >= w),      (v - 1 + exp(-v)) / w   (0 < v < w)
    """

    cornered = True

    @property
    def n_categories(self) -> int:
        return 2

    @property
    def lever(self) -> Array:
        return np.ones(1)

    def log_prob(self, predictor: Predictor, t: Array) -> Array:
        _, failed, _, _ = self._parts(predictor, t)
        s = _predict(predictor, t)
        log_pass = np.where(_straight(s), s + np.log(_EXCESS), np.log1p(-np.minimum(failed, 0.5)))
        with np.errstate(divide="ignore"):
            return np.stack([np.maximum(np.log(failed), _IMPOSSIBLE), log_pass], axis=1)

    def scores(self, predictor: Predictor, t: Array) -> Array:
        passed, failed, density, _ = self._parts(predictor, t)
        return np.stack([-_ratio(density, failed), _ratio(density, passed)], axis=1)[None]

    def curvature(self, predictor: Predictor, t: Array, counts: Array) -> Array:
        passed, failed, density, rise = self._parts(predictor, t)
        of_fail = -_ratio(rise, failed) - _ratio(density, failed) ** 2
        of_pass = _ratio(rise, passed) - _ratio(density, passed) ** 2
        return (counts[:, 0] * of_fail + counts[:, 1] * of_pass)[..., None, None]

    @staticmethod
    def sharp(predictor: Predictor, t: Array) -> Array:
        """(contexts, categories, nodes): log-probabilities with the corner as it is."""
        log_prob = Linked(get_link("log")).log_prob(predictor, t)
        return np.maximum(log_prob, _IMPOSSIBLE)

    @staticmethod
    def _parts(predictor: Predictor, t: Array) -> tuple[Array, Array, Array, Array]:
        """(contexts, nodes): F, 1 - F, F' and F''."""
        s, w = _predict(predictor, t), CORNER
        below = np.exp(np.minimum(s, -w / 2)) * _EXCESS
        v = np.clip(w / 2 - s, 0.0, w)
        # v - 1 + exp(-v) without cancellation: v^2 / 2 - v^3 / 6 + v^4 / 24 .., for v <= CORNER.
        corner = v**2 * (1 / 2 - v * (1 / 6 - v * (1 / 24 - v / 120))) / w
        straight, inside = _straight(s), s < w / 2
        failed = np.where(straight, 1 - below, corner)
        density = np.where(straight, below, -np.expm1(-v) / w)
        rise = np.where(straight, below, np.where(inside, -np.exp(-v) / w, 0.0))
        return np.where(straight, below, 1 - corner), failed, density, rise


_EXCESS = float(np.sinh(CORNER / 2) / (CORNER / 2))


def _predict(predictor: Predictor, t: Array) -> Array:
    return np.multiply.outer(predictor.slope, t) + predictor.intercepts


def _straight(s: Array) -> NDArray[np.bool_]:
    """Where the average is over an exponential alone."""
    return s <= -CORNER / 2


def _ratio(numerator: Array, probability: Array) -> Array:
    """Over a probability; 0 where that vanishes, since no posterior weight is there."""
    return np.divide(numerator, probability, out=np.zeros_like(probability), where=probability > 0)
