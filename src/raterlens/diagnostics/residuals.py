"""Predictions of a fitted model, and the residuals of every rating, averaged over the posterior of what it judges.

A student's ability is not known, only its posterior. Residuals and their squares are therefore averaged over the
posterior, so that each has exactly its model expectation (mean squares of 1, residuals of 0) however few ratings a
student has. What a rating is compared with, its probability, comes from the ratings of the *other* raters alone (the
cavity posterior): nobody is their own witness.

Students go through in blocks, in one pass; time and memory are linear in the ratings.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from raterlens.base.arrays import Array, Indices
from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option
from raterlens.base.threads import in_background, in_threads
from raterlens.capability.links import get_link
from raterlens.diagnostics.agreement import PairedRatings, paired_ratings
from raterlens.estimation.scoring import Placed, place, places_of
from raterlens.inference.result import Result
from raterlens.likelihood.nodes import Moments, Nodes, nodes_for
from raterlens.likelihood.true_category import NO_ABILITY, as_known, known_categories
from raterlens.models.calibration import Calibration
from raterlens.models.facets import FacetsModel
from raterlens.models.registry import MODELS
from raterlens.models.responses import Adjacent, AveragedResponse, Linked, Predictor, Response
from raterlens.models.signal_detection import LatentClassModel
from raterlens.models.term import Contexts
from raterlens.models.terms.thresholds import RATER_THRESHOLD
from raterlens.ratings.coded import Codes, Ratings
from raterlens.ratings.groupings import Groups, grouped, large

if TYPE_CHECKING:
    from raterlens.kernels import residual_sweep

# Numbers in one block of ratings x nodes, or pairs x nodes: 4 MB each, a handful at a time.
_BLOCK = 2**19


# --------------------------------------------------------------------------------------------------- expectation


# Every rating judges something that is not known, whose values are nodes: in facets models the student's ability, in
# latent class models the true category, 0 or 1, of the student's work on the item. Given that value, a rating depends
# on its context (rater, item, further facets) alone.


@dataclass(frozen=True, slots=True, eq=False)
class Expectation:
    """A model with everything but what is judged fixed, on ratings: all that diagnostics ask of a model."""

    ratings: Ratings
    """With each score's place among those of the fit."""
    contexts: Contexts
    response: Response
    predictor: Predictor
    """Slope and intercepts of every context"""
    nodes: Nodes
    """Values that what is judged may have"""
    judged: NDArray[np.integer]
    """(ratings,) what each rating judges, 0 .. n_judged - 1: the student, or the student's work on an item"""
    n_judged: int
    pairs: Groups
    """Ratings of the same thing by one rater"""
    prior: Array
    """(n_judged or 1, nodes) log-probability of each value before the ratings of the thing itself"""
    prior_apart: Array
    """(pairs or 0, nodes) the same without what the rater of the pair says of the student elsewhere"""
    slopes: Array
    """(raters,)"""
    own_slopes: bool
    """Every rater has a slope of their own, which the fit has adapted to their ratings"""
    categories: bool = False
    """Latent classes: two error rates per rater, which fit any mean square exactly"""
    bound: Placed | None = None
    """The model on the ratings, where what is judged is an ability"""


# Of each student's averages, relative.
_ACCURACY = 1e-8
# A logistic curve of slope a is smooth only at steps well below its distance pi / a from a pole.
_WIDEST_STEP = 0.35
# Without the ratings of one rater a posterior may be as wide as the population. No further than this, and this many
# posterior standard deviations: one surprising rating far out outweighs everything there, however improbable it is.
_PRIOR_REACH, _REACH = 5.0, 6.0
# Sums over whole vectors of the processor take half as long: the grid goes on until its nodes fill them.
_VECTOR = 8


