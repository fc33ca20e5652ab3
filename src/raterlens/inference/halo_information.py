"""Observed information of the marginal likelihood with a reading effect, exact, by Louis's identity twice.

Given ability, a reading's log-probability T is a logarithm of an average over u, so that

    d2 T = E_u[d2 log p] + Cov_u[d log p]

and what abilities leave uncertain comes off as always (information.py). Everything is added up in the contexts' slopes
and intercepts and in the raters' spreads tau, and carried to the parameters, of which tau^2 is one, at the end.
"""

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from raterlens.base.records import dataclass
from raterlens.base.types import Array, Indices
from raterlens.engine.protocol import CellScores, Matrix, Nodes, Tables
from raterlens.estimation.context_curvature import context_curvature
from raterlens.estimation.extremes import PSEUDO_NODES
from raterlens.estimation.halo_marginal import Averaged, HaloMarginal, Shares
from raterlens.inference.cell_scores import score_rows, slope_reach
from raterlens.inference.shape_information import shape_added, with_everyone
from raterlens.models.responses import Adjacent, counted_scores

# Second derivatives in tau^2 are differences that lose digits as tau goes to 0; they are taken no nearer than here.
_LEAST_SPREAD = 0.02
# Numbers at a time where scores are spelled out for every kind, node and u.
_BLOCK = 2**22


def halo_information(problem: HaloMarginal, parameters: Array, nodes: Nodes) -> Matrix:
    """(parameters, parameters): minus the second derivative of what was maximised."""
    model, response = problem.model, problem.response
    averaged = problem.averaged(parameters, nodes, _LEAST_SPREAD)
    tables = problem.peopled(Tables(averaged.table), parameters, nodes)
    expected, everyone = problem.evaluated(tables, nodes)
    found = problem.collected(averaged, expected.loglik, expected.counts, nodes)
    assert found.d_halo is not None
    through = _through(problem, parameters, averaged.spread)
    second = through.T @ _second(problem, averaged, expected.counts, nodes) @ through
    # tau^2 is a parameter, not tau.
    bend = sparse.diags_array(-found.d_halo / (2 * averaged.spread**2))
    of_halo = model.effect_jacobian(parameters)[model.effects["halo"]]
    second = second + of_halo.T @ bend @ of_halo
    pseudo, predictor = problem.pseudo.spread(), averaged.predictor
    jacobian = model.jacobian(parameters)
    second = second + jacobian.T @ context_curvature(response, predictor, PSEUDO_NODES, pseudo) @ jacobian
    at_nodes = counted_scores(response, predictor, PSEUDO_NODES.points, pseudo)
    d_slope = found.d_slope + at_nodes @ response.lever @ PSEUDO_NODES.points
    second = second + model.second(parameters, d_slope, found.d_intercepts + at_nodes.sum(axis=1))
    second = shape_added(problem, second, parameters, everyone, nodes)
    scores = with_everyone(problem, reading_scores(problem, averaged, through, nodes), parameters, nodes)
    information = -second - problem.engine.score_covariance(tables, nodes, scores)
    if isinstance(information, np.ndarray):
        return information
    return sparse.csr_array((information + information.T) / 2)


def halo_scores(problem: HaloMarginal, parameters: Array, nodes: Nodes) -> CellScores:
    """Of every cell of the engine."""
    averaged = problem.averaged(parameters, nodes, _LEAST_SPREAD)
    scores = reading_scores(problem, averaged, _through(problem, parameters, averaged.spread), nodes)
    return with_everyone(problem, scores, parameters, nodes)


def _through(problem: HaloMarginal, parameters: Array, spread: Array) -> sparse.csr_array:
    """(contexts' slopes, their intercepts, raters' spreads; parameters)"""
    model = problem.model
    of_halo = model.effect_jacobian(parameters)[model.effects["halo"]]
    return sparse.csr_array(
        sparse.vstack([model.jacobian(parameters), sparse.diags_array(0.5 / spread) @ of_halo], format="csr")
    )


def _second(problem: HaloMarginal, averaged: Averaged, counts: Array, nodes: Nodes) -> sparse.csr_array:
    """Expected second derivatives of the readings' log-probabilities, ability being known."""
    return _curvature(problem, averaged, counts, nodes) + _covariance(problem, averaged, counts, nodes)


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
            context = member if problem.by_total else member // problem.response.n_categories
            yield _Spelled(
                kinds,
                context.astype(np.int64),
                own.transpose(0, 2, 3, 1, 4),
                shares[kinds].transpose(0, 2, 1, 3),
            )


def _member_scores(problem: HaloMarginal, at: Shares, t: Array) -> Array:
    """(members, nodes, steps)"""
    if problem.by_total:
        assert isinstance(problem.response, Adjacent)
        return -problem.response.probabilities(at.predictor, t).transpose(0, 2, 1)
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


def reading_scores(
    problem: HaloMarginal, averaged: Averaged, through: sparse.csr_array, nodes: Nodes
) -> CellScores:
    """Each kind's part in a student's score, d T, as a function of ability."""
    response, t, members = problem.response, nodes.points, problem.kinds.members
    n, steps, lever = len(problem.model.contexts), len(response.lever), response.lever
    n_kinds, n_members = members.shape[0], members.nnz
    kind = np.repeat(np.arange(n_kinds), np.diff(members.indptr))
    context = members.indices if problem.by_total else members.indices // response.n_categories
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
