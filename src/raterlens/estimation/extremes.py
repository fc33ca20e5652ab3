"""Raters and items that only ever pass, or only fail, have no finite maximum likelihood estimate.

Each gets half a rating of the other kind, spread over its rater-item pairs and over the ability population, as
in the familiar half-count correction of a proportion. Nobody is dropped, everybody is flagged.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from raterlens.engine.seam import Nodes
from raterlens.models.facets import FacetsModel
from raterlens.models.parameters import Pairs
from raterlens.models.responses import Response
from raterlens.ratings import Ratings

Array = NDArray[np.float64]

HALF_A_RATING = 0.5
PSEUDO_NODES = Nodes.equally_spaced(-6.0, 6.0, 0.4)


@dataclass(frozen=True, slots=True)
class Pseudo:
    """(pairs, categories): pseudo-ratings, given to students of the whole population alike."""

    counts: Array

    def value(self, model: FacetsModel, response: Response, parameters: Array) -> tuple[float, Array]:
        """Their expected log-probability and its gradient."""
        if not self.counts.any():
            return 0.0, np.zeros(model.blocks.size)
        t = PSEUDO_NODES.points
        predictor = model.predictor(parameters)
        counts = self.spread()
        value = float(np.sum(counts * response.log_prob(predictor, t)))
        d_intercepts = np.einsum("jckq,ckq->cqj", response.scores(predictor, t), counts)
        return value, model.pullback(d_intercepts @ response.lever @ t, d_intercepts.sum(axis=1))

    def spread(self) -> Array:
        """(pairs, categories, nodes)"""
        return np.multiply.outer(self.counts, np.exp(PSEUDO_NODES.log_weights))


def pseudo_ratings(ratings: Ratings, pairs: Pairs, n_categories: int) -> Pseudo:
    """Half a rating of the other kind for every rater and item that is extreme."""
    top = n_categories - 1
    given = np.bincount(pairs.of_rating, minlength=len(pairs)).astype(float)
    total = np.bincount(pairs.of_rating, ratings.score, minlength=len(pairs))
    counts = np.zeros((len(pairs), n_categories))
    for level in (pairs.rater, pairs.item):
        n, score = np.bincount(level, given), np.bincount(level, total)
        share = HALF_A_RATING * given / n[level]
        counts[:, top] += np.where(score[level] == 0, share, 0.0)
        counts[:, 0] += np.where(score[level] == top * n[level], share, 0.0)
    return Pseudo(counts)
