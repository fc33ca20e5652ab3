"""Raters and items that only ever pass, or only fail, have no finite maximum likelihood estimate.

Each gets half a rating of the other kind, spread over its contexts and over the ability population, as
in the familiar half-count correction of a proportion. Nobody is dropped, everybody is flagged.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array
from raterlens.likelihood.derivatives import context_curvature
from raterlens.likelihood.nodes import Nodes
from raterlens.models.facets import FacetsModel
from raterlens.models.responses import Predictor, Response

HALF_A_RATING = 0.5
PSEUDO_NODES = Nodes.equally_spaced(-6.0, 6.0, 0.4)


@dataclass(frozen=True, slots=True)
class Pseudo:
    """(contexts, categories): pseudo-ratings, given to students of the whole population alike."""

    counts: Array
    scale_held: float = 0.0
    """How strongly the mean of the log item slopes is held at 0. Raters' slopes can make up for any other mean, so that
    this costs nothing; without it bounds would be on a scale that drifts."""

    def value(self, model: FacetsModel, response: Response, parameters: Array) -> tuple[float, Array]:
        """Their expected log-probability and its gradient."""
        value, gradient = self._ratings(model, response, parameters)
        if self.scale_held:
            items = model.blocks["item_slope"]
            mean = float(parameters[items].mean())
            value -= self.scale_held * mean**2 / 2
            gradient[items] -= self.scale_held * mean / model.contexts.n_items
        return value, gradient

    def _ratings(self, model: FacetsModel, response: Response, parameters: Array) -> tuple[float, Array]:
        t = PSEUDO_NODES.points
        # Nearly always there are none: one look at all numbers, and none at every row.
        if not self.counts.any():
            return 0.0, np.zeros(model.blocks.size)
        rows = np.flatnonzero(self.counts.any(axis=1))
        whole = model.predictor(parameters)
        predictor = Predictor(whole.slope[rows], whole.intercepts[rows])
        counts = np.multiply.outer(self.counts[rows], np.exp(PSEUDO_NODES.log_weights))
        value = float(np.sum(counts * response.log_prob(predictor, t)))
        at_nodes = response.counted_scores(predictor, t, counts)
        d_slope, d_intercepts = np.zeros_like(whole.slope), np.zeros_like(whole.intercepts)
        d_slope[rows], d_intercepts[rows] = at_nodes @ response.lever @ t, at_nodes.sum(axis=1)
        return value, model.pullback(parameters, d_slope, d_intercepts)

    def curvature(self, model: FacetsModel, response: Response, parameters: Array) -> sparse.csr_array:
        """(parameters, parameters): second derivatives of their expected log-probability."""
        if not self.counts.any():
            return sparse.csr_array((model.blocks.size, model.blocks.size))
        counts, predictor, jacobian = self.spread(), model.predictor(parameters), model.jacobian(parameters)
        at_nodes = response.counted_scores(predictor, PSEUDO_NODES.points, counts)
        d_slope, d_intercepts = at_nodes @ response.lever @ PSEUDO_NODES.points, at_nodes.sum(axis=1)
        second = jacobian.T @ context_curvature(response, predictor, PSEUDO_NODES, counts) @ jacobian
        return sparse.csr_array(second + model.second(parameters, d_slope, d_intercepts))

    def spread(self) -> Array:
        """(contexts, categories, nodes)"""
        return np.multiply.outer(self.counts, np.exp(PSEUDO_NODES.log_weights))


def pseudo_ratings(model: FacetsModel, n_categories: int, *, raters: bool = True) -> Pseudo:
    """Half a rating of the other kind for every extreme level, and of each score up to its highest that an item with
    thresholds of its own never got.

    Without `raters` for items and facets only: a prior keeps the raters' estimates finite.
    """
    contexts, every = model.contexts, np.arange(len(model.contexts))
    top = np.full(len(contexts), n_categories - 1)
    per_item = model.thresholds is not None and model.thresholds.n_scales > 1
    if model.thresholds is not None and per_item:
        top[: model.n_rated] = model.thresholds.highest[contexts.item[: model.n_rated]]
    seen = contexts.counts(n_categories)
    given, total = seen.sum(axis=1), seen @ np.arange(n_categories)
    counts = np.zeros_like(seen)
    for level in (*((contexts.rater,) if raters else ()), contexts.item, *contexts.facets):
        n, score, most = (np.bincount(level, each)[level] for each in (given, total, given * top))
        share = HALF_A_RATING * given / n
        counts[every, top] += np.where(score == 0, share, 0.0)
        counts[:, 0] += np.where(score == most, share, 0.0)
    if per_item:
        share = HALF_A_RATING * given / np.bincount(contexts.item, given)[contexts.item]
        for k in range(n_categories):
            never = (np.bincount(contexts.item, seen[:, k])[contexts.item] == 0) & (k <= top)
            counts[:, k] += np.where(never, share, 0.0)
    return Pseudo(counts)