def of_abilities(calibration: Calibration, ratings: Ratings, placed: Placed | None = None) -> Expectation:
    """Facets models: a student's ratings all judge one ability. `placed`: the model on the ratings, if it is there."""
    by_rater = ratings.student, ratings.n_students, ratings.rater, ratings.n_raters
    with in_background(lambda: grouped(*by_rater)) as pairs:
        placed = placed or place(calibration, ratings)
        problem, parameters, coded = placed.problem, placed.parameters, placed.ratings
        model, response, known = (
            problem.model.single,
            problem.response.single,
            problem.model.single.known_slope,
        )
        predictor, nodes = model.predictor(parameters), problem.own_nodes(parameters)
        if nodes is not None:
            response, predictor = (
                problem.response.on(nodes.points, nodes.z),
                problem.model.predictor(parameters),
            )
        else:
            widest = _WIDEST_STEP if known is None else min(_WIDEST_STEP, 1 / known)
            nodes = _nodes(placed.abilities(), widest)
        readings = model.reading_variances(parameters)
        if readings is not None or model.nested:
            # Of single scores: what those of a reading share besides ability is left to the halo that is looked for.
            variance = model.piece_variance(parameters) * predictor.slope**2
            variance += 0.0 if readings is None else readings[model.contexts.rater]
            response = AveragedResponse(response, np.sqrt(variance))
        prior, contexts = problem.log_prior(parameters, nodes), model.contexts
        if known is not None:
            plain = model.predictor(parameters)
            prior = prior + _known_answers(coded, model, problem.response.single, plain, nodes.points)
            predictor, contexts = predictor.first(model.n_rated), model.contexts.rated
        return Expectation(
            ratings=coded,
            contexts=contexts,
            response=response,
            predictor=predictor,
            nodes=nodes,
            judged=coded.student,
            n_judged=coded.n_students,
            pairs=pairs(),
            prior=prior,
            prior_apart=np.empty((0, len(nodes.points))),
            slopes=parameters[model.blocks["slope"]],
            bound=placed,
            own_slopes=bool(np.ptp(calibration.effects["slope"]) > 0) and not calibration.covariates,
        )


def _known_answers(
    ratings: Ratings, model: FacetsModel, response: Response, predictor: Predictor, t: Array
) -> Array:
    """(students, nodes): what known answers say of abilities."""
    known, found = ratings.known, np.zeros((ratings.n_students, len(t)))
    assert known is not None
    answers = Predictor(predictor.slope[model.n_rated :], predictor.intercepts[model.n_rated :])
    item = np.searchsorted(known.items, known.item)
    np.add.at(found, known.student, response.log_prob(answers, t)[item, known.answer])
    return found


