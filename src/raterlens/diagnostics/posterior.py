"""The model's predictions averaged over posteriors, students in blocks: what `residuals` is made of.

Large data go through compiled code (`kernels/residual_sweep.py`); a test holds it to the readable code here.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from raterlens.base.arrays import Array, Indices
from raterlens.diagnostics.expectation import Expectation
from raterlens.diagnostics.grouping import large
from raterlens.likelihood.nodes import Nodes
from raterlens.models.responses import Predictor, Response

if TYPE_CHECKING:
    from raterlens.kernels import residual_sweep

# Numbers in one block of ratings x nodes, or pairs x nodes in compiled code: 4 MB each, a handful at a time.
_BLOCK = 2**19
# Variances below this are rounding; a score that contradicts one is listed as unexpected instead.
_LEAST_VARIANCE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """The model at its parameters, over nodes: rows are contexts, or contexts x categories ("cells")."""

    log_prob: Array
    """(cells, nodes)"""
    prob: Array
    """(contexts, categories, nodes)"""
    standardised: Array
    """(cells, nodes): (y - mean)^2 / variance"""
    mean: Array
    """(contexts, nodes)"""
    variance: Array
    kurtosis: Array
    """(contexts, nodes): E z^4 - 1"""
    score: Array | None
    """(cells, nodes) derivative in the base of the intercepts; None where it is the residual"""
    information: Array | None
    middle: Array | None
    """(contexts, nodes): E y (K - 1 - y)"""
    middle_variance: Array | None
    n_categories: int


def tables_of(response: Response, predictor: Predictor, nodes: Nodes) -> Tables:
    """The model's predictions at every node."""
    log_prob = response.log_prob(predictor, nodes.points)
    k, size = response.n_categories, len(nodes.points)
    y = np.arange(k, dtype=np.float64)
    p = np.exp(log_prob)
    mean = np.einsum("ckq,k->cq", p, y)
    away = (y[:, None] - mean[:, None]) ** 2
    variance = np.maximum(np.einsum("ckq,ckq->cq", p, away), _LEAST_VARIANCE)
    kurtosis = np.einsum("ckq,ckq->cq", p, away**2) / variance**2 - 1
    score = information = middle = middle_variance = None
    if not response.by_sums:
        by_base = np.einsum("jckq,j->ckq", response.scores(predictor, nodes.points), response.lever)
        information = np.einsum("ckq,ckq->cq", p, by_base**2)
        score = by_base.reshape(-1, size)
    if k > 2:
        between = y * (k - 1 - y)
        middle = np.einsum("ckq,k->cq", p, between)
        middle_variance = np.einsum("ckq,k->cq", p, between**2) - middle**2
    return Tables(
        log_prob=log_prob.reshape(-1, size),
        prob=p,
        standardised=(away / variance[:, None]).reshape(-1, size),
        mean=mean,
        variance=variance,
        kurtosis=kurtosis,
        score=score,
        information=information,
        middle=middle,
        middle_variance=middle_variance,
        n_categories=k,
    )


OF_RATING = (
    "expected",
    "variance",
    "squared",
    "standardised",
    "fourth",
    "score",
    "tilt",
    "probability",
    "foreseen",
    "foreseen_variance",
)
OF_PAIR = ("together", "alone", "rest", "rest_sd")
OF_JUDGED = ("mean", "sd")


