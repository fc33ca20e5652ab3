"""The marginal likelihood with a reading effect (halo): what all scores of a student by a rater share besides ability.

    S = a_r theta - b_r - delta_i + tau_r u,      u ~ N(0, 1), one for each reading

A reading is one cell, its log-probability at an ability the logarithm of an average over u. With adjacent-category
logits and no item slopes it depends on the scores through their sum alone, so a kind of reading is a set of items with
a sum; otherwise it is a pattern of scores. Engines see cells as always.

The parameters are the variances tau^2: by symmetry the likelihood is level at tau = 0 in tau, but not in tau^2.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array, Indices
from raterlens.kernels.library import compiled_code_pays
from raterlens.likelihood.cells import Grouping, Kinds, distinct_rows, readings
from raterlens.likelihood.derivatives import (
    context_curvature,
    score_rows,
    slope_reach,
)
from raterlens.likelihood.engines.contract import CellScores, Expected, Tables
from raterlens.likelihood.marginal import Derivatives, FacetsMarginal
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.priors import Pseudo
from raterlens.models.facets import FacetsModel
from raterlens.models.responses import Adjacent, Predictor, Response
from raterlens.models.terms.halo import HALO
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
# Numbers at a time where scores are spelled out for every kind, node and u.
_BLOCK = 2**22
# A reading less likely than this at a node is as good as impossible there.
_IMPOSSIBLE = -1e5


@dataclass(frozen=True, slots=True)
class Shares:
    """Share of one value of u in every kind of reading at every node of ability."""

    u: float
    predictor: Predictor
    """Predictor of the contexts, with the reading effect in their intercepts."""
    share: Array
    """(kinds, nodes): probability of this u, given the reading and ability."""


class Averaged:
    """Log-probabilities of the kinds of readings, averaged over u."""

    def __init__(self, problem: "HaloMarginal", parameters: Array, nodes: Nodes) -> None:
        self._problem, self._t = problem, nodes.points
        self.predictor = problem.model.predictor(parameters)
        self.spread = np.sqrt(np.maximum(problem.model.halo_variances(parameters), LEAST_SPREAD**2))
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
    def _reach(self) -> Array:
        """(kinds, nodes): what ability has to do with sums of scores."""
        slope, total = self.predictor.slope[self._problem.example], self._problem.kinds.total
        return np.multiply.outer(slope * total, self._t)

    def _weighted(self) -> Iterator[tuple[float, float]]:
        return zip(self.u.tolist(), self._log_weights.tolist(), strict=True)

    def _log(self, u: float, log_weight: float) -> Array:
        """(kinds, nodes): log of the probability of a reading, times the weight of u."""
        problem = self._problem
        if problem.adjacent is None:
            log_prob = problem.response.log_prob(self._shifted(u), self._t).reshape(-1, len(self._t))
            log = problem.kinds.members @ log_prob
            log += log_weight
            return np.asarray(log)
        partition = problem.item_sets @ problem.adjacent.log_partition(self._shifted(u), self._t)
        log = self._reach - partition[problem.set_of_kind]
        log += (u * self.spread[problem.rater] * problem.kinds.total + log_weight)[:, None]
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
        self.adjacent = response if isinstance(response, Adjacent) and model.one_slope_per_rater else None
        """The response, where log-probabilities depend on the sum of the scores alone."""
        self.sums = self.adjacent is not None
        super().__init__(ratings, model, response, pseudo, client)
        self._averaged: tuple[Array, Array, Averaged] | None = None
        self.example = self._contexts_of(self.kinds)
        """(kinds,): one of its contexts."""
        self.rater = model.contexts.rater[self.example]
        shown_by, self.set_of_kind = distinct_rows(self.kinds.members)
        self.item_sets = sparse.csr_array(self.kinds.members[shown_by])
        self.largest_sum = (response.n_categories - 1) * int(self.kinds.members.sum(axis=1).max())
        numbers = len(self.rater) * response.n_categories * _PASSES
        self.compiled = self.sums and compiled_code_pays(numbers)
        self._of_set = sparse.csr_array(
            (np.ones(len(self.rater)), (self.set_of_kind, np.arange(len(self.rater)))),
            shape=(self.item_sets.shape[0], len(self.rater)),
        )

    def _grouping(self) -> Grouping:
        return partial(
            readings,
            n_categories=self.response.n_categories,
            by_total=self.sums,
            n_groups=self.model.n_groups,
        )

    @cached_property
    def sets(self) -> "SetsOfItems":
        from raterlens.kernels.reading_effect import SetsOfItems  # may be missing

        return SetsOfItems.of(self.item_sets, self.set_of_kind, self.rater, self.kinds.total)

    def averaged(self, parameters: Array, nodes: Nodes) -> Averaged:
        """The last one is kept: tables, derivatives and scores ask for the same."""
        known = self._averaged
        if known is None or known[1] is not nodes.points or not np.array_equal(known[0], parameters):
            self._averaged = known = parameters.copy(), nodes.points, Averaged(self, parameters, nodes)
        return known[2]

    def _tables(self, parameters: Array, nodes: Nodes) -> Tables:
        return Tables(self.averaged(parameters, nodes).table)

    def expected_curvature(self, parameters: Array, nodes: Nodes) -> sparse.csr_array:
        """Given ability, the log-probability T of a reading has d2 T = E_u[d2 log p] + Cov_u[d log p].

        Added up in the contexts' slopes and intercepts and in the raters' spreads tau, and carried to the parameters,
        of which tau^2 is one.
        """
        found, inner = self.derivatives(parameters, nodes), self.inner(parameters, nodes)
        averaged = self.averaged(parameters, inner)
        assert found.d_halo is not None
        assert found.readings is not None
        through = self._through(parameters, averaged.spread)
        second = _curvature(self, averaged, found.readings, inner)
        second = second + _covariance(self, averaged, found.readings, inner)
        bend = sparse.diags_array(-found.d_halo / (2 * averaged.spread**2))
        of_halo = self.model.effect_jacobian(parameters, HALO)
        own = through.T @ second @ through + of_halo.T @ bend @ of_halo
        n = len(self.model.contexts) * (1 + len(self.response.lever))
        return sparse.csr_array(own + self._in_parameters(parameters, nodes, sparse.csr_array((n, n)), found))

    def _through(self, parameters: Array, spread: Array) -> sparse.csr_array:
        """(contexts' slopes, their intercepts, raters' spreads; parameters)"""
        of_halo = self.model.effect_jacobian(parameters, HALO)
        rows = [self.jacobian(parameters), sparse.diags_array(0.5 / spread) @ of_halo]
        return sparse.csr_array(sparse.vstack(rows, format="csr"))

    def _scores(self, parameters: Array, nodes: Nodes) -> CellScores:
        averaged = self.averaged(parameters, nodes)
        return _reading_scores(self, averaged, self._through(parameters, averaged.spread), nodes)

    def _derivatives(self, parameters: Array, expected: Expected, nodes: Nodes) -> Derivatives:
        averaged, t, contexts = self.averaged(parameters, nodes), nodes.points, self.model.contexts
        loglik, counts = expected.loglik, expected.counts
        if averaged.products is None:
            d_slope, d_intercepts, d_spread, seen = self._summed(averaged, counts, t)
        else:
            found = averaged.products.summed(t, counts)
            d_slope, d_intercepts, d_spread = -found.by_ability, -found.given, found.by_effect
            seen = found.readings[:, None]
        if self.sums:
            given_scores = self.kinds.given[:, 1:]
            loglik += float(np.sum(given_scores * averaged.predictor.intercepts))
            d_intercepts += given_scores
            d_slope += np.bincount(self.example, self.kinds.total * (counts @ t), len(contexts))
        d_halo = d_spread / (2 * averaged.spread)
        return Derivatives(loglik, d_slope, d_intercepts, seen, d_halo, readings=counts)

    def _summed(self, averaged: Averaged, counts: Array, t: Array) -> tuple[Array, Array, Array, Array]:
        """In the slopes and intercepts of the contexts, but for the scores given where kinds have sums, and in the
        spreads of the raters; and the expected ratings."""
        contexts, lever, total = self.model.contexts, self.response.lever, self.kinds.total
        n, steps = len(contexts), len(lever)
        d_slope, d_intercepts, d_spread = np.zeros(n), np.zeros((n, steps)), np.zeros(contexts.n_raters)
        seen = np.zeros((n, 1 if self.sums else self.response.n_categories, len(t)))
        for at in averaged:
            weighted = counts * at.share
            given = self.expected_ratings(weighted)
            seen += given
            if self.adjacent is not None:
                at_nodes = -given * self.adjacent.probabilities(at.predictor, t)
                d_spread += at.u * np.bincount(self.rater, total * weighted.sum(axis=1), contexts.n_raters)
            else:
                at_nodes = self.response.counted_scores(at.predictor, t, given).transpose(0, 2, 1)
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
        most = self.response.single.n_categories - 1
        each = (_LOGISTIC * most**2 if self.response.single.by_sums else _ANY) * self.response.longest
        told = each * float(np.max(self.kinds.members.sum(axis=1)))
        width = min(1 / np.sqrt(1 + spread**2 * told), 1 / max(most * spread, 1.0))
        halvings = np.ceil(-2 * np.log2(width) - 1e-9)
        step = max(_WIDEST * 2 ** (-halvings / 2), 2 * _REACH / (_MOST - 1))
        points = np.arange(-np.ceil(_REACH / step), np.ceil(_REACH / step) + 1) * step
        return points, -0.5 * points**2 - 0.5 * np.log(2 * np.pi) + np.log(step)

    def _contexts_of(self, kinds: Kinds) -> Indices:
        row = kinds.members.indices[kinds.members.indptr[:-1]]
        return np.asarray(row if self.sums else row // self.response.n_categories, dtype=np.int64)


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


# -- derivatives of what is averaged over u ----------------------------------------------------------------------


def _curvature(problem: HaloMarginal, averaged: Averaged, counts: Array, nodes: Nodes) -> sparse.csr_array:
    """E_u[d2 log p], summed over readings."""
    response, t, contexts = problem.response, nodes.points, problem.model.contexts
    n, steps, lever = len(contexts), len(response.lever), response.lever
    own = sparse.csr_array((n * (1 + steps),) * 2)
    of_spread, by_slope, by_intercept = np.zeros(n), np.zeros(n), np.zeros((n, steps))
    for at in averaged:
        given = problem.expected_ratings(counts * at.share)
        own = own + context_curvature(response, at.predictor, nodes, given)
        bend = response.curvature(at.predictor, t, given) @ lever  # (contexts, nodes, steps)
        of_spread += at.u**2 * (bend @ lever).sum(axis=1)
        by_slope += at.u * (bend @ lever) @ t
        by_intercept += at.u * bend.sum(axis=1)
    every, spread = np.arange(n), n * (1 + steps) + contexts.rater
    intercept = n + every[:, None] * steps + np.arange(steps)
    mixed = _sparse(
        np.concatenate([every, intercept.ravel()]),
        np.concatenate([spread, np.repeat(spread, steps)]),
        np.concatenate([by_slope, by_intercept.ravel()]),
        size := n * (1 + steps) + contexts.n_raters,
    )
    corner = _sparse(spread, spread, of_spread, size)
    own.resize((size, size))
    return sparse.csr_array(own + mixed + mixed.T + corner)


@dataclass(frozen=True, slots=True)
class _Spelled:
    """Sets of items, or patterns of scores, with equally many members and kinds of readings; at every node q and u."""

    kinds: Indices
    """(sets, kinds)"""
    context: Indices
    """(sets, members)"""
    scores: Array
    """(sets, q, u, members, steps): derivatives of a member's log-probability in its context's intercepts, but for the
    scores given where kinds have sums."""
    share: Array
    """(sets, q, kinds, u): probability of u, given the reading and ability."""


def _spelled_out(problem: HaloMarginal, averaged: Averaged, t: Array) -> Iterator[_Spelled]:
    """A block of them at a time."""
    every = [(_member_scores(problem, at, t), at.share) for at in averaged]
    # (members, q, u, steps) and (kinds, q, u)
    scores = np.stack([own for own, _ in every], axis=2)
    shares = np.stack([share for _, share in every], axis=2)
    sets = problem.item_sets
    by_set = np.argsort(problem.set_of_kind, kind="stable")
    number = np.bincount(problem.set_of_kind, minlength=sets.shape[0])
    first, length = np.cumsum(number) - number, np.diff(sets.indptr)
    for n, k in np.unique(np.stack([length, number], axis=1), axis=0):
        alike = np.flatnonzero((length == n) & (number == k))
        block = max(1, _BLOCK // (shares[0].size * int(n * (1 + scores.shape[-1]) + k)))
        for begin in range(0, len(alike), block):
            some = alike[begin : begin + block]
            place = sets.indptr[some][:, None] + np.arange(n)
            member, kinds = sets.indices[place], by_set[first[some][:, None] + np.arange(k)]
            own = scores[member] * sets.data[place][..., None, None, None]
            context = member if problem.sums else member // problem.response.n_categories
            yield _Spelled(
                kinds,
                context.astype(np.int64),
                own.transpose(0, 2, 3, 1, 4),
                shares[kinds].transpose(0, 2, 1, 3),
            )


def _member_scores(problem: HaloMarginal, at: Shares, t: Array) -> Array:
    """(members, nodes, steps)"""
    if problem.adjacent is not None:
        return -problem.adjacent.probabilities(at.predictor, t).transpose(0, 2, 1)
    own = problem.response.scores(at.predictor, t)
    return np.asarray(own.reshape(len(own), -1, len(t)).transpose(1, 2, 0))


def _covariance(problem: HaloMarginal, averaged: Averaged, counts: Array, nodes: Nodes) -> sparse.csr_array:
    """Cov_u[d log p], summed over readings: of all kinds of a set at once, whose scores differ by what u makes of their
    sum, u T, alone."""
    response, t, u, contexts = problem.response, nodes.points, averaged.u, problem.model.contexts
    n, steps = len(contexts), len(response.lever)
    rows, columns, values = [], [], []
    for some in _spelled_out(problem, averaged, t):
        x = _in_coordinates(some.scores, response.lever, t, u)
        total, often = problem.kinds.total[some.kinds], counts[some.kinds].transpose(0, 2, 1)
        mean = some.share @ x  # (sets, q, kinds, coordinates)
        mean[..., -1] += total[:, None] * (some.share @ u)
        weight = some.share * often[..., None]
        alike = (len(x), -1, x.shape[-1])
        x, mean, often = x.reshape(alike), mean.reshape(alike), often.reshape(len(x), -1, 1)
        found = x.transpose(0, 2, 1) @ (weight.sum(axis=2).reshape(len(x), -1, 1) * x)
        found -= mean.transpose(0, 2, 1) @ (often * mean)
        summed = u * np.einsum("sk,sqku->squ", total, weight)
        pull = np.einsum("sa,sad->sd", summed.reshape(len(x), -1), x)
        found[:, -1] += pull
        found[:, :, -1] += pull
        found[:, -1, -1] += np.einsum("sk,sqku,u->s", total**2, weight, u**2, optimize=True)
        own_places = [some.context[..., None], n + some.context[..., None] * steps + np.arange(steps)]
        place = np.concatenate(own_places, axis=-1).reshape(len(x), -1)
        spread = n * (1 + steps) + problem.rater[some.kinds[:, :1]]
        place = np.concatenate([place, spread], axis=1)
        down, across = np.broadcast_arrays(place[:, :, None], place[:, None, :])
        rows.append(down.ravel())
        columns.append(across.ravel())
        values.append(found.ravel())
    size = n * (1 + steps) + contexts.n_raters
    return _sparse(np.concatenate(rows), np.concatenate(columns), np.concatenate(values), size)


def _in_coordinates(own: Array, lever: Array, t: Array, u: Array) -> Array:
    """(sets, q, u, coordinates): derivatives in each member's slope and intercepts, then in the spread."""
    by_base = own @ lever
    x = np.concatenate([(by_base * t[:, None, None])[..., None], own], axis=-1)
    pull = u * by_base.sum(axis=-1)
    return np.concatenate([x.reshape(*x.shape[:3], -1), pull[..., None]], axis=-1)


