"""The marginal likelihood with a reading effect (halo): what all scores of a student by a rater share besides ability.

    S = a_r theta - b_r - delta_i + tau_r u,      u ~ N(0, 1), one for each reading

A reading is one cell, its log-probability at an ability the logarithm of an average over u. With adjacent-category
logits and no item slopes it depends on the scores through their sum alone, so a kind of reading is a set of items with
a sum; otherwise it is a pattern of scores. Engines see cells as always.

The parameters are the variances tau^2: by symmetry the likelihood is level at tau = 0 in tau, but not in tau^2.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from raterlens.engine.cells import Kinds, readings
from raterlens.engine.protocol import Nodes, Tables
from raterlens.engine.selection import kind_engine
from raterlens.estimation.extremes import Pseudo
from raterlens.estimation.marginal import Derivatives, FacetsMarginal
from raterlens.models.facets import FacetsModel
from raterlens.models.responses import Adjacent, Predictor, Response, counted_scores
from raterlens.ratings.coded import Ratings
from raterlens.types import Array, Indices

if TYPE_CHECKING:
    from distributed import Client

# The smallest spread that is told from 0: its likelihood differs by less than rounding of the grid does.
LEAST_SPREAD = 1e-4
# Of the rule in u: how far it goes, its step for a posterior as wide as the prior (the log-likelihood is then off by
# about 1e-10, relative), and its most nodes.
_REACH, _WIDEST, _MOST = 7.0, 0.95, 129
# Bounds of the information of a rating about u: of adjacent logits (for each unit of score, squared), and of any link.
_LOGISTIC, _ANY = 0.25, 0.65
# Numbers that are kept between the tables and their derivatives: 256 MB.
_KEPT = 2**25
# A reading less likely than this at a node is as good as impossible there.
_IMPOSSIBLE = -1e5


@dataclass(frozen=True, slots=True)
class Shares:
    """What one value of u has to do with every kind of reading at every node of ability."""

    u: float
    predictor: Predictor
    """Of the contexts, with the reading effect in their intercepts."""
    share: Array
    """(kinds, nodes): probability of this u, given the reading and ability."""


class Averaged:
    """Log-probabilities of the kinds of readings, averaged over u."""

    def __init__(self, problem: "HaloMarginal", parameters: Array, nodes: Nodes, least: float) -> None:
        self._problem, self._t = problem, nodes.points
        self.predictor = problem.model.predictor(parameters)
        self.spread = np.sqrt(np.maximum(problem.model.halo_variances(parameters), least**2))
        self._u, self._log_weights = problem.rule(float(self.spread.max()))
        kept = len(problem.kinds.keys) * len(self._t) * len(self._u) <= _KEPT
        self._logs = [self._log(u, w) for u, w in self._weighted()] if kept else None
        self.table = np.full((len(problem.kinds.keys), len(self._t)), -np.inf)
        if self._logs is not None:
            self.table = _log_of_sum(self._logs)
        else:
            for u, w in self._weighted():
                np.logaddexp(self.table, self._log(u, w), out=self.table)
        np.maximum(self.table, _IMPOSSIBLE, out=self.table)

    def __iter__(self) -> Iterator[Shares]:
        for place, (u, weight) in enumerate(self._weighted()):
            log = self._log(u, weight) if self._logs is None else self._logs[place]
            share = log - self.table
            yield Shares(u, self._shifted(u), np.exp(share, out=share))

    def _weighted(self) -> Iterator[tuple[float, float]]:
        return zip(self._u.tolist(), self._log_weights.tolist(), strict=True)

    def _log(self, u: float, log_weight: float) -> Array:
        """(kinds, nodes): log of the probability of a reading, times the weight of u."""
        problem, shifted = self._problem, self._shifted(u)
        if not problem.by_total:
            log_prob = problem.response.log_prob(shifted, self._t).reshape(-1, len(self._t))
            log = problem.kinds.members @ log_prob
        else:
            assert isinstance(problem.response, Adjacent)
            partition = problem.item_sets @ problem.response.log_partition(shifted, self._t)
            reach = np.multiply.outer(self.predictor.slope[problem.example], self._t)
            reach += u * self.spread[problem.rater][:, None]
            reach *= problem.kinds.total[:, None]
            log = reach - partition[problem.set_of_kind]
        log += log_weight
        return np.asarray(log)

    def _shifted(self, u: float) -> Predictor:
        model = self._problem.model
        return self.predictor.shifted(u * self.spread[model.contexts.rater], model.lever)


class HaloMarginal(FacetsMarginal):
    """A facets model with a reading effect on data."""

    def __init__(
        self,
        ratings: Ratings,
        model: FacetsModel,
        response: Response,
        pseudo: Pseudo,
        client: "Client | None" = None,
    ) -> None:
        super().__init__(model, response, pseudo)
        self.by_total = isinstance(response, Adjacent) and not model.item_slopes
        grouping = partial(
            readings, n_categories=response.n_categories, by_total=self.by_total, everyone=model.smooth
        )
        self.engine, self.kinds = kind_engine(ratings, model.contexts, grouping, client, pieces=model.pieces)
        self.example = self._contexts_of(self.kinds)
        """(kinds,): one of its contexts."""
        self.rater = model.contexts.rater[self.example]
        self.item_sets, self.set_of_kind = _item_sets(self.kinds.members)
        self._of_set = sparse.csr_array(
            (np.ones(len(self.rater)), (self.set_of_kind, np.arange(len(self.rater)))),
            shape=(self.item_sets.shape[0], len(self.rater)),
        )

    def averaged(self, parameters: Array, nodes: Nodes, least: float = LEAST_SPREAD) -> Averaged:
        return Averaged(self, parameters, nodes, least)

    def tables(self, parameters: Array, nodes: Nodes) -> Tables:
        averaged = self.averaged(parameters, self.inner(parameters, nodes))
        return self.peopled(Tables(averaged.table), parameters, nodes)

    def derivatives(self, parameters: Array, nodes: Nodes) -> Derivatives:
        inner = self.inner(parameters, nodes)
        averaged = self.averaged(parameters, inner)
        expected, everyone = self.evaluated(self.peopled(Tables(averaged.table), parameters, nodes), nodes)
        found = self.collected(averaged, expected.loglik, expected.counts, inner)
        return replace(found, everyone=everyone, d_piece=expected.d_piece)

    def collected(self, averaged: Averaged, loglik: float, counts: Array, nodes: Nodes) -> Derivatives:
        """The derivatives by Fisher's identity, from the expected readings of each kind at each node."""
        t, contexts, lever = nodes.points, self.model.contexts, self.response.lever
        n, steps, total = len(contexts), len(lever), self.kinds.total
        d_slope, d_intercepts, d_spread = np.zeros(n), np.zeros((n, steps)), np.zeros(contexts.n_raters)
        seen = np.zeros((n, 1 if self.by_total else self.response.n_categories, len(t)))
        for at in averaged:
            weighted = counts * at.share
            given = self.expected_ratings(weighted)
            seen += given
            if self.by_total:
                assert isinstance(self.response, Adjacent)
                at_nodes = (
                    -self.response.probabilities(at.predictor, t).transpose(0, 2, 1) * given[:, 0, :, None]
                )
                d_spread += at.u * np.bincount(self.rater, total * weighted.sum(axis=1), contexts.n_raters)
            else:
                at_nodes = counted_scores(self.response, at.predictor, t, given)
            by_base = at_nodes @ lever
            d_intercepts += at_nodes.sum(axis=1)
            d_slope += by_base @ t
            d_spread += at.u * np.bincount(contexts.rater, by_base.sum(axis=1), contexts.n_raters)
        if self.by_total:
            given_scores = self.kinds.given[:, 1:]
            loglik += float(np.sum(given_scores * averaged.predictor.intercepts))
            d_intercepts += given_scores
            d_slope += np.bincount(self.example, total * (counts @ t), n)
        return Derivatives(loglik, d_slope, d_intercepts, seen, d_spread / (2 * averaged.spread))

    def expected_ratings(self, weighted: Array) -> Array:
        """(contexts, categories or 1, nodes): ratings in readings of these kinds."""
        rows = self.item_sets.T @ (self._of_set @ weighted)
        return np.asarray(rows).reshape(len(self.model.contexts), -1, weighted.shape[1])

    def rule(self, spread: float) -> tuple[Array, Array]:
        """Nodes and log weights for u: a trapezoidal rule, fine enough for the largest spread and the longest reading.

        The steps are powers of the square root of 2, so that the rule stays as it is where a spread changes a little.
        """
        most = self.response.n_categories - 1
        each = _LOGISTIC * most**2 if isinstance(self.response, Adjacent) else _ANY
        told = each * float(np.max(self.kinds.members.sum(axis=1)))
        width = min(1 / np.sqrt(1 + spread**2 * told), 1 / max(most * spread, 1.0))
        halvings = np.ceil(-2 * np.log2(width) - 1e-9)
        step = max(_WIDEST * 2 ** (-halvings / 2), 2 * _REACH / (_MOST - 1))
        points = np.arange(-np.ceil(_REACH / step), np.ceil(_REACH / step) + 1) * step
        return points, -0.5 * points**2 - 0.5 * np.log(2 * np.pi) + np.log(step)

    def _contexts_of(self, kinds: Kinds) -> Indices:
        row = kinds.members.indices[kinds.members.indptr[:-1]]
        return np.asarray(row if self.by_total else row // self.response.n_categories, dtype=np.int64)


def _item_sets(members: sparse.csr_array) -> tuple[sparse.csr_array, Indices]:
    """The distinct rows, and which of them each row is."""
    random = np.random.default_rng(1).integers(2**64, size=members.shape[1], dtype=np.uint64)
    key = np.add.reduceat(random[members.indices] * members.data.astype(np.uint64), members.indptr[:-1])
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    return sparse.csr_array(members[first]), which


def _log_of_sum(logs: list[Array]) -> Array:
    top = np.maximum.reduce(logs)
    total = np.zeros_like(top)
    for log in logs:
        total += np.exp(log - top)
    return np.asarray(top + np.log(total))
