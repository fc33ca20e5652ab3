"""A response averaged over the reading effect: what a single score is like, whatever the impression of its reading."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from raterlens.base.arrays import Array
from raterlens.capability.population import READINGS
from raterlens.models.responses import Predictor, Response


@dataclass(frozen=True, slots=True)
class AveragedResponse(Response):
    """P(y | t) = E_u[P(y | t, u)], where the intercepts vary by `spread` times u."""

    response: Response
    spread: Array
    """(contexts,)"""

    @property
    def n_categories(self) -> int:
        return self.response.n_categories

    @property
    def lever(self) -> Array:
        return self.response.lever

    def log_prob(self, predictor: Predictor, t: Array) -> Array:
        logs = [np.log(w) + self.response.log_prob(self._at(predictor, u), t) for u, w in _rule()]
        return np.asarray(special.logsumexp(np.stack(logs), axis=0))

    def scores(self, predictor: Predictor, t: Array) -> Array:
        whole = self.log_prob(predictor, t)
        found = np.zeros((len(self.lever), *whole.shape))
        for u, w in _rule():
            at = self._at(predictor, u)
            share = w * np.exp(self.response.log_prob(at, t) - whole)
            found += share * self.response.scores(at, t)
        return found

    def _at(self, predictor: Predictor, u: float) -> Predictor:
        return predictor.shifted(u * self.spread, self.lever)


def _rule() -> list[tuple[float, float]]:
    return [(float(u), float(w)) for u, w in zip(*READINGS, strict=True)]
