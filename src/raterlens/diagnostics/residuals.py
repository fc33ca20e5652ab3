"""Residuals of every rating, averaged over the posterior of what it judges, in one pass."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from raterlens.base.arrays import Array, Indices
from raterlens.base.threads import in_background, in_threads
from raterlens.diagnostics.agreement import PairedRatings, paired_ratings
from raterlens.diagnostics.predictions import Expectation, of_abilities, of_categories
from raterlens.estimation.scoring import Placed
from raterlens.inference.result import Result
from raterlens.likelihood.nodes import Moments, Nodes
from raterlens.models.responses import Predictor, Response
from raterlens.models.terms.rater_thresholds import RATER_THRESHOLD
from raterlens.ratings.coded import Ratings
from raterlens.ratings.groupings import Groups, grouped, large

if TYPE_CHECKING:
    from raterlens.kernels import residual_sweep


# ----------------------------------------------------------------------------------------------------- posterior


# The model's predictions averaged over posteriors, students in blocks: what `residuals` is made of.
#
# Large data go through compiled code (`kernels/residual_sweep.py`); a test holds it to the readable code here.

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
    surprise: Array
    """(contexts, categories, nodes): `prob`; of marks on a fine scale, each of which is improbable, the probability of
    a lower one and half that of the same"""
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
    # Marks on a fine scale have densities, per log-odds where they are probabilities.
    marks = response.least_noise > 0
    p = response.chances(predictor, nodes.points) if marks else np.exp(log_prob)
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
        surprise=np.cumsum(p, axis=1) - p / 2 if marks else p,
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

    def __init__(
        self, model: Expectation, context: NDArray[np.integer], paired: PairedRatings | None = None
    ) -> None:
        """`context` of every rating; `paired`: every two of the same work, if they are to be compared."""
        pairs, one = model.pairs, model.pairs.example
        self.tables, self.nodes = tables_of(model.response, model.predictor, model.nodes), model.nodes
        self.order, self.context, self.given = pairs.order, context, model.ratings.score
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
        self.large = large(model.ratings.n_ratings)
        self._averaged, self._agreeing = averages_for(model.ratings.n_ratings)
        self._compiled = _compiled(self) if self.large else None  # its codes are checked once
        # Parts that only some models have.
        names = ("score", "tilt", "information") * (self.tables.score is not None)
        names += ("centrality", "spread") * (self.tables.middle is not None)
        self.further = {name: np.empty(model.ratings.n_ratings) for name in names}
        self.judged_by, self.paired = model.judged, paired
        # As wide as what is looked up in it: NumPy would copy it to that width at every search.
        of_two = model.judged[:0] if paired is None else model.judged[paired.first]
        self.of_two = of_two.astype(np.int64)
        self.agreeing = np.empty(len(paired or ()))

    def found(self) -> dict[str, Array]:
        """All of it by name."""
        named = ((OF_RATING, self.of_rating), (OF_PAIR, self.of_pair))
        found = {name: row for names, rows in named for name, row in zip(names, rows, strict=True)}
        if self.tables.surprise is not self.tables.prob:
            found["probability"] = 2 * np.minimum(found["probability"], 1 - found["probability"])
        # Where the score is the residual.
        return found | {"information": found["variance"]} | self.further

    def blocks(self) -> Iterator["Block"]:
        """Whole students (or pieces of work), about `_BLOCK` numbers at a time."""
        before = self.first_pair if self.large else self.first_rating[self.first_pair]
        size = max(1, _BLOCK // len(self.nodes.points))
        start = 0
        while start < self.n_judged:
            last = int(np.searchsorted(before, before[start] + size, side="right")) - 1
            stop = min(max(last, start + 1), self.n_judged)
            pairs = slice(int(self.first_pair[start]), int(self.first_pair[stop]))
            ratings = self.order[self.first_rating[pairs.start] : self.first_rating[pairs.stop]]
            yield Block(slice(start, stop), pairs, ratings)
            start = stop

    def fill(self, block: "Block") -> None:
        """Fill in one block."""
        if self._compiled is None:
            posterior = sweep(self, block)
        else:
            by_rater = np.argsort(self.rater[block.pairs], kind="stable")
            posterior = self._compiled.over((block.judged.start, block.judged.stop), by_rater)
        self._fill_further(block, posterior)

    def _fill_further(self, block: "Block", posterior: Array) -> None:
        tables, found, average = self.tables, self.further, self._averaged
        if found:
            at = block.ratings
            context, given = self.context[at], self.given[at].astype(np.int64)
            judged = self.judged_by[at] - block.judged.start
        if tables.score is not None and tables.information is not None:
            cell = context * tables.n_categories + given
            found["score"][at] = average(posterior, judged, tables.score, cell)
            found["tilt"][at] = average(posterior * self.nodes.points, judged, tables.score, cell)
            found["information"][at] = average(posterior, judged, tables.information, context)
        if tables.middle is not None and tables.middle_variance is not None:
            middle = average(posterior, judged, tables.middle, context)
            found["centrality"][at] = given * (tables.n_categories - 1 - given) - middle
            found["spread"][at] = average(posterior, judged, tables.middle_variance, context)
        if self.paired is not None:
            here = slice(*np.searchsorted(self.of_two, [block.judged.start, block.judged.stop]))
            whose = self.of_two[here] - block.judged.start
            one, two = self.context[self.paired.first[here]], self.context[self.paired.second[here]]
            self.agreeing[here] = self._agreeing(posterior, whose, tables.prob, one, two)


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Consecutive students (or pieces of work), their pairs and their ratings (places among all, sorted by pair)."""

    judged: slice
    pairs: slice
    ratings: Indices


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
        over(cavity, pair, tables.surprise.reshape(-1, len(t))[cell]),
        foreseen,
        over(cavity, pair, second) - foreseen**2,
    )
    away = np.add.reduceat(y, first)[:, None] - _summed(tables.mean, context, marks)
    together = over(posterior, whose, away**2) - np.add.reduceat(squared, first)
    alone = np.add.reduceat(np.sqrt(variance), first) ** 2 - np.add.reduceat(variance, first)
    work.of_pair[:, block.pairs] = together, alone, *_moments(cavity, t)
    return posterior


