"""The marginal log-likelihood of a facets model and its exact gradient, through an engine."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from raterlens.engine.compress import Essays, essays, rating_cells
from raterlens.engine.reference import ReferenceEngine
from raterlens.engine.seam import Engine, Expected, Nodes, Tables
from raterlens.estimation.extremes import Pseudo
from raterlens.models.facets import FacetsModel
from raterlens.models.responses import Adjacent, Response
from raterlens.ratings import Ratings

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Value:
    """An objective at its parameters."""

    loglik: float
    """Of the data alone."""
    objective: float
    """With the half rating that extreme raters and items get: what is maximised."""
    gradient: Array
    """Of the objective."""


class Marginal(Protocol):
    """A model on data: the marginal log-likelihood, its gradient, and what the engine needs for posteriors."""

    engine: Engine

    def tables(self, parameters: Array, nodes: Nodes) -> Tables: ...

    def value(self, parameters: Array, nodes: Nodes) -> Value: ...

    def pair_counts(self, expected: Expected) -> Array:
        """(pairs, categories or 1, nodes): expected ratings of each pair at each node."""


class CellMarginal:
    """Any response: a cell is a rater-item pair with a score."""

    def __init__(self, ratings: Ratings, model: FacetsModel, response: Response, pseudo: Pseudo) -> None:
        self.model, self.response, self.pseudo = model, response, pseudo
        self.engine = ReferenceEngine(rating_cells(ratings, model.pairs, response.n_categories))

    def tables(self, parameters: Array, nodes: Nodes) -> Tables:
        log_prob = self.response.log_prob(self.model.predictor(parameters), nodes.points)
        return Tables(log_prob.reshape(-1, len(nodes.points)))

    def pair_counts(self, expected: Expected) -> Array:
        return expected.counts.reshape(len(self.model.pairs), self.response.n_categories, -1)

    def value(self, parameters: Array, nodes: Nodes) -> Value:
        predictor = self.model.predictor(parameters)
        expected = self.engine.evaluate(self.tables(parameters, nodes), nodes)
        scores = self.response.scores(predictor, nodes.points)
        d_intercepts = np.einsum("jckq,ckq->cqj", scores, self.pair_counts(expected))
        return _finish(self, parameters, expected.loglik, d_intercepts, nodes)


class EssayMarginal:
    """Adjacent-category logits: a cell is a student's ratings by one rater, whatever their number."""

    def __init__(self, ratings: Ratings, model: FacetsModel, response: Adjacent, pseudo: Pseudo) -> None:
        self.model, self.response, self.pseudo = model, response, pseudo
        self._essays: Essays = essays(ratings, model.pairs, model.slope_of_pair)
        self.engine = ReferenceEngine(self._essays.counts, self._essays.sums)
        k = response.n_categories
        cell = model.pairs.of_rating * k + ratings.score
        # Ratings of each pair with each score above zero: the part of the log-likelihood without ability.
        self._totals = np.bincount(cell, minlength=len(model.pairs) * k).reshape(-1, k)[:, 1:].astype(float)
        _, self._shown_by = np.unique(model.slope_of_pair, return_index=True)

    def tables(self, parameters: Array, nodes: Nodes) -> Tables:
        predictor = self.model.predictor(parameters)
        partition = self.response.log_partition(predictor, nodes.points)
        return Tables(-(self._essays.sets @ partition), predictor.slope[self._shown_by])

    def pair_counts(self, expected: Expected) -> Array:
        return np.asarray(self._essays.sets.T @ expected.counts)[:, None]

    def value(self, parameters: Array, nodes: Nodes) -> Value:
        predictor = self.model.predictor(parameters)
        expected = self.engine.evaluate(self.tables(parameters, nodes), nodes)
        loglik = expected.loglik + float(np.sum(self._totals * predictor.intercepts))
        counts = self.pair_counts(expected)
        d_intercepts = -(counts * self.response.probabilities(predictor, nodes.points)).transpose(0, 2, 1)
        d_slope = np.zeros(len(self.model.pairs))
        d_slope[self._shown_by] = expected.linear
        return _finish(self, parameters, loglik, d_intercepts, nodes, d_slope, self._totals)


def _finish(
    problem: "FacetsMarginal",
    parameters: Array,
    loglik: float,
    d_intercepts: Array,
    nodes: Nodes,
    d_slope: Array | float = 0.0,
    d_constant: Array | float = 0.0,
) -> Value:
    """Sum derivatives (pairs, nodes, intercepts) over nodes, take them to the parameters, add the pseudo-ratings."""
    slope = d_slope + d_intercepts @ problem.response.lever @ nodes.points
    gradient = problem.model.pullback(slope, d_intercepts.sum(axis=1) + d_constant)
    extra, extra_gradient = problem.pseudo.value(problem.model, problem.response, parameters)
    return Value(loglik, loglik + extra, gradient + extra_gradient)


FacetsMarginal = CellMarginal | EssayMarginal


def marginal(ratings: Ratings, model: FacetsModel, response: Response, pseudo: Pseudo) -> FacetsMarginal:
    """The cheapest form of the marginal likelihood that the response allows."""
    if isinstance(response, Adjacent):
        return EssayMarginal(ratings, model, response, pseudo)
    return CellMarginal(ratings, model, response, pseudo)