def _nodes(moments: Moments, widest: float) -> Nodes:
    step, reach = nodes_for(moments, _ACCURACY * len(moments.sd)).step, _REACH * moments.sd
    ends = float(np.min(moments.mean - reach)), float(np.max(moments.mean + reach))
    whole = Nodes.equally_spaced(*ends, step)
    low, high, step = min(whole.low, -_PRIOR_REACH), max(whole.high, _PRIOR_REACH), min(step, widest)
    size = -(-len(Nodes.equally_spaced(low, high, step).points) // _VECTOR) * _VECTOR
    # Half a step short of the last one but two: the grid takes the next node, and one more.
    return Nodes.equally_spaced(low, low + (size - 2.5) * step, step)


# ------------------------------------------------------------------------------------------ category expectation


# Expectations of latent class models (hierarchical raters, Dawid-Skene): a rating judges the true category of a
# student's work on an item.
#
# Given that category, raters are those of a facets model with "abilities" 0 and 1: P(y = 1) = F(a xi - c). Before its
# own ratings are seen, the category has the probability that the student's other items give it:
#
#     P(xi_u | others) ~ sum_q w_q P(xi_u | t_q) prod_{v != u} L_v(q),  L_v(q) = sum_xi P(xi | t_q) prod_r P(y_vr | xi)
#
# For what a rating is compared with, all ratings of the student by the same rater are left out of it.

# Log-probability of a category that is known to be the other one.
_NEVER = -80.0
_CATEGORIES = Nodes(np.array([0.0, 1.0]), np.zeros(2))


def of_categories(fit: Result, ratings: Ratings) -> Expectation:
    """Work (student-items) in the order of student and item."""
    if ratings.n_categories > 2:
        raise InputError(
            f"scores go up to {ratings.n_categories - 1}, but the fit knows pass (1) and fail (0) only",
            Message("read them with the same ", Option("cut"), " as the ratings that were fitted"),
            value=ratings.n_categories - 1,
        )
    raters, items = fit.table("raters"), fit.table("items")
    rater = places_of(ratings.raters, raters["rater"], "raters")
    item = places_of(ratings.items, items["item"], "items")
    criterion, slope = (raters[name].to_numpy()[rater] for name in ("criterion", "slope"))
    difficulty = items["delta"].to_numpy()[item] - fit.alpha
    model = LatentClassModel(ratings.n_raters, ratings.n_items, get_link(fit.link), MODELS[fit.model].ability)
    parameters = np.concatenate([criterion - slope / 2, slope, difficulty, [fit.sigma] * model.rasch])
    work = grouped(ratings.student, ratings.n_students, ratings.item, ratings.n_items)
    pairs = grouped(work.of_row, len(work), ratings.rater, ratings.n_raters)
    prior, apart = _priors(ratings, model, parameters, work, pairs)
    contexts = Contexts.of(ratings)
    return Expectation(
        ratings=ratings,
        contexts=contexts,
        response=Adjacent() if fit.link == "logit" else Linked(model.link),
        predictor=Predictor(slope[contexts.rater], -criterion[contexts.rater][:, None]),
        nodes=_CATEGORIES,
        judged=work.of_row,
        n_judged=len(work),
        pairs=pairs,
        prior=prior,
        prior_apart=apart,
        slopes=slope,
        own_slopes=True,
        categories=True,
    )


def _priors(
    ratings: Ratings, model: LatentClassModel, parameters: Array, work: Groups, pairs: Groups
) -> tuple[Array, Array]:
    """(work, categories) and (pairs, categories): log-probabilities up to a constant."""
    item = ratings.item[work.example]
    known = known_categories(ratings, ratings.student[work.example], item)
    told = np.maximum(as_known(np.zeros((len(work), 2)), known), _NEVER)
    if not model.rasch:
        prior = np.log(model.prevalence(parameters, NO_ABILITY.points))[:, item, 0].T
        return np.ascontiguousarray(prior + told), np.empty((0, 2))
    sigma = float(parameters[model.blocks["sigma"]].sum())
    nodes = Nodes.equally_spaced(-6.0, 6.0, min(0.25, 1 / max(sigma, 1e-9)))
    chance = np.log(model.prevalence(parameters, nodes.points))
    # What a pair's ratings say of the category: (pairs, categories).
    said = model.responses(parameters).log_prob[ratings.rater, ratings.score]
    of_pair = np.stack([np.bincount(pairs.of_row, said[:, k], len(pairs)) for k in (0, 1)], axis=1)
    work_of_pair = work.of_row[pairs.example]
    prior, apart = np.empty((len(work), 2)), np.empty((len(pairs), 2))
    for here, there in _blocks(ratings.student[work.example], work_of_pair, len(nodes.points)):
        whose = work_of_pair[there] - here.start
        given = np.stack(
            [np.bincount(whose, of_pair[there, k], here.stop - here.start) for k in (0, 1)], axis=1
        )
        given += told[here]
        at = chance[:, item[here]]  # (categories, work, nodes)
        of_work = special.logsumexp(at + given.T[:, :, None], axis=0)
        student = ratings.student[work.example[here]] - ratings.student[work.example[here.start]]
        total = _added(of_work, student) + nodes.log_weights
        prior[here] = special.logsumexp(total[student] - of_work + at, axis=2).T
        # The same without one rater: what is left of the work, then of the student.
        rest = special.logsumexp(at[:, whose] + (given[whose] - of_pair[there]).T[:, :, None], axis=0)
        rater = ratings.rater[pairs.example[there]]
        met = grouped(student[whose], int(student[-1]) + 1, rater, ratings.n_raters)
        without = total[student[whose]] + _added(rest - of_work[whose], met.of_row)[met.of_row]
        apart[there] = special.logsumexp(without - rest + at[:, whose], axis=2).T
    return prior + told, apart + told[work_of_pair]


def _blocks(student: Codes, work_of_pair: Indices, n_nodes: int) -> Iterator[tuple[slice, slice]]:
    """Work and pairs of whole students, about `_BLOCK` numbers at a time."""
    ends = np.append(np.flatnonzero(np.diff(student)) + 1, len(student))
    pairs = np.searchsorted(work_of_pair, ends)
    start = first = 0
    while start < len(student):
        last = max(int(np.searchsorted(pairs, first + _BLOCK // n_nodes, side="right")) - 1, 0)
        last = max(last, int(np.searchsorted(ends, start, side="right")))
        yield slice(start, int(ends[last])), slice(first, int(pairs[last]))
        start, first = int(ends[last]), int(pairs[last])


def _added(rows: Array, group: NDArray[np.integer]) -> Array:
    """Rows with the same code summed."""
    return _summed(rows, np.arange(len(group)), group, int(group.max()) + 1)


# ---------------------------------------------------------------------------------------------------- predictions


# Variances below this are rounding; a score that contradicts one is listed as unexpected instead.
_LEAST_VARIANCE = 1e-12


class Tables(NamedTuple):
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
    """(contexts, nodes): E y (K - 1 - y), for more than two scores"""
    middle_variance: Array | None


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
    score = information = middle = middle_variance = None
    if not response.by_sums:
        by_base = np.einsum("jckq,j->ckq", response.scores(predictor, nodes.points), response.lever)
        score, information = by_base.reshape(-1, size), np.einsum("ckq,ckq->cq", p, by_base**2)
    if k > 2:
        middle = np.einsum("ckq,k->cq", p, y * (k - 1 - y))
        middle_variance = np.einsum("ckq,k->cq", p, (y * (k - 1 - y)) ** 2) - middle**2
    return Tables(
        log_prob=log_prob.reshape(-1, size),
        prob=p,
        surprise=np.cumsum(p, axis=1) - p / 2 if marks else p,
        standardised=(away / variance[:, None]).reshape(-1, size),
        mean=mean,
        variance=variance,
        kurtosis=np.einsum("ckq,ckq->cq", p, away**2) / variance**2 - 1,
        score=score,
        information=information,
        middle=middle,
        middle_variance=middle_variance,
    )


# -------------------------------------------------------------------------------------------------------- one pass


# Large data go through compiled code (`kernels/residual_sweep.py`); a test holds it to the readable code here.

OF_RATING = (
    *("expected", "variance", "squared", "standardised", "fourth"),
    *("score", "tilt", "probability", "foreseen", "foreseen_variance"),
)
OF_PAIR = ("together", "alone", "rest", "rest_sd")


class _Pass:
    """One pass: the model, the ratings sorted by student and rater, and what is found, filled in block by block."""

    def __init__(self, model: Expectation, context: Codes, paired: PairedRatings | None) -> None:
        """`context` of every rating; `paired`: every two of the same work, if they are to be compared."""
        pairs, n = model.pairs, model.ratings.n_ratings
        self.model, self.context, self.given, self.paired = model, context, model.ratings.score, paired
        self.tables, self.t = tables_of(model.response, model.predictor, model.nodes), model.nodes.points
        self.order, self.first_rating = pairs.order, pairs.first
        self.judged = model.judged[pairs.example].astype(np.int64)
        self.rater = model.ratings.rater[pairs.example].astype(np.int64)
        self.first_pair = np.searchsorted(self.judged, np.arange(model.n_judged + 1))
        self.of_rating = np.empty((len(OF_RATING), n))
        self.of_pair = np.empty((len(OF_PAIR), len(pairs)))
        self.of_judged = np.empty((2, model.n_judged))
        self._averaged, self._agreeing = averages_for(n)
        self._compiled = _compiled(self) if large(n) else None  # its codes are checked once
        # Parts that only some models have.
        names = ("score", "tilt", "information") * (self.tables.score is not None)
        names += ("centrality", "spread") * (self.tables.middle is not None)
        self.further = {name: np.empty(n) for name in names}
        # As wide as what is looked up in it: NumPy would copy it to that width at every search.
        of_two = model.judged[:0] if paired is None else model.judged[paired.first]
        self.of_two = of_two.astype(np.int64)
        self.agreeing = np.empty(len(self.of_two))

    def found(self) -> dict[str, Array]:
        """Averages of ratings and pairs, by name."""
        found = dict(zip((*OF_RATING, *OF_PAIR), (*self.of_rating, *self.of_pair), strict=True))
        if self.tables.surprise is not self.tables.prob:
            found["probability"] = 2 * np.minimum(found["probability"], 1 - found["probability"])
        # Where the score is the residual, its information is the variance.
        return found | {"information": found["variance"]} | self.further

    def blocks(self) -> Iterator[tuple[slice, slice]]:
        """Whole students (or pieces of work) and their pairs, about `_BLOCK` numbers at a time."""
        before = self.first_rating[self.first_pair] if self._compiled is None else self.first_pair
        size = max(1, _BLOCK // len(self.t))
        start = 0
        while start < self.model.n_judged:
            last = int(np.searchsorted(before, before[start] + size, side="right")) - 1
            stop = min(max(last, start + 1), self.model.n_judged)
            yield slice(start, stop), slice(int(self.first_pair[start]), int(self.first_pair[stop]))
            start = stop

    def fill(self, block: tuple[slice, slice]) -> None:
        """Fill in one block."""
        judged, pairs = block
        at = self.order[self.first_rating[pairs.start] : self.first_rating[pairs.stop]]
        if self._compiled is None:
            posterior = sweep(self, judged, pairs, at)
        else:
            by_rater = np.argsort(self.rater[pairs], kind="stable")
            posterior = self._compiled.over((judged.start, judged.stop), by_rater)
        tables, found, average = self.tables, self.further, self._averaged
        if found:
            context, given = self.context[at], self.given[at].astype(np.int64)
            mine, k = self.model.judged[at] - judged.start, self.model.response.n_categories
        if tables.score is not None and tables.information is not None:
            found["score"][at] = average(posterior, mine, tables.score, context * k + given)
            found["tilt"][at] = average(posterior * self.t, mine, tables.score, context * k + given)
            found["information"][at] = average(posterior, mine, tables.information, context)
        if tables.middle is not None and tables.middle_variance is not None:
            middle = average(posterior, mine, tables.middle, context)
            found["centrality"][at] = given * (k - 1 - given) - middle
            found["spread"][at] = average(posterior, mine, tables.middle_variance, context)
        if self.paired is not None:
            here = slice(*np.searchsorted(self.of_two, [judged.start, judged.stop]))
            one, two = self.context[self.paired.first[here]], self.context[self.paired.second[here]]
            whose = self.of_two[here] - judged.start
            self.agreeing[here] = self._agreeing(posterior, whose, tables.prob, one, two)


def sweep(work: _Pass, judged: slice, pairs: slice, at: Indices) -> Array:
    """Fill in one block of students, their pairs and their ratings (places among all, sorted by pair); return the
    posteriors of the students."""
    tables, t = work.tables, work.t
    context, given = work.context[at], work.given[at]
    y = given.astype(np.float64)
    cell = context * work.model.response.n_categories + given
    marks = work.first_rating[pairs.start : pairs.stop + 1] - work.first_rating[pairs.start]
    first, pair = marks[:-1], np.repeat(np.arange(len(marks) - 1), np.diff(marks))
    whose = work.judged[pairs] - judged.start
    mine = whose[pair]

    of_pair = _summed(tables.log_prob, cell, pair, len(first))
    prior = work.model.prior if len(work.model.prior) == 1 else work.model.prior[judged]
    joint = np.add.reduceat(of_pair, work.first_pair[judged] - pairs.start) + prior
    without = joint[whose] - of_pair
    if len(work.model.prior_apart):
        without += work.model.prior_apart[pairs] - prior[whose]
    posterior, cavity = special.softmax(joint, axis=1), special.softmax(without, axis=1)
    ability, _ = work.of_judged[:, judged] = _moments(posterior, t)

    mean, variance_at = tables.mean[context], tables.variance[context]
    expected = _over(posterior, mine, mean)
    variance = _over(posterior, mine, variance_at)
    squared = y**2 - 2 * y * expected + _over(posterior, mine, mean**2)
    foreseen = _over(cavity, pair, mean)
    work.of_rating[:, at] = (
        expected,
        variance,
        squared,
        _over(posterior, mine, tables.standardised[cell]),
        _over(posterior, mine, tables.kurtosis[context]),
        y - expected,
        y * ability[mine] - _over(posterior * t, mine, mean),
        _over(cavity, pair, tables.surprise.reshape(-1, len(t))[cell]),
        foreseen,
        _over(cavity, pair, variance_at + mean**2) - foreseen**2,
    )
    away = np.add.reduceat(y, first)[:, None] - _summed(tables.mean, context, pair, len(first))
    together = _over(posterior, whose, away**2) - np.add.reduceat(squared, first)
    alone = np.add.reduceat(np.sqrt(variance), first) ** 2 - np.add.reduceat(variance, first)
    work.of_pair[:, pairs] = together, alone, *_moments(cavity, t)
    return np.asarray(posterior)


def _compiled(work: _Pass) -> "residual_sweep.Sweep":
    from raterlens.kernels import residual_sweep  # may be missing

    of = work.tables
    return residual_sweep.Sweep(
        residual_sweep.Grouped(work.first_pair, work.first_rating, work.order, work.context, work.given),
        residual_sweep.Tables(of.log_prob, of.surprise, of.standardised, of.mean, of.variance, of.kurtosis),
        work.t,
        (work.model.prior, work.model.prior_apart),
        residual_sweep.Found(work.of_rating, work.of_pair, work.of_judged),
    )


def _over(weights: Array, row: NDArray[np.integer], values: Array) -> Array:
    """`sum_q weights[row_i, q] values[i, q]` for every i."""
    return np.asarray(np.einsum("iq,iq->i", weights[row], values))


def _summed(table: Array, row: NDArray[np.integer], group: NDArray[np.integer], n: int) -> Array:
    """(groups, nodes): the rows of a table that belong to each group, summed."""
    return np.asarray(sparse.csr_array((np.ones(len(row)), (group, row)), shape=(n, len(table))) @ table)


def _moments(posterior: Array, t: Array) -> tuple[Array, Array]:
    mean = posterior @ t
    return mean, np.sqrt(np.einsum("nq,nq->n", posterior, (t - mean[:, None]) ** 2))


def averages_for(n_ratings: int) -> tuple[Callable[..., Array], Callable[..., Array]]:
    """`averaged`, `sum_q weights[weight_i, q] table[row_i, q]` for every i, and `agreeing`, the chance that two scores
    are the same, `sum_q weights[weight_i, q] sum_k prob[one_i, k, q] prob[two_i, k, q]`; compiled where it pays."""
    if large(n_ratings):
        from raterlens.kernels import residual_sweep  # may be missing

        return residual_sweep.averaged, residual_sweep.agreeing

    def averaged(weights: Array, weight: Codes, table: Array, row: Codes) -> Array:
        return _over(weights, weight, table[row])

    def agreeing(weights: Array, weight: Codes, prob: Array, one: Codes, two: Codes) -> Array:
        return np.asarray(np.einsum("iq,ikq,ikq->i", weights[weight], prob[one], prob[two]))

    return averaged, agreeing


# ----------------------------------------------------------------------------------------------------- residuals


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """The ratings of one student (or piece of work: see `Expectation`) by one rater, sorted by student, then rater."""

    judged: Indices
    rater: Indices
    of_rating: Indices
    """(ratings,) the pair of each rating, in the order of the ratings"""
    size: Indices
    """(pairs,) ratings of each"""

    def __len__(self) -> int:
        return len(self.judged)

    def sums(self, values: NDArray[np.generic]) -> Array:
        """Sum over the ratings of each pair."""
        return np.bincount(self.of_rating, values, len(self)).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
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
    centrality: Array | None = None
    """(ratings,) y (K - 1 - y) less its expectation, for ordered scores: above 0 where middle scores abound"""
    spread: Array | None = None
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
        context = model.contexts.places(model.ratings)
        units, paired = same_work()
    work = _Pass(model, context, paired)
    in_threads(work.fill, list(work.blocks()))
    found, pairs = work.found(), Pairs(work.judged, work.rater, model.pairs.of_row, model.pairs.size)
    return Residuals(
        ratings=model.ratings,
        own_thresholds=known is not None and RATER_THRESHOLD in known.effects,
        model=model,
        pairs=pairs,
        ability=Moments(*work.of_judged),
        context=context,
        units=units,
        paired=paired and replace(paired, expected=work.agreeing),
        score_of_pair=pairs.sums(found["score"]),
        tilt_of_pair=pairs.sums(found["tilt"]),
        **found,
    )


def _of_the_same_work(ratings: Ratings) -> tuple[Groups, PairedRatings | None]:
    """The ratings of the same piece of a student's work on an item, and every two of these."""
    work, n = ratings.item, ratings.n_items
    if ratings.piece is not None:
        work, n = work * len(ratings.piece.labels) + ratings.piece.codes, n * len(ratings.piece.labels)
    units = grouped(ratings.student, ratings.n_students, work, n)
    return units, paired_ratings(ratings, units)
