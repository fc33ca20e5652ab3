"""One pass over the ratings: what each of them says once the model has had its say.

A student's ability is not known, only its posterior. Residuals and their squares are therefore averaged over the
posterior, so that each has exactly its model expectation (mean squares of 1, residuals of 0) however few ratings a
student has. What a rating is compared with, its probability, comes from the ratings of the *other* raters alone
(the cavity posterior): nobody is their own witness.

Students go through in blocks; time and memory are linear in the ratings.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from raterlens.calibration import Calibration
from raterlens.engine.seam import Moments, Nodes
from raterlens.estimation.grid import nodes_for
from raterlens.models.responses import Adjacent, Predictor, Response
from raterlens.ratings import Ratings
from raterlens.scoring import place

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# Numbers in one block of ratings x nodes: 4 MB each, a handful at a time.
_BLOCK = 2**19
# Without the ratings of one rater a posterior may be as wide as the population.
_PRIOR_REACH = 5.0
# Variances below this are rounding; a score that contradicts one is listed as unexpected instead.
_LEAST_VARIANCE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """The ratings of a student by one rater ("essays"), sorted by student, then rater."""

    student: Indices
    rater: Indices
    of_rating: Indices
    """(ratings,) the pair of each rating, in the order of the ratings"""

    def __len__(self) -> int:
        return len(self.student)

    def sums(self, values: Array) -> Array:
        """Sum over the ratings of each pair."""
        return np.bincount(self.of_rating, values, len(self)).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """Posterior averages, one entry a rating (in the order of the ratings), a pair or a student."""

    ratings: Ratings
    """With each score's place among those of the fit."""
    n_categories: int
    own_slopes: bool
    """Every rater has a slope of their own, which the fit has adapted to their ratings"""
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
    """(ratings,) of the score that was given, according to the other raters of the student"""
    foreseen: Array
    """(ratings,) expected score according to the other raters"""
    foreseen_variance: Array
    """(ratings,) of the score, according to the other raters"""
    centrality: Array | None
    """(ratings,) y (K - 1 - y) less its expectation, for ordered scores: above 0 where middle scores abound"""
    spread: Array | None
    """(ratings,) variance of y (K - 1 - y), given ability"""
    together: Array
    """(pairs,) products of different residuals of a pair, summed: 0 unless something besides ability is shared"""
    alone: Array
    """(pairs,) what `together` would be if all residuals of a pair were the same"""
    rest: Array
    """(pairs,) mean ability of the student according to the other raters"""
    rest_sd: Array
    """(pairs,) its uncertainty; 1 where there are no other raters"""
    students: Moments

    @property
    def raw(self) -> Array:
        """(ratings,) score less expected score"""
        return self.ratings.score - self.expected


