"""The density of readings (halo): what all scores of a student by a rater share besides ability.

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
from raterlens.likelihood.density import Density, Derivatives, Up
from raterlens.likelihood.derivatives import (
    context_curvature,
    score_rows,
    slope_reach,
)
from raterlens.likelihood.engines.contract import CellScores, Expected, Tables
from raterlens.likelihood.nodes import Nodes
from raterlens.models.facets import FacetsModel
from raterlens.models.responses import Adjacent, Predictor, Response

if TYPE_CHECKING:
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


@dataclass(frozen=True, slots=True)
class Averaged(Up):
    """Log-probabilities of the kinds of readings, averaged over u."""

    spread: Array
    """(raters,)"""
    u: Array
    log_weights: Array
    shares: list[Array] | None
    """(kinds, nodes) for each u, where they are few enough to be kept."""
    products: "Products | None"
    """From compiled code, where it pays."""


class Readings(Density[Averaged]):
    """A density with a reading effect."""

    kinds: Kinds

    def __init__(self, response: Response, model: FacetsModel) -> None:
        super().__init__(response, model)
        self.adjacent = response if isinstance(response, Adjacent) and model.one_slope_per_rater else None
        """The response, where log-probabilities depend on the sum of the scores alone."""
        self.sums = self.adjacent is not None
        self._lever = model.lever

    @property
    def grouping(self) -> Grouping:
        n_categories, n_groups = self.response.n_categories, self.n_groups
        return partial(readings, n_categories=n_categories, by_total=self.sums, n_groups=n_groups)

    def bind(self, kinds: Kinds) -> None:
        self.kinds = kinds
        row = kinds.members.indices[kinds.members.indptr[:-1]]
        self.example = np.asarray(row if self.sums else row // self.response.n_categories, dtype=np.int64)
        """(kinds,): one of its contexts."""
        self.rater = self.contexts.rater[self.example]
        shown_by, self.set_of_kind = distinct_rows(kinds.members)
        self.item_sets = sparse.csr_array(kinds.members[shown_by])
        self._largest_sum = (self.response.n_categories - 1) * int(kinds.members.sum(axis=1).max())
        self.compiled = self.sums and compiled_code_pays(
            len(self.rater) * self.response.n_categories * _PASSES
        )
        self._of_set = sparse.csr_array(
            (np.ones(len(self.rater)), (self.set_of_kind, np.arange(len(self.rater)))),
            shape=(self.item_sets.shape[0], len(self.rater)),
        )

    @cached_property
    def sets(self) -> "SetsOfItems":
        from raterlens.kernels.reading_effect import SetsOfItems  # may be missing

        return SetsOfItems.of(self.item_sets, self.set_of_kind, self.rater, self.kinds.total)

    # -- up ---------------------------------------------------------------------------------------------------

    def up(self, predictor: Predictor, spread: Array | None, nodes: Nodes) -> Averaged:
        assert spread is not None
        u, log_weights = self.rule(float(spread.max()))
        shares, products, shape = None, None, (len(self.rater), len(nodes.points))
        if self.compiled and float(spread.max() * u.max()) * self._largest_sum <= _LARGEST_EXPONENT:
            table, products = self._by_products(predictor, spread, nodes.points, u, log_weights)
        else:
            every = (
                self._log(predictor, spread, nodes.points, *each) for each in zip(u, log_weights, strict=True)
            )
            if np.prod(shape) * len(u) <= _KEPT:
                table = _shared_out(shares := list(every))
            else:
                table = np.full(shape, -np.inf)
                for log in every:
                    np.logaddexp(table, log, out=table)
        np.maximum(table, _IMPOSSIBLE, out=table)
        return Averaged(predictor, nodes, Tables(table), spread, u, log_weights, shares, products)

    def _by_products(
        self, predictor: Predictor, spread: Array, t: Array, u: Array, log_weights: Array
    ) -> "tuple[Array, Products]":
        """(kinds, nodes): the table."""
        from raterlens.kernels.reading_effect import Products, Rule  # may be missing

        alike = spread if np.ptp(spread) else spread[:1]
        rule = Rule.of(u, np.exp(log_weights), alike, self._largest_sum)
        log_prob = self.response.log_prob(predictor, t)
        products = Products.of(self.sets, np.exp(log_prob), rule)
        failed = self.item_sets @ log_prob[:, 0]
        table = self._reach(predictor, t) + failed[self.set_of_kind] + np.log(products.averages)
        return np.asarray(table), products

    def _reach(self, predictor: Predictor, t: Array) -> Array:
        """(kinds, nodes): what ability has to do with sums of scores."""
        return np.multiply.outer(predictor.slope[self.example] * self.kinds.total, t)

    def _log(self, predictor: Predictor, spread: Array, t: Array, u: float, log_weight: float) -> Array:
        """(kinds, nodes): log of the probability of a reading, times the weight of u."""
        shifted = self._shifted(predictor, u * spread)
        if self.adjacent is None:
            log = self.kinds.members @ self.response.log_prob(shifted, t).reshape(-1, len(t))
            log += log_weight
            return np.asarray(log)
        partition = self.item_sets @ self.adjacent.log_partition(shifted, t)
        log = self._reach(predictor, t) - partition[self.set_of_kind]
        log += (u * spread[self.rater] * self.kinds.total + log_weight)[:, None]
        return np.asarray(log)

    def _shifted(self, predictor: Predictor, shift: Array) -> Predictor:
        return predictor.shifted(shift[self.contexts.rater], self._lever)

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

    # -- down -------------------------------------------------------------------------------------------------

    def down(self, at: Averaged, expected: Expected) -> Derivatives:
        t, loglik, counts = at.nodes.points, expected.loglik, expected.counts
        if at.products is None:
            d_slope, d_intercepts, d_spread, seen = self._summed(at, counts)
        else:
            found = at.products.summed(t, counts)
            d_slope, d_intercepts, d_spread = -found.by_ability, -found.given, found.by_effect
            seen = found.readings[:, None]
        if self.sums:
            given_scores = self.kinds.given[:, 1:]
            loglik += float(np.sum(given_scores * at.predictor.intercepts))
            d_intercepts += given_scores
            d_slope += np.bincount(self.example, self.kinds.total * (counts @ t), len(self.contexts))
        return Derivatives(loglik, d_slope, d_intercepts, seen, counts, d_spread)

    def _summed(self, at: Averaged, counts: Array) -> tuple[Array, Array, Array, Array]:
        """In the slopes and intercepts of the contexts, but for the scores given where kinds have sums, and in the
        spreads of the raters; and the expected ratings."""
        contexts, lever, total, t = self.contexts, self.response.lever, self.kinds.total, at.nodes.points
        n, steps = len(contexts), len(lever)
        d_slope, d_intercepts, d_spread = np.zeros(n), np.zeros((n, steps)), np.zeros(contexts.n_raters)
        seen = np.zeros((n, 1 if self.sums else self.response.n_categories, len(t)))
        for each in self.every(at):
            weighted = counts * each.share
            given = self.expected_ratings(weighted)
            seen += given
            if self.adjacent is not None:
                at_nodes = -given * self.adjacent.probabilities(each.predictor, t)
                d_spread += each.u * np.bincount(self.rater, total * weighted.sum(axis=1), contexts.n_raters)
            else:
                at_nodes = self.response.counted_scores(each.predictor, t, given).transpose(0, 2, 1)
            by_intercept = at_nodes.sum(axis=2)
            d_intercepts += by_intercept
            d_slope += (at_nodes @ t) @ lever
            d_spread += each.u * np.bincount(contexts.rater, by_intercept @ lever, contexts.n_raters)
        return d_slope, d_intercepts, d_spread, seen

    def every(self, at: Averaged) -> Iterator[Shares]:
        """The values of u."""
        for place, (u, log_weight) in enumerate(zip(at.u.tolist(), at.log_weights.tolist(), strict=True)):
            if at.shares is not None:
                share = at.shares[place]
            else:
                share = self._log(at.predictor, at.spread, at.nodes.points, u, log_weight) - at.tables.cells
                np.exp(share, out=share)
            yield Shares(u, self._shifted(at.predictor, u * at.spread), share)

    def expected_ratings(self, weighted: Array) -> Array:
        """(contexts, categories or 1, nodes): ratings in readings of these kinds."""
        rows = self.item_sets.T @ (self._of_set @ weighted)
        return np.asarray(rows).reshape(len(self.contexts), -1, weighted.shape[1])

    def curvature(self, at: Averaged, found: Derivatives) -> sparse.csr_array:
        """Given ability, the log-probability T of a reading has d2 T = E_u[d2 log p] + Cov_u[d log p]."""
        return _curvature(self, at, found.cells) + _covariance(self, at, found.cells)

    def scores(self, at: Averaged, through: sparse.csr_array) -> CellScores:
        return _reading_scores(self, at, through)


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


def _curvature(density: Readings, averaged: Averaged, counts: Array) -> sparse.csr_array:
    """E_u[d2 log p], summed over readings."""
    response, t, contexts = density.response, averaged.nodes.points, density.contexts
    n, steps, lever = len(contexts), len(response.lever), response.lever
    own = sparse.csr_array((n * (1 + steps),) * 2)
    of_spread, by_slope, by_intercept = np.zeros(n), np.zeros(n), np.zeros((n, steps))
    for at in density.every(averaged):
        given = density.expected_ratings(counts * at.share)
        own = own + context_curvature(response, at.predictor, averaged.nodes, given)
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


def _spelled_out(density: Readings, averaged: Averaged) -> Iterator[_Spelled]:
    """A block of them at a time."""
    every = [(_member_scores(density, at, averaged.nodes.points), at.share) for at in density.every(averaged)]
    # (members, q, u, steps) and (kinds, q, u)
    scores = np.stack([own for own, _ in every], axis=2)
    shares = np.stack([share for _, share in every], axis=2)
    sets = density.item_sets
    by_set = np.argsort(density.set_of_kind, kind="stable")
    number = np.bincount(density.set_of_kind, minlength=sets.shape[0])
    first, length = np.cumsum(number) - number, np.diff(sets.indptr)
    for n, k in np.unique(np.stack([length, number], axis=1), axis=0):
        alike = np.flatnonzero((length == n) & (number == k))
        block = max(1, _BLOCK // (shares[0].size * int(n * (1 + scores.shape[-1]) + k)))
        for begin in range(0, len(alike), block):
            some = alike[begin : begin + block]
            place = sets.indptr[some][:, None] + np.arange(n)
            member, kinds = sets.indices[place], by_set[first[some][:, None] + np.arange(k)]
            own = scores[member] * sets.data[place][..., None, None, None]
            context = member if density.sums else member // density.response.n_categories
            yield _Spelled(
                kinds,
                context.astype(np.int64),
                own.transpose(0, 2, 3, 1, 4),
                shares[kinds].transpose(0, 2, 1, 3),
            )


def _member_scores(density: Readings, at: Shares, t: Array) -> Array:
    """(members, nodes, steps)"""
    if density.adjacent is not None:
        return -density.adjacent.probabilities(at.predictor, t).transpose(0, 2, 1)
    own = density.response.scores(at.predictor, t)
    return np.asarray(own.reshape(len(own), -1, len(t)).transpose(1, 2, 0))


def _covariance(density: Readings, averaged: Averaged, counts: Array) -> sparse.csr_array:
    """Cov_u[d log p], summed over readings: of all kinds of a set at once, whose scores differ by what u makes of their
    sum, u T, alone."""
    response, t, u, contexts = density.response, averaged.nodes.points, averaged.u, density.contexts
    n, steps = len(contexts), len(response.lever)
    rows, columns, values = [], [], []
    for some in _spelled_out(density, averaged):
        x = _in_coordinates(some.scores, response.lever, t, u)
        total, often = density.kinds.total[some.kinds], counts[some.kinds].transpose(0, 2, 1)
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
        spread = n * (1 + steps) + density.rater[some.kinds[:, :1]]
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


def _reading_scores(density: Readings, averaged: Averaged, through: sparse.csr_array) -> CellScores:
    """Each kind's part in a student's score, d T, as a function of ability."""
    response, t, members = density.response, averaged.nodes.points, density.kinds.members
    n, steps, lever = len(density.contexts), len(response.lever), response.lever
    n_kinds, n_members = members.shape[0], members.nnz
    kind = np.repeat(np.arange(n_kinds), np.diff(members.indptr))
    context = members.indices if density.sums else members.indices // response.n_categories
    own, spread = np.zeros((n_members, len(t), steps)), np.zeros((n_kinds, len(t)))
    total = density.kinds.total[:, None]
    summed = sparse.csr_array(
        (members.data, np.arange(n_members), members.indptr), shape=(n_kinds, n_members)
    )
    for some in _spelled_out(density, averaged):
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
    slope = sparse.vstack([through[context], nothing, through[density.example]], format="csr")
    terms = [(slope, np.concatenate([(own @ lever) * t, blank, total * t]))]
    at_spread = through[n * (1 + steps) + density.rater]
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