def _reading_scores(
    problem: HaloMarginal, averaged: Averaged, through: sparse.csr_array, nodes: Nodes
) -> CellScores:
    """Each kind's part in a student's score, d T, as a function of ability."""
    response, t, members = problem.response, nodes.points, problem.kinds.members
    n, steps, lever = len(problem.model.contexts), len(response.lever), response.lever
    n_kinds, n_members = members.shape[0], members.nnz
    kind = np.repeat(np.arange(n_kinds), np.diff(members.indptr))
    context = members.indices if problem.sums else members.indices // response.n_categories
    own, spread = np.zeros((n_members, len(t), steps)), np.zeros((n_kinds, len(t)))
    total = problem.kinds.total[:, None]
    summed = sparse.csr_array(
        (members.data, np.arange(n_members), members.indptr), shape=(n_kinds, n_members)
    )
    for some in _spelled_out(problem, averaged, t):
        alike = (*some.scores.shape[:3], -1)
        mean = (some.share @ some.scores.reshape(alike)).transpose(0, 2, 1, 3)  # (sets, kinds, q, ...)
        place = members.indptr[some.kinds][..., None] + np.arange(some.context.shape[1])
        own[place] = mean.reshape(*mean.shape[:3], -1, steps).transpose(0, 1, 3, 2, 4)
        pull = averaged.u * (some.scores @ lever).sum(axis=-1)
        spread[some.kinds] = np.einsum("sqku,squ->skq", some.share, pull)
        spread[some.kinds] += total[some.kinds] * (some.share @ averaged.u).transpose(0, 2, 1)
    # Members, then each kind once for its spread and once for the sum of its scores.
    spelled = sparse.csr_array(
        sparse.hstack([summed, sparse.eye_array(n_kinds), sparse.eye_array(n_kinds)], format="csr")
    )
    nothing = sparse.csr_array((n_kinds, through.shape[1]))
    blank = np.zeros((n_kinds, len(t)))
    slope = sparse.vstack([through[context], nothing, through[problem.example]], format="csr")
    terms = [(slope, np.concatenate([(own @ lever) * t, blank, total * t]))]
    at_spread = through[n * (1 + steps) + problem.rater]
    for j in range(steps):
        first = at_spread if j == 0 else nothing
        rows = sparse.vstack([through[n + context * steps + j], first, nothing], format="csr")
        terms.append((rows, np.concatenate([own[..., j], spread if j == 0 else blank, blank])))
    steepest = np.zeros(n_kinds)
    np.maximum.at(steepest, kind, slope_reach(response, averaged.predictor)[context])
    nowhere = sparse.csr_array((1, through.shape[1]))
    return CellScores(*score_rows(spelled, terms, through.shape[1]), nowhere, steepest)


def _sparse(row: Indices, column: Indices, value: Array, size: int) -> sparse.csr_array:
    return sparse.csr_array((value, (row, column)), shape=(size, size))
