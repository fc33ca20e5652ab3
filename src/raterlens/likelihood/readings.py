"""The density of readings (halo): what all scores of a student by a rater share besides ability.

    S = a_r theta - b_r - delta_i + tau_r u,      u ~ N(0, 1), one for each reading

A reading is one cell, its log-probability at an ability the logarithm of an average over u (`latent.py`). With
adjacent-category logits and no item slopes it depends on the scores through their sum alone, so a kind of reading is a
set of items with a sum; otherwise it is a pattern of scores. Engines see cells as always.

The parameters are the variances tau^2: by symmetry the likelihood is level at tau = 0 in tau, but not in tau^2.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array, Indices
from raterlens.kernels.library import compiled_code_pays
from raterlens.likelihood.cells import Grouping, Kinds, distinct_rows, readings
from raterlens.likelihood.density import Density, Derivatives, Up
from raterlens.likelihood.derivatives import (
    context_places,
    score_rows,
    slope_reach,
    summed_blocks,
    summed_curvature,
)
from raterlens.likelihood.engines.contract import CellScores, Expected, Tables
from raterlens.likelihood.latent import IMPOSSIBLE, Crossed, Integral, covariances
from raterlens.likelihood.nodes import Nodes
from raterlens.models.facets import FacetsModel
from raterlens.models.responses import Predictor, Response

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
# Numbers at a time, of raters together and of scores spelled out for every kind, u and node.
_BLOCK = 2**20
# And of one rater's kinds of readings, with u and nodes: 64 MB.
_LARGEST = 2**23


@dataclass(frozen=True, slots=True, eq=False)
class _Raters:
    """Some raters with the same rule in u: their contexts, and the kinds of readings that are theirs."""

    contexts: Indices
    kinds: Indices
    members: sparse.csr_array
    """(kinds, contexts x categories)"""
    u: Array
    log_weights: Array
    response: Crossed
    predictor: Predictor
    """Predictor of the contexts, with the spread as the last intercept."""


@dataclass(frozen=True, slots=True)
class Averaged(Up):
    """Log-probabilities of the kinds of readings, averaged over u."""

    spread_of_rater: Array
    raters: list[tuple[_Raters, Integral | None]]
    """Raters with their integrals, as far as there is room; none where products take their place."""
    products: "Products | None" = None
    """From compiled code, where it pays."""

    @property
    def spread(self) -> Array:
        """(contexts,)"""
        return self.predictor.intercepts[:, -1]


class Readings(Density[Averaged]):
    """A density with a reading effect, whose variance is the last intercept of every context."""

    kinds: Kinds

    def __init__(self, response: Response, model: FacetsModel) -> None:
        super().__init__(response, model.widened("halo"))
        self.sums = response.by_sums and model.one_slope_per_rater
        """Whether log-probabilities depend on the sum of the scores alone."""

    @property
    def grouping(self) -> Grouping:
        n_categories, n_groups = self.response.n_categories, self.n_groups
        return partial(readings, n_categories=n_categories, by_total=self.sums, n_groups=n_groups)

    def bind(self, kinds: Kinds) -> None:
        self.kinds, k = kinds, self.response.n_categories
        members = kinds.members
        if self.sums:  # as if each score were 0, with the sum besides
            shape = members.shape[0], members.shape[1] * k
            members = sparse.csr_array((members.data, members.indices * k, members.indptr), shape=shape)
        self.members = members
        self.example = np.asarray(members.indices[members.indptr[:-1]] // k, dtype=np.int64)
        """(kinds,): one of its contexts."""
        self.rater = self.contexts.rater[self.example]
        n = self.contexts.n_raters
        shown_by, self._set_of_kind = distinct_rows(kinds.members)
        self._longest = np.zeros(n)
        np.maximum.at(self._longest, self.rater, members.sum(axis=1))
        self._rows_of_rater = np.bincount(self.rater, minlength=n) + k * np.bincount(
            self.contexts.rater, minlength=n
        )
        self._compiled = None
        if self.sums and compiled_code_pays(len(self.rater) * k * _PASSES):
            from raterlens.kernels.reading_effect import SetsOfItems  # may be missing

            self._sets = sparse.csr_array(kinds.members[shown_by])
            self._compiled = SetsOfItems.of(self._sets, self._set_of_kind, self.rater, kinds.total)

    # -- up ---------------------------------------------------------------------------------------------------

    def up(self, predictor: Predictor, nodes: Nodes) -> Averaged:
        predictor = replace(predictor, intercepts=predictor.intercepts.copy())
        variance, t = predictor.intercepts[:, -1], nodes.points
        predictor.intercepts[:, -1] = np.sqrt(np.maximum(variance, LEAST_SPREAD**2))
        spread = np.zeros(self.contexts.n_raters)
        spread[self.contexts.rater] = predictor.intercepts[:, -1]
        if self._compiled is not None:
            found = self._by_products(self._compiled, predictor, spread, nodes)
            if found is not None:
                return found
        table, left = np.empty((len(self.rater), len(t))), _KEPT
        raters: list[tuple[_Raters, Integral | None]] = []
        for some in self._alike(predictor, spread, t):
            integral = self._integrated(some, t)
            table[some.kinds] = integral.value
            left -= integral.share.size
            raters.append((some, integral if left >= 0 else None))
        return Averaged(predictor, nodes, Tables(np.maximum(table, IMPOSSIBLE, out=table)), spread, raters)

    def _by_products(
        self, sets: "SetsOfItems", predictor: Predictor, spread: Array, nodes: Nodes
    ) -> Averaged | None:
        """By compiled code; None where numbers could be too large for it."""
        from raterlens.kernels.reading_effect import Products, Rule  # may be missing

        t = nodes.points
        u, log_weights = rule(float(self._steps(spread).min()))
        largest = (self.response.n_categories - 1) * int(self._longest.max())
        if float(spread.max() * u.max()) * largest > _LARGEST_EXPONENT:
            return None
        alike = spread if np.ptp(spread) else spread[:1]
        plain = Predictor(predictor.slope, predictor.intercepts[:, :-1])
        log_prob = self.response.log_prob(plain, t)
        products = Products.of(sets, np.exp(log_prob), Rule.of(u, np.exp(log_weights), alike, largest))
        table = np.multiply.outer(predictor.slope[self.example] * self.kinds.total, t)
        table += (self._sets @ log_prob[:, 0])[self._set_of_kind]
        table += np.log(products.averages)
        return Averaged(predictor, nodes, Tables(np.maximum(table, IMPOSSIBLE)), spread, [], products)

    def _alike(self, predictor: Predictor, spread: Array, t: Array) -> Iterator[_Raters]:
        """Raters by the rule that they need, so many together as memory is spared for."""
        steps, k = self._steps(spread), self.response.n_categories
        for step in np.unique(steps):
            (u, log_weights), some = rule(float(step)), np.flatnonzero(steps == step)
            part = np.cumsum(self._rows_of_rater[some]) * len(u) * len(t) // _BLOCK
            for number in np.unique(part):
                chosen = np.zeros(len(spread), dtype=bool)
                chosen[some[part == number]] = True
                contexts, every = (
                    np.flatnonzero(chosen[rater]) for rater in (self.contexts.rater, self.rater)
                )
                place = np.zeros(len(self.contexts), dtype=np.int64)
                place[contexts] = np.arange(len(contexts))
                response = Crossed(self.response.taken(contexts), t, u)
                own = Predictor(predictor.slope[contexts], predictor.intercepts[contexts])
                size = max(1, _LARGEST // (len(u) * len(t)))
                for first in range(0, len(every), size):
                    kinds = every[first : first + size]
                    members = self.members[kinds]
                    context, score = np.divmod(members.indices, k)
                    entries = members.data, place[context] * k + score, members.indptr
                    members = sparse.csr_array(entries, shape=(len(kinds), len(contexts) * k))
                    yield _Raters(contexts, kinds, members, u, log_weights, response, own)

    def _steps(self, spread: Array) -> Array:
        """(raters,): steps of rules that are fine enough for their spreads and their longest readings: powers of the
        square root of 2, so that a rule stays as it is where a spread changes a little."""
        most = self.response.single.n_categories - 1
        each = (_LOGISTIC * most**2 if self.response.single.by_sums else _ANY) * self.response.longest
        width = np.minimum(
            1 / np.sqrt(1 + spread**2 * each * self._longest), 1 / np.maximum(most * spread, 1.0)
        )
        halvings = np.ceil(-2 * np.log2(width) - 1e-9)
        return np.maximum(_WIDEST * 2 ** (-halvings / 2), 2 * _REACH / (_MOST - 1))

    def _integrated(self, some: _Raters, t: Array) -> Integral:
        log = some.members @ some.response.log_prob(some.predictor, t).reshape(some.members.shape[1], -1)
        log = log.reshape(len(some.kinds), len(some.u), len(t))
        if self.sums:
            example, total = self.example[some.kinds], self.kinds.total[some.kinds]
            place = np.searchsorted(some.contexts, example)
            log += np.multiply.outer(some.predictor.slope[place] * total, t)[:, None]
            log += np.multiply.outer(some.predictor.intercepts[place, -1] * total, some.u)[..., None]
        log += some.log_weights[:, None]
        return Integral.of_logs(log)

    # -- down -------------------------------------------------------------------------------------------------

    def down(self, at: Averaged, expected: Expected) -> Derivatives:
        t, loglik, counts = at.nodes.points, expected.loglik, expected.counts
        d_slope, d_intercepts = np.zeros_like(at.predictor.slope), np.zeros_like(at.predictor.intercepts)
        if at.products is None:
            seen = np.zeros((len(self.contexts), self.response.n_categories, len(t)))
            for some, integral in self._every(at):
                weighted = counts[some.kinds][:, None] * integral.share
                given = _given(some, weighted)
                seen[some.contexts] += given.reshape(*given.shape[:2], len(some.u), -1).sum(axis=2)
                own = some.response.summed_scores(some.predictor, np.tile(t, len(some.u)), given)
                d_slope[some.contexts] += own[0]
                d_intercepts[some.contexts] += own[1]
                if self.sums:
                    by_effect = self.kinds.total[some.kinds] * (weighted.sum(axis=2) @ some.u)
                    d_intercepts[:, -1] += np.bincount(self.example[some.kinds], by_effect, len(d_slope))
        else:
            found = at.products.summed(t, counts)
            d_slope, d_intercepts[:, :-1] = -found.by_ability, -found.given
            rater, first = np.unique(self.contexts.rater, return_index=True)
            d_intercepts[first, -1] = found.by_effect[rater]
            seen = found.readings[:, None]
        if self.sums:
            given_scores = self.kinds.given[:, 1:]
            loglik += float(np.sum(given_scores * at.predictor.intercepts[:, :-1]))
            d_intercepts[:, :-1] += given_scores
            d_slope += np.bincount(self.example, self.kinds.total * (counts @ t), len(d_slope))
        d_intercepts[:, -1] /= 2 * at.spread  # from spreads to variances
        return Derivatives(loglik, d_slope, d_intercepts, seen, counts)

    def _every(self, at: Averaged) -> Iterator[tuple[_Raters, Integral]]:
        t = at.nodes.points
        raters = at.raters or ((some, None) for some in self._alike(at.predictor, at.spread_of_rater, t))
        for some, integral in raters:
            yield some, self._integrated(some, t) if integral is None else integral

    def second(
        self, at: Averaged, found: Derivatives, through: sparse.csr_array
    ) -> tuple[sparse.csr_array, CellScores]:
        """Given ability, the log-probability T of a reading has d2 T = E_u[d2 log p] + Cov_u[d log p]."""
        t, (n, steps), blocks, means = at.nodes.points, at.predictor.intercepts.shape, [], []
        for some, integral in self._every(at):
            counts = found.cells[some.kinds]
            weighted = counts[:, None] * integral.share
            own = summed_curvature(
                some.response, some.predictor, np.tile(t, len(some.u)), _given(some, weighted)
            )
            blocks.append((context_places(some.contexts, n, steps), own))
            for spelled in self._spelled(some, integral, t):
                blocks.append((spelled.place, spelled.covariances(some.u, weighted, counts)))
                means.append((some.kinds[spelled.kinds], spelled.place, spelled.means))
        curvature = summed_blocks(blocks, n * (1 + steps))
        # From spreads to variances, of which they are the roots.
        rise, bend = np.ones((n, steps)), np.zeros((n, steps))
        rise[:, -1], bend[:, -1] = 0.5 / at.spread, -found.d_intercepts[:, -1] / (2 * at.spread**2)
        scale = sparse.diags_array(np.append(np.ones(n), rise))
        whole = scale @ curvature @ scale + sparse.diags_array(np.append(np.zeros(n), bend))
        return sparse.csr_array(whole), self._cell_scores(at, means, sparse.csr_array(scale @ through))

    def scores(self, at: Averaged, through: sparse.csr_array) -> CellScores:
        """Each kind's part in a student's score, as `second` has them."""
        means = [
            (some.kinds[spelled.kinds], spelled.place, spelled.means)
            for some, integral in self._every(at)
            for spelled in self._spelled(some, integral, at.nodes.points)
        ]
        n, steps = at.predictor.intercepts.shape
        rise = np.ones((n, steps))
        rise[:, -1] = 0.5 / at.spread
        scale = sparse.diags_array(np.append(np.ones(n), rise))
        return self._cell_scores(at, means, sparse.csr_array(scale @ through))

    def _cell_scores(
        self, at: Averaged, means: list[tuple[Indices, Indices, Array]], through: sparse.csr_array
    ) -> CellScores:
        """Each kind's part in a student's score, from sets of kinds, the places of their scores, and these."""
        t, n_kinds, kinds, places, tables = at.nodes.points, len(self.rater), [], [], []
        for own, place, mean in means:
            table = mean.transpose(0, 2, 3, 1)  # (sets, kinds, scores, nodes)
            if self.sums:
                table[:, :, 0] += np.multiply.outer(self.kinds.total[own], t)
            kinds.append(np.repeat(own.ravel(), place.shape[1]))
            places.append(np.broadcast_to(place[:, None], table.shape[:3]).ravel())
            tables.append(table.reshape(-1, len(t)))
        kind = np.concatenate(kinds)
        order = np.argsort(kind, kind="stable")
        first = np.searchsorted(kind[order], np.arange(n_kinds + 1))
        spelled = sparse.csr_array((np.ones(len(kind)), order, first), shape=(n_kinds, len(kind)))
        steepest = np.zeros(n_kinds)
        reach = slope_reach(self.response, Predictor(at.predictor.slope, at.predictor.intercepts[:, :-1]))
        member_of = np.repeat(np.arange(n_kinds), np.diff(self.members.indptr))
        np.maximum.at(steepest, member_of, reach[self.members.indices // self.response.n_categories])
        terms = [(through[np.concatenate(places)], np.concatenate(tables))]
        size = through.shape[1]
        return CellScores(*score_rows(spelled, terms, size), sparse.csr_array((1, size)), steepest)

    def _spelled(self, some: _Raters, integral: Integral, t: Array) -> "Iterator[_Spelled]":
        """Sets of items, or patterns of scores, with equally many members and kinds, a block at a time."""
        n, k, (c, steps) = len(self.contexts), self.response.n_categories, some.predictor.intercepts.shape
        if self.sums:
            k, own = 1, some.response.failed_scores(some.predictor)
        else:
            own = some.response.scores(some.predictor, t)
        # (rows, nodes, u, slope and intercepts)
        own = own.reshape(steps, c * k, len(some.u), len(t)).transpose(1, 3, 2, 0)
        every = np.concatenate([(own @ some.response.lever * t[:, None])[..., None], own], axis=-1)
        places, which = context_places(some.contexts, n, steps), self._set_of_kind[some.kinds]
        by_set = np.argsort(which, kind="stable")
        _, first, number = np.unique(which[by_set], return_index=True, return_counts=True)
        length = np.diff(some.members.indptr)[by_set[first]]
        for m, alike in np.unique(np.stack([length, number], axis=1), axis=0):
            sets = np.flatnonzero((length == m) & (number == alike))
            block = max(1, _BLOCK // (len(t) * len(some.u) * int(m * every.shape[-1] + alike)))
            for begin in range(0, len(sets), block):
                kinds = by_set[first[sets[begin : begin + block]][:, None] + np.arange(alike)]
                entry = some.members.indptr[kinds[:, 0]][:, None] + np.arange(m)
                row = some.members.indices[entry] // (self.response.n_categories // k)
                scores = every[row] * some.members.data[entry][..., None, None, None]
                scores = scores.transpose(0, 2, 3, 1, 4).reshape(*scores.shape[:1], *every.shape[1:3], -1)
                share = integral.share[kinds].transpose(0, 3, 1, 2)
                means, total = share @ scores, self.kinds.total[some.kinds[kinds]]
                if self.sums:  # of the spread: what the sum adds
                    means[..., steps] += total[:, None] * (share @ some.u)
                place = places[row // k].reshape(len(kinds), -1)
                yield _Spelled(kinds, place, steps, scores, means, total)


@dataclass(frozen=True, slots=True, eq=False)
class _Spelled:
    """Scores of sets of items, or of patterns of scores, by the slopes and intercepts of their members' contexts."""

    kinds: Indices
    """(sets, kinds): among those of the raters."""
    place: Indices
    """(sets, scores): slope and intercepts of each member."""
    spread: int
    """Which of them is the first spread."""
    scores: Array
    """(sets, nodes, u, scores), but for what the sum of a kind's scores adds: T u to that of the first spread."""
    means: Array
    """(sets, nodes, kinds, scores): averaged over u, with that."""
    total: Array
    """(sets, kinds): T"""

    def covariances(self, u: Array, weighted: Array, counts: Array) -> Array:
        """(sets, scores, scores): summed over nodes and kinds, which differ by T u alone."""
        n, size = self.place.shape
        weight, flat = weighted[self.kinds].transpose(0, 1, 3, 2), self.scores.reshape(n, -1, size)
        found = covariances(
            flat,
            weight.sum(axis=1).reshape(n, -1),
            self.means.reshape(n, -1, size),
            counts[self.kinds].swapaxes(1, 2).reshape(n, -1),
        )
        if self.total.any():
            spread, summed = self.spread, u * np.einsum("sk,skqu->squ", self.total, weight)
            pull = np.einsum("sa,sad->sd", summed.reshape(n, -1), flat)
            found[:, spread] += pull
            found[:, :, spread] += pull
            found[:, spread, spread] += np.einsum("sk,sku->su", self.total**2, weight.sum(axis=2)) @ u**2
        return found


def rule(step: float) -> tuple[Array, Array]:
    """Nodes and log weights for u: a trapezoidal rule."""
    points = np.arange(-np.ceil(_REACH / step), np.ceil(_REACH / step) + 1) * step
    return points, -0.5 * points**2 - 0.5 * np.log(2 * np.pi) + np.log(step)


def _given(some: _Raters, weighted: Array) -> Array:
    """(contexts, categories, pairs of u and node): ratings in readings of these kinds."""
    rows = some.members.T @ weighted.reshape(len(weighted), -1)
    return np.asarray(rows).reshape(len(some.contexts), -1, rows.shape[1])
