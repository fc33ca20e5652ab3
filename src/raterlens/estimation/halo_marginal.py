"""The marginal likelihood with a reading effect (halo): what all scores of a student by a rater share besides ability.

    S = a_r theta - b_r - delta_i + tau_r u,      u ~ N(0, 1), one for each reading

A reading is one cell, its log-probability at an ability the logarithm of an average over u. With adjacent-category
logits and no item slopes it depends on the scores through their sum alone, so a kind of reading is a set of items with
a sum; otherwise it is a pattern of scores. Engines see cells as always.

The parameters are the variances tau^2: by symmetry the likelihood is level at tau = 0 in tau, but not in tau^2.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from raterlens.base.records import dataclass
from raterlens.base.types import Array, Indices
from raterlens.engine.cells import Kinds, KindsOf, readings
from raterlens.engine.protocol import Nodes, Tables
from raterlens.engine.selection import kind_engine
from raterlens.estimation.extremes import Pseudo
from raterlens.estimation.marginal import Derivatives, FacetsMarginal
from raterlens.kernels.break_even import compiled_code_pays
from raterlens.models.facets import FacetsModel
from raterlens.models.responses import Adjacent, Predictor, Response, counted_scores
from raterlens.ratings.coded import Ratings

if TYPE_CHECKING:
    from distributed import Client

    from raterlens.kernels.reading_effect import Products, SetsOfItems

# The smallest spread that is told from 0: its likelihood differs by less than rounding of the grid does.
LEAST_SPREAD = 1e-4
# Of the rule in u: how far it goes, its step for a posterior as wide as the prior (the log-likelihood is then off by
# about 1e-10, relative), and its most nodes.
_REACH, _WIDEST, _MOST = 7.0, 0.95, 129
# Bounds of the information of a rating about u: of adjacent logits (for each unit of score, squared), and of any link.
_LOGISTIC, _ANY = 0.25, 0.65
# Numbers that are kept between the tables and their derivatives: 256 MB.
_KEPT = 2**25
# Nodes, values of u and evaluations of a typical fit: it goes over each kind of reading that often, once per score.
_PASSES = 40 * 30 * 25
# Of odds and their products, below which nothing overflows.
_LARGEST_EXPONENT = 600.0
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
        self.u, self._log_weights = problem.rule(float(self.spread.max()))
        self._furthest = float(self.spread.max() * self.u.max())
        self._shares: list[Array] | None = None
        self.products: Products | None = None
        """From compiled code, where it pays."""
        if problem.compiled and self._furthest * problem.largest_sum <= _LARGEST_EXPONENT:
            self.table = self._compiled()
        elif len(problem.kinds.keys) * len(self._t) * len(self.u) <= _KEPT:
            self._shares = [self._log(u, w) for u, w in self._weighted()]
            self.table = _shared_out(self._shares)
        else:
            self.table = np.full((len(problem.kinds.keys), len(self._t)), -np.inf)
            for u, w in self._weighted():
                np.logaddexp(self.table, self._log(u, w), out=self.table)
        np.maximum(self.table, _IMPOSSIBLE, out=self.table)

    def __iter__(self) -> Iterator[Shares]:
        for place, (u, weight) in enumerate(self._weighted()):
            if self._shares is not None:
                share = self._shares[place]
            else:
                share = self._log(u, weight) - self.table
                np.exp(share, out=share)
            yield Shares(u, self._shifted(u), share)

    def probabilities(self, u: float) -> Array:
        """(contexts, categories - 1, nodes): of every score above zero, where kinds have sums."""
        return self._odds.probabilities(self._shift(u))

    def _compiled(self) -> Array:
        """(kinds, nodes): the table, by products."""
        from raterlens.kernels.reading_effect import Products, Rule  # may be missing

        problem, response = self._problem, self._problem.response
        spread = self.spread if np.ptp(self.spread) else self.spread[:1]
        rule = Rule.of(self.u, np.exp(self._log_weights), spread, problem.largest_sum)
        log_prob = response.log_prob(self.predictor, self._t)
        self.products = Products.of(problem.sets, np.exp(log_prob), rule)
        failed = problem.item_sets @ log_prob[:, 0]
        return np.asarray(self._reach + failed[problem.set_of_kind] + np.log(self.products.averages))

    @cached_property
    def _odds(self) -> "ShiftedOdds":
        response = self._problem.response
        assert isinstance(response, Adjacent)
        return ShiftedOdds(response, self.predictor, self._t, self._furthest)

    @cached_property
    def _reach(self) -> Array:
        """(kinds, nodes): what ability has to do with sums of scores."""
        slope, total = self.predictor.slope[self._problem.example], self._problem.kinds.total
        return np.multiply.outer(slope * total, self._t)

    def _weighted(self) -> Iterator[tuple[float, float]]:
        return zip(self.u.tolist(), self._log_weights.tolist(), strict=True)

    def _log(self, u: float, log_weight: float) -> Array:
        """(kinds, nodes): log of the probability of a reading, times the weight of u."""
        problem = self._problem
        if not problem.by_total:
            log_prob = problem.response.log_prob(self._shifted(u), self._t).reshape(-1, len(self._t))
            log = problem.kinds.members @ log_prob
            log += log_weight
            return np.asarray(log)
        partition = problem.item_sets @ self._odds.log_partition(self._shift(u))
        log = self._reach - partition[problem.set_of_kind]
        log += (u * self.spread[problem.rater] * problem.kinds.total + log_weight)[:, None]
        return np.asarray(log)

    def _shift(self, u: float) -> Array:
        """(contexts,): what u adds to the predictor."""
        return u * self.spread[self._problem.model.contexts.rater]

    def _shifted(self, u: float) -> Predictor:
        return self.predictor.shifted(self._shift(u), self._problem.model.lever)


class ShiftedOdds:
    """Adjacent-category logits of the contexts, shifted again and again.

    exp(k (s + shift)) is a product, so exponentials are taken once: unless they could overflow.
    """

    def __init__(self, response: Adjacent, predictor: Predictor, t: Array, furthest: float) -> None:
        """No shift is larger than `furthest`."""
        self._response, self._predictor, self._t = response, predictor, t
        logits = response.logits(predictor, t)
        calm = float(logits.max()) + furthest * len(response.lever) <= _LARGEST_EXPONENT
        self._odds = np.exp(logits, out=logits) if calm else None
        """(contexts, categories - 1, nodes)"""

    def log_partition(self, shift: Array) -> Array:
        """(contexts, nodes)"""
        if self._odds is None:
            return self._response.log_partition(self._shifted(shift), self._t)
        factor = np.exp(shift)[:, None]
        total = self._odds[:, -1] * factor
        for k in range(self._odds.shape[1] - 2, -1, -1):
            total += self._odds[:, k]
            total *= factor
        total += 1
        return np.asarray(np.log(total, out=total))

    def probabilities(self, shift: Array) -> Array:
        """(contexts, categories - 1, nodes)"""
        if self._odds is None:
            return self._response.probabilities(self._shifted(shift), self._t)
        factor = np.exp(np.multiply.outer(shift, self._response.lever))
        odds = self._odds * factor[:, :, None]
        odds /= 1 + odds.sum(axis=1, keepdims=True)
        return odds

    def _shifted(self, shift: Array) -> Predictor:
        return self._predictor.shifted(shift, self._response.lever)


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
        self.grouped: KindsOf = partial(
            readings, n_categories=response.n_categories, by_total=self.by_total, everyone=model.smooth
        )
        self.engine, self.kinds = kind_engine(
            ratings, model.contexts, self.grouped, client, pieces=model.pieces
        )
        self.example = self._contexts_of(self.kinds)
        """(kinds,): one of its contexts."""
        self.rater = model.contexts.rater[self.example]
        self.item_sets, self.set_of_kind = _item_sets(self.kinds.members)
        self.largest_sum = (response.n_categories - 1) * int(self.kinds.members.sum(axis=1).max())
        numbers = len(self.rater) * response.n_categories * _PASSES
        self.compiled = self.by_total and compiled_code_pays(numbers)
        self._of_set = sparse.csr_array(
            (np.ones(len(self.rater)), (self.set_of_kind, np.arange(len(self.rater)))),
            shape=(self.item_sets.shape[0], len(self.rater)),
        )

    @cached_property
    def sets(self) -> "SetsOfItems":
        from raterlens.kernels.reading_effect import SetsOfItems  # may be missing

        return SetsOfItems.of(self.item_sets, self.set_of_kind, self.rater, self.kinds.total)

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
        t, contexts = nodes.points, self.model.contexts
        if averaged.products is None:
            d_slope, d_intercepts, d_spread, seen = self._summed(averaged, counts, t)
        else:
            found = averaged.products.summed(t, counts)
            d_slope, d_intercepts, d_spread = -found.by_ability, -found.given, found.by_effect
            seen = found.readings[:, None]
        if self.by_total:
            given_scores = self.kinds.given[:, 1:]
            loglik += float(np.sum(given_scores * averaged.predictor.intercepts))
            d_intercepts += given_scores
            d_slope += np.bincount(self.example, self.kinds.total * (counts @ t), len(contexts))
        return Derivatives(loglik, d_slope, d_intercepts, seen, d_spread / (2 * averaged.spread))

    def _summed(self, averaged: Averaged, counts: Array, t: Array) -> tuple[Array, Array, Array, Array]:
        """In the slopes and intercepts of the contexts, but for the scores given where kinds have sums, and in the
        spreads of the raters; and the expected ratings."""
        contexts, lever, total = self.model.contexts, self.response.lever, self.kinds.total
        n, steps = len(contexts), len(lever)
        d_slope, d_intercepts, d_spread = np.zeros(n), np.zeros((n, steps)), np.zeros(contexts.n_raters)
        seen = np.zeros((n, 1 if self.by_total else self.response.n_categories, len(t)))
        for at in averaged:
            weighted = counts * at.share
            given = self.expected_ratings(weighted)
            seen += given
            if self.by_total:
                at_nodes = averaged.probabilities(at.u)
                at_nodes *= -given
                d_spread += at.u * np.bincount(self.rater, total * weighted.sum(axis=1), contexts.n_raters)
            else:
                at_nodes = counted_scores(self.response, at.predictor, t, given).transpose(0, 2, 1)
            by_intercept = at_nodes.sum(axis=2)
            d_intercepts += by_intercept
            d_slope += (at_nodes @ t) @ lever
            d_spread += at.u * np.bincount(contexts.rater, by_intercept @ lever, contexts.n_raters)
        return d_slope, d_intercepts, d_spread, seen

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


def _shared_out(logs: list[Array]) -> Array:
    """The logarithm of the sum of exponentials; the share of each in it takes its place."""
    top = logs[0].copy()
    for log in logs[1:]:
        np.maximum(top, log, out=top)
    total = np.zeros_like(top)
    for log in logs:
        log -= top
        total += np.exp(log, out=log)
    for log in logs:
        log /= total
    return np.asarray(top + np.log(total))