def _compiled(work: Pass) -> "residual_sweep.Sweep":
    from raterlens.kernels import residual_sweep  # may be missing

    tables = work.tables
    return residual_sweep.Sweep(
        residual_sweep.Grouped(work.first_pair, work.first_rating, work.order, work.context, work.given),
        residual_sweep.Tables(
            tables.log_prob,
            tables.surprise,
            tables.standardised,
            tables.mean,
            tables.variance,
            tables.kurtosis,
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


Codes = NDArray[np.integer]


def averaged(weights: Array, weight: Codes, table: Array, row: Codes) -> Array:
    """`sum_q weights[weight_i, q] table[row_i, q]` for every i."""
    return np.asarray(np.einsum("iq,iq->i", weights[weight], table[row]))


def agreeing(weights: Array, weight: Codes, prob: Array, one: Codes, two: Codes) -> Array:
    """`sum_q weights[weight_i, q] sum_k prob[one_i, k, q] prob[two_i, k, q]`: two scores are the same, for every i."""
    return np.asarray(np.einsum("iq,ikq,ikq->i", weights[weight], prob[one], prob[two]))


def averages_for(n_ratings: int) -> tuple[Callable[..., Array], Callable[..., Array]]:
    """`averaged` and `agreeing`, by compiled code where it pays."""
    if not large(n_ratings):
        return averaged, agreeing
    from raterlens.kernels import residual_sweep  # may be missing

    return residual_sweep.averaged, residual_sweep.agreeing


# ----------------------------------------------------------------------------------------------------- residuals


# One pass over the ratings: what each of them says once the model has had its say.
#
# A student's ability is not known, only its posterior. Residuals and their squares are therefore averaged over the
# posterior, so that each has exactly its model expectation (mean squares of 1, residuals of 0) however few ratings a
# student has. What a rating is compared with, its probability, comes from the ratings of the *other* raters alone
# (the cavity posterior): nobody is their own witness.
#
# Students go through in blocks; time and memory are linear in the ratings.


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """The ratings of one student (or piece of work: see `Expectation`) by one rater, sorted by student, then rater."""

    judged: Indices
    rater: Indices
    ratings: Groups
    """The ratings of each pair"""

    def __len__(self) -> int:
        return len(self.judged)

    @property
    def of_rating(self) -> Indices:
        """(ratings,) the pair of each rating, in the order of the ratings"""
        return self.ratings.of_row

    @property
    def size(self) -> Indices:
        """(pairs,) ratings of each"""
        return self.ratings.size

    def sums(self, values: NDArray[np.generic]) -> Array:
        """Sum over the ratings of each pair."""
        return np.bincount(self.of_rating, values, len(self)).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """Posterior averages, one entry per rating (in the order of the ratings), pair or student."""

    ratings: Ratings
    """With each score's place among those of the fit."""
    own_thresholds: bool
    """Every rater uses the scores in their own way, which the model has"""
    pairs: Pairs
    expected: Array
    """(ratings,) expected score"""
    variance: Array
    """(ratings,) of the score, given ability"""
    squared: Array
    """(ratings,) squared residual"""
    standardised: Array
    """(ratings,) squared residual over variance, averaged together"""
    fourth: Array
    """(ratings,) what the squared, standardised residual varies by, given ability: E z^4 - 1"""
    score: Array
    """(ratings,) derivative of the log-likelihood in (minus) severity; the residual itself with the logit link"""
    tilt: Array
    """(ratings,) the same times ability: the derivative in the slope"""
    information: Array
    """(ratings,) expected square of `score`, given ability"""
    probability: Array
    """(ratings,) of the score that was given, according to the other raters of the student; of a mark on a fine scale,
    of one as far out on either side"""
    foreseen: Array
    """(ratings,) expected score according to the other raters"""
    foreseen_variance: Array
    """(ratings,) of the score, according to the other raters"""
    centrality: Array | None
    """(ratings,) y (K - 1 - y) less its expectation, for ordered scores: above 0 where middle scores abound"""
    spread: Array | None
    """(ratings,) variance of y (K - 1 - y), given ability"""
    score_of_pair: Array
    """(pairs,) sum of `score`"""
    tilt_of_pair: Array
    together: Array
    """(pairs,) products of different residuals of a pair, summed: 0 unless something besides ability is shared"""
    alone: Array
    """(pairs,) what `together` would be if all residuals of a pair were the same"""
    rest: Array
    """(pairs,) mean ability (category) according to the other raters"""
    rest_sd: Array
    """(pairs,) its uncertainty; 1 where there are no other raters"""
    ability: Moments
    """(judged) of the student; of work, the probability that it deserves to pass"""
    context: NDArray[np.integer]
    """(ratings,) the context of each rating: its rater, item and further facets"""
    units: Groups | None
    """Ratings of the same student and item, where they were to be compared"""
    paired: PairedRatings | None
    """Every two of these, with the probability that they are the same; None also where there are too many"""
    model: Expectation
    """The predictions that all of this comes from"""

    @property
    def theta(self) -> Array:
        """(ratings,) mean ability of the student"""
        return np.asarray(self.ability.mean[self.model.judged])

    @property
    def ability_of_pair(self) -> Array:
        """(pairs,) mean ability of the student"""
        return np.asarray(self.ability.mean[self.pairs.judged])

    @property
    def width_of_pair(self) -> Array:
        """(pairs,) variance of the student's ability"""
        return np.asarray(np.maximum(self.ability.sd[self.pairs.judged] ** 2, 1e-12))

    @property
    def lean_of_pair(self) -> Array:
        """(pairs,) covariance of the score and ability over the posterior"""
        return self.tilt_of_pair - self.ability_of_pair * self.score_of_pair

    @property
    def lost(self) -> Array:
        """(pairs,) information on severity that not knowing ability costs, residuals taken as linear in ability across
        a posterior"""
        return self.lean_of_pair**2 / self.width_of_pair


def residuals(
    fit: Result, ratings: Ratings, *, compared: bool = False, placed: Placed | None = None
) -> Residuals:
    """Average residuals of every rating over the posterior of what it judges.

    `compared`: ratings of the same work with each other, too. `placed`: the model on the ratings, if it is there.
    """
    known = fit.calibration
    with in_background(lambda: _of_the_same_work(ratings) if compared else (None, None)) as same_work:
        model = of_categories(fit, ratings) if known is None else of_abilities(known, ratings, placed)
        coded = model.ratings
        context = model.contexts.places(coded)
        units, paired = same_work()
    work = Pass(model, context, paired)
    in_threads(work.fill, list(work.blocks()))
    found, pairs = work.found(), Pairs(work.judged, work.rater, model.pairs)
    return Residuals(
        ratings=coded,
        own_thresholds=known is not None and RATER_THRESHOLD in known.effects,
        model=model,
        pairs=pairs,
        ability=Moments(*work.of_judged),
        context=context,
        units=units,
        paired=paired and replace(paired, expected=work.agreeing),
        score_of_pair=pairs.sums(found["score"]),
        tilt_of_pair=pairs.sums(found["tilt"]),
        centrality=found.pop("centrality", None),
        spread=found.pop("spread", None),
        **found,
    )


def _of_the_same_work(ratings: Ratings) -> tuple[Groups, PairedRatings | None]:
    """The ratings of the same piece of a student's work on an item, and every two of these."""
    work, n = ratings.item, ratings.n_items
    if ratings.piece is not None:
        work, n = work * len(ratings.piece.labels) + ratings.piece.codes, n * len(ratings.piece.labels)
    units = grouped(ratings.student, ratings.n_students, work, n)
    return units, paired_ratings(ratings, units)