class Pass:
    """One pass: the model, the ratings sorted by student and rater, and what is found, filled in block by block."""

    def __init__(self, model: Expectation, tables: Tables, context: NDArray[np.integer]) -> None:
        """`context` of every rating"""
        pairs, one = model.pairs, model.pairs.example
        self.tables, self.nodes, self.order = tables, model.nodes, pairs.order
        self.context, self.given = context, model.ratings.score
        self.judged, self.rater = (
            model.judged[one].astype(np.int64),
            model.ratings.rater[one].astype(np.int64),
        )
        self.n_judged, self.prior, self.prior_apart = model.n_judged, model.prior, model.prior_apart
        self.first_pair = np.searchsorted(self.judged, np.arange(model.n_judged + 1))
        self.first_rating = pairs.first
        self.of_rating = np.empty((len(OF_RATING), len(pairs.order)))
        self.of_pair = np.empty((len(OF_PAIR), len(pairs)))
        self.of_judged = np.empty((len(OF_JUDGED), model.n_judged))
        self.compiled: residual_sweep.Sweep | None = None

    def found(self) -> dict[str, Array]:
        """All of it by name."""
        named = ((OF_RATING, self.of_rating), (OF_PAIR, self.of_pair))
        found = {name: row for names, rows in named for name, row in zip(names, rows, strict=True)}
        # Where the score is the residual.
        return found | {"information": found["variance"]}

    def blocks(self) -> Iterator["Block"]:
        """Whole students (or pieces of work), about `_BLOCK` numbers at a time."""
        before = self.first_pair if large(len(self.order)) else self.first_rating[self.first_pair]
        size = max(1, _BLOCK // len(self.nodes.points))
        start = 0
        while start < self.n_judged:
            last = int(np.searchsorted(before, before[start] + size, side="right")) - 1
            stop = min(max(last, start + 1), self.n_judged)
            pairs = slice(int(self.first_pair[start]), int(self.first_pair[stop]))
            ratings = self.order[self.first_rating[pairs.start] : self.first_rating[pairs.stop]]
            yield Block(slice(start, stop), pairs, ratings)
            start = stop


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Consecutive students (or pieces of work), their pairs and their ratings (places among all, sorted by pair)."""

    judged: slice
    pairs: slice
    ratings: Indices


Sweep = Callable[[Pass, Block], Array]


def sweep(work: Pass, block: Block) -> Array:
    """Fill in one block; return the posteriors of its students."""
    tables, t = work.tables, work.nodes.points
    context, given = work.context[block.ratings], work.given[block.ratings]
    y = given.astype(np.float64)
    cell = context * tables.n_categories + given
    marks = work.first_rating[block.pairs.start : block.pairs.stop + 1] - work.first_rating[block.pairs.start]
    pair = np.repeat(np.arange(len(marks) - 1), np.diff(marks))
    whose = work.judged[block.pairs] - block.judged.start
    mine, first = whose[pair], marks[:-1]
    first_pair = work.first_pair[block.judged] - block.pairs.start

    of_pair = _summed(tables.log_prob, cell, marks)
    prior = work.prior if len(work.prior) == 1 else work.prior[block.judged]
    joint = np.add.reduceat(of_pair, first_pair) + prior
    without = joint[whose] - of_pair
    if len(work.prior_apart):
        without += work.prior_apart[block.pairs] - prior[whose]
    posterior, cavity = _normalised(joint), _normalised(without)
    ability, _ = work.of_judged[:, block.judged] = _moments(posterior, t)

    def over(weights: Array, row: Indices, values: Array) -> Array:
        return np.asarray(np.einsum("iq,iq->i", weights[row], values))

    mean, variance_at = tables.mean[context], tables.variance[context]
    second = variance_at + mean**2
    expected = over(posterior, mine, mean)
    variance = over(posterior, mine, variance_at)
    squared = y**2 - 2 * y * expected + over(posterior, mine, mean**2)
    foreseen = over(cavity, pair, mean)
    work.of_rating[:, block.ratings] = (
        expected,
        variance,
        squared,
        over(posterior, mine, tables.standardised[cell]),
        over(posterior, mine, tables.kurtosis[context]),
        y - expected,
        y * ability[mine] - over(posterior * t, mine, mean),
        over(cavity, pair, tables.prob.reshape(-1, len(t))[cell]),
        foreseen,
        over(cavity, pair, second) - foreseen**2,
    )
    away = np.add.reduceat(y, first)[:, None] - _summed(tables.mean, context, marks)
    together = over(posterior, whose, away**2) - np.add.reduceat(squared, first)
    alone = np.add.reduceat(np.sqrt(variance), first) ** 2 - np.add.reduceat(variance, first)
    work.of_pair[:, block.pairs] = together, alone, *_moments(cavity, t)
    return posterior


def sweep_for(n_ratings: int) -> Sweep:
    """Compiled code where it pays."""
    return _compiled_sweep if large(n_ratings) else sweep


def _compiled_sweep(work: Pass, block: Block) -> Array:
    if work.compiled is None:  # its codes are checked once, not for every block
        work.compiled = _ready(work)
    by_rater = np.argsort(work.rater[block.pairs], kind="stable")
    return work.compiled.over((block.judged.start, block.judged.stop), by_rater)


def _ready(work: Pass) -> "residual_sweep.Sweep":
    from raterlens.kernels import residual_sweep  # may be missing

    tables = work.tables
    return residual_sweep.Sweep(
        residual_sweep.Grouped(work.first_pair, work.first_rating, work.order, work.context, work.given),
        residual_sweep.Tables(
            tables.log_prob, tables.prob, tables.standardised, tables.mean, tables.variance, tables.kurtosis
        ),
        work.nodes.points,
        (work.prior, work.prior_apart),
        residual_sweep.Found(work.of_rating, work.of_pair, work.of_judged),
    )


def _summed(table: Array, row: NDArray[np.integer], marks: Indices) -> Array:
    """(pairs, nodes): the rows of a table that belong to the ratings of a pair, summed."""
    shape = (len(marks) - 1, len(table))
    return np.asarray(sparse.csr_array((np.ones(len(row)), row, marks), shape=shape) @ table)


def _normalised(log: Array) -> Array:
    log = log - log.max(axis=1)[:, None]
    np.exp(log, out=log)
    log /= log.sum(axis=1)[:, None]
    return log


def _moments(posterior: Array, t: Array) -> tuple[Array, Array]:
    mean = posterior @ t
    return mean, np.sqrt(np.einsum("nq,nq->n", posterior, (t - mean[:, None]) ** 2))


# ------------------------------------------------------------------- averages besides the pass itself

Codes = NDArray[np.integer]


@dataclass(frozen=True, slots=True)
class Averages:
    """The same sums, readable or compiled."""

    averaged: Callable[[Array, Codes, Array, Codes], Array]
    agreeing: Callable[[Array, Codes, Array, Codes, Codes], Array]


def averaged(weights: Array, weight: Codes, table: Array, row: Codes) -> Array:
    """`sum_q weights[weight_i, q] table[row_i, q]` for every i."""
    return np.asarray(np.einsum("iq,iq->i", weights[weight], table[row]))


def agreeing(weights: Array, weight: Codes, prob: Array, one: Codes, two: Codes) -> Array:
    """`sum_q weights[weight_i, q] sum_k prob[one_i, k, q] prob[two_i, k, q]`: two scores are the same, for every i."""
    return np.asarray(np.einsum("iq,ikq,ikq->i", weights[weight], prob[one], prob[two]))


def averages_for(n_ratings: int) -> Averages:
    """Compiled code where it pays."""
    if not large(n_ratings):
        return Averages(averaged, agreeing)
    from raterlens.kernels import residual_sweep  # may be missing

    return Averages(residual_sweep.averaged, residual_sweep.agreeing)