def residuals(calibration: Calibration, ratings: Ratings) -> Residuals:
    """Average residuals of every rating over the posterior of its student."""
    placed = place(calibration, ratings)
    moments = placed.abilities()
    nodes = _nodes(moments)
    model, response = placed.problem.model, placed.problem.response
    tables = _tables(response, model.predictor(placed.parameters), nodes)
    coded = placed.ratings
    key = coded.student.astype(np.int64) * coded.n_raters + coded.rater
    order = np.argsort(key, kind="stable")
    sorted_key = key[order]
    first_of_pair = np.flatnonzero(np.diff(sorted_key, prepend=-1))
    of_sorted = np.cumsum(np.diff(sorted_key, prepend=-1) > 0) - 1
    of_rating = np.empty_like(order)
    of_rating[order] = of_sorted
    distinct = sorted_key[first_of_pair]
    pairs = Pairs(distinct // coded.n_raters, distinct % coded.n_raters, of_rating)

    filled = _Filled(coded.n_ratings, len(pairs), coded.n_students, ordered=response.n_categories > 2)
    context, given = model.contexts.places(coded)[order], coded.score[order].astype(np.int64)
    for block in _blocks(coded, pairs, first_of_pair, len(nodes.points)):
        filled.fill(block, tables, nodes, context[block.ratings], given[block.ratings])
    back = filled.in_order(of=order)
    return Residuals(
        ratings=coded,
        n_categories=response.n_categories,
        own_slopes=bool(np.ptp(calibration.effects["slope"]) > 0) and not calibration.covariates,
        pairs=pairs,
        students=Moments(filled.mean, filled.sd),
        together=filled.together,
        alone=filled.alone,
        rest=filled.rest,
        rest_sd=filled.rest_sd,
        **back,
    )


def _nodes(moments: Moments) -> Nodes:
    fine = nodes_for(moments)
    return Nodes.equally_spaced(min(fine.low, -_PRIOR_REACH), max(fine.high, _PRIOR_REACH), fine.step)


@dataclass(frozen=True, slots=True, eq=False)
class _Tables:
    """The model at its parameters, over nodes: rows are contexts, or contexts x categories ("cells")."""

    log_prob: Array
    """(cells, nodes)"""
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


def _tables(response: Response, predictor: Predictor, nodes: Nodes) -> _Tables:
    log_prob = response.log_prob(predictor, nodes.points)
    k = response.n_categories
    y = np.arange(k, dtype=np.float64)
    p = np.exp(log_prob)
    mean = np.einsum("ckq,k->cq", p, y)
    away = (y[:, None] - mean[:, None]) ** 2
    variance = np.maximum(np.einsum("ckq,ckq->cq", p, away), _LEAST_VARIANCE)
    kurtosis = np.einsum("ckq,ckq->cq", p, away**2) / variance**2 - 1
    score = information = middle = middle_variance = None
    if not isinstance(response, Adjacent):
        by_base = np.einsum("jckq,j->ckq", response.scores(predictor, nodes.points), response.lever)
        information = np.einsum("ckq,ckq->cq", p, by_base**2)
        score = by_base.reshape(-1, len(nodes.points))
    if k > 2:
        between = y * (k - 1 - y)
        middle = np.einsum("ckq,k->cq", p, between)
        middle_variance = np.einsum("ckq,k->cq", p, between**2) - middle**2
    return _Tables(
        log_prob.reshape(-1, len(nodes.points)),
        mean,
        variance,
        kurtosis,
        score,
        information,
        middle,
        middle_variance,
        k,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """Consecutive students with all that is theirs, in sorted order; positions are relative to the block."""

    students: slice
    pairs: slice
    ratings: slice
    student_of_pair: Indices
    pair_of_rating: Indices
    first_pair: Indices
    first_rating: Indices


def _blocks(ratings: Ratings, pairs: Pairs, first_of_pair: Indices, n_nodes: int) -> Iterator[_Block]:
    first_pair = np.searchsorted(pairs.student, np.arange(ratings.n_students + 1))
    first_rating = np.append(first_of_pair, ratings.n_ratings)
    ratings_before = first_rating[first_pair]
    size = max(1, _BLOCK // n_nodes)
    start = 0
    while start < ratings.n_students:
        last = int(np.searchsorted(ratings_before, ratings_before[start] + size, side="right")) - 1
        stop = min(max(last, start + 1), ratings.n_students)
        here = slice(int(first_pair[start]), int(first_pair[stop]))
        spans = first_rating[here.start : here.stop + 1]
        yield _Block(
            students=slice(start, stop),
            pairs=here,
            ratings=slice(int(spans[0]), int(spans[-1])),
            student_of_pair=pairs.student[here] - start,
            pair_of_rating=np.repeat(np.arange(len(spans) - 1), np.diff(spans)),
            first_pair=first_pair[start:stop] - here.start,
            first_rating=spans[:-1] - spans[0],
        )
        start = stop


class _Filled:
    """Results as blocks fill them in, in sorted order."""

    def __init__(self, n_ratings: int, n_pairs: int, n_students: int, *, ordered: bool) -> None:
        names = [
            "expected",
            "variance",
            "squared",
            "standardised",
            "fourth",
            "score",
            "tilt",
            "information",
            "probability",
            "foreseen",
            "foreseen_variance",
        ]
        self._ordered = ordered
        self._of_rating = {name: np.empty(n_ratings) for name in names + ["centrality", "spread"] * ordered}
        self.together, self.alone = np.empty(n_pairs), np.empty(n_pairs)
        self.rest, self.rest_sd = np.empty(n_pairs), np.empty(n_pairs)
        self.mean, self.sd = np.empty(n_students), np.empty(n_students)

    def in_order(self, of: Indices) -> dict[str, Any]:
        """One entry a rating, in the order of the ratings."""
        back: dict[str, Any] = {"centrality": None, "spread": None}
        place = np.empty_like(of)
        place[of] = np.arange(len(of))
        for name in list(self._of_rating):
            back[name] = self._of_rating.pop(name)[place]
        return back

    def fill(self, block: _Block, tables: _Tables, nodes: Nodes, context: Indices, given: Indices) -> None:
        t, y = nodes.points, given[:, None].astype(np.float64)
        cell = context * tables.n_categories + given
        log_prob = tables.log_prob[cell]
        of_pair = np.add.reduceat(log_prob, block.first_rating)
        joint = np.add.reduceat(of_pair, block.first_pair) + nodes.log_weights
        posterior = _normalised(joint)
        cavity = _normalised(joint[block.student_of_pair] - of_pair)
        self.mean[block.students], self.sd[block.students] = _moments(posterior, t)
        self.rest[block.pairs], self.rest_sd[block.pairs] = _moments(cavity, t)

        by_pair = posterior[block.student_of_pair]
        mean = tables.mean[context]
        of_pair = np.add.reduceat(y - mean, block.first_rating)
        total = np.einsum("pq,pq->p", by_pair, of_pair**2)
        weight = by_pair[block.pair_of_rating]
        out, at = self._of_rating, block.ratings
        away = (y - mean) ** 2
        variance = tables.variance[context]
        out["expected"][at] = _averaged(weight, mean)
        out["variance"][at] = _averaged(weight, variance)
        out["squared"][at] = squared = _averaged(weight, away)
        out["standardised"][at] = _averaged(weight, away / variance)
        out["fourth"][at] = _averaged(weight, tables.kurtosis[context])
        self.together[block.pairs] = total - np.add.reduceat(squared, block.first_rating)
        deviation = np.sqrt(out["variance"][at])
        self.alone[block.pairs] = np.add.reduceat(deviation, block.first_rating) ** 2 - np.add.reduceat(
            out["variance"][at], block.first_rating
        )
        score = y - mean if tables.score is None else tables.score[cell]
        weighted = weight * score
        out["score"][at], out["tilt"][at] = weighted.sum(axis=1), weighted @ t
        out["information"][at] = (
            out["variance"][at]
            if tables.information is None
            else _averaged(weight, tables.information[context])
        )
        if tables.middle is not None and tables.middle_variance is not None:
            out["centrality"][at] = given * (tables.n_categories - 1 - given) - _averaged(
                weight, tables.middle[context]
            )
            out["spread"][at] = _averaged(weight, tables.middle_variance[context])
        weight = cavity[block.pair_of_rating]
        out["foreseen"][at] = foreseen = _averaged(weight, mean)
        out["foreseen_variance"][at] = _averaged(weight, variance + (mean - foreseen[:, None]) ** 2)
        out["probability"][at] = _averaged(weight, np.exp(log_prob, out=log_prob))


def _normalised(log: Array) -> Array:
    log = log - log.max(axis=1)[:, None]
    np.exp(log, out=log)
    log /= log.sum(axis=1)[:, None]
    return log


def _moments(posterior: Array, t: Array) -> tuple[Array, Array]:
    mean = posterior @ t
    return mean, np.sqrt(np.einsum("nq,nq->n", posterior, (t - mean[:, None]) ** 2))


def _averaged(weight: Array, values: Array) -> Array:
    return np.asarray(np.einsum("rq,rq->r", weight, values))
