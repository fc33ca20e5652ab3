"""Predictions of a fitted model: all that diagnostics ask of a model."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from raterlens.base.arrays import Array, Indices
from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option
from raterlens.base.threads import in_background
from raterlens.capability.links import get_link
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
from raterlens.ratings.coded import Ratings
from raterlens.ratings.groupings import Groups, grouped

# --------------------------------------------------------------------------------------------------- expectation


# Expectations of a model at its estimates: all that diagnostics ask of a model.
#
# Every rating judges something that is not known, whose values are nodes: in facets models the student's ability, in
# latent class models the true category, 0 or 1, of the student's work on the item. Given that value, a rating depends
# on its context (rater, item, further facets) alone.


@dataclass(frozen=True, slots=True, eq=False)
class Expectation:
    """A model with everything but what is judged fixed, on ratings."""

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


# ------------------------------------------------------------------------------------------- ability expectation


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
        return _expectation(placed or place(calibration, ratings), calibration, pairs)


def _expectation(placed: Placed, calibration: Calibration, pairs: Callable[[], Groups]) -> Expectation:
    """`pairs`: what returns those of a student and a rater, which are being put together."""
    coded, model, response = placed.ratings, placed.problem.model.single, placed.problem.response.single
    known, predictor = model.known_slope, model.predictor(placed.parameters)
    own_nodes = placed.problem.own_nodes(placed.parameters)
    if own_nodes is not None:
        nodes = own_nodes
        response, predictor = (
            placed.problem.response.on(nodes.points, nodes.z),
            placed.problem.model.predictor(placed.parameters),
        )
    else:
        widest = _WIDEST_STEP if known is None else min(_WIDEST_STEP, 1 / known)
        nodes = _nodes(placed.abilities(), widest)
    readings = model.reading_variances(placed.parameters)
    if readings is not None or model.nested:
        # Of single scores: what those of a reading share besides ability is left to the halo that is looked for.
        variance = model.piece_variance(placed.parameters) * predictor.slope**2
        variance += 0.0 if readings is None else readings[model.contexts.rater]
        response = AveragedResponse(response, np.sqrt(variance))
    prior = placed.problem.log_prior(placed.parameters, nodes)
    contexts = model.contexts
    if known is not None:
        plain = model.predictor(placed.parameters)
        prior = prior + _told(coded, model, placed.problem.response.single, plain, nodes.points)
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
        slopes=placed.parameters[model.blocks["slope"]],
        bound=placed,
        own_slopes=bool(np.ptp(calibration.effects["slope"]) > 0) and not calibration.covariates,
    )


def _told(ratings: Ratings, model: FacetsModel, response: Response, predictor: Predictor, t: Array) -> Array:
    """(students, nodes): what known answers say of abilities."""
    known, found = ratings.known, np.zeros((ratings.n_students, len(t)))
    assert known is not None
    answers = Predictor(predictor.slope[model.n_rated :], predictor.intercepts[model.n_rated :])
    item = np.searchsorted(known.items, known.item)
    np.add.at(found, known.student, response.log_prob(answers, t)[item, known.answer])
    return found


def _nodes(moments: Moments, widest: float) -> Nodes:
    step, reach = nodes_for(moments, _ACCURACY * len(moments.sd)).step, _REACH * moments.sd
    whole = Nodes.equally_spaced(
        float(np.min(moments.mean - reach)), float(np.max(moments.mean + reach)), step
    )
    low, high = min(whole.low, -_PRIOR_REACH), max(whole.high, _PRIOR_REACH)
    step = min(step, widest)
    count = len(Nodes.equally_spaced(low, high, step).points)
    size = -(-count // _VECTOR) * _VECTOR
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

# Numbers in one block of pairs x nodes: 4 MB each, a handful at a time.
_BLOCK = 2**19
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
    take_in_blocks = np.maximum(as_known(np.zeros((len(work), 2)), known), _NEVER)
    if not model.rasch:
        prior = np.log(model.prevalence(parameters, NO_ABILITY.points))[:, item, 0].T
        return np.ascontiguousarray(prior + take_in_blocks), np.empty((0, 2))
    sigma = float(parameters[model.blocks["sigma"]].sum())
    nodes = Nodes.equally_spaced(-6.0, 6.0, min(0.25, 1 / max(sigma, 1e-9)))
    chance = np.log(model.prevalence(parameters, nodes.points))
    # What a pair's ratings say of the category: (pairs, categories).
    answers = model.responses(parameters).log_prob
    said = answers[ratings.rater, ratings.score]
    of_pair = np.stack([np.bincount(pairs.of_row, said[:, k], len(pairs)) for k in (0, 1)], axis=1)
    work_of_pair = work.of_row[pairs.example]
    prior, apart = np.empty((len(work), 2)), np.empty((len(pairs), 2))
    for here, there in _blocks(ratings.student[work.example], work_of_pair, len(nodes.points)):
        whose = work_of_pair[there] - here.start
        n_work = here.stop - here.start
        given = np.stack([np.bincount(whose, of_pair[there, k], n_work) for k in (0, 1)], axis=1)
        given += take_in_blocks[here]
        at = chance[:, item[here]]  # (categories, work, nodes)
        told = special.logsumexp(at + given.T[:, :, None], axis=0)
        student = ratings.student[work.example[here]] - ratings.student[work.example[here.start]]
        total = _summed(told, student) + nodes.log_weights
        prior[here] = special.logsumexp(total[student] - told + at, axis=2).T
        # The same without one rater: what is left of the work, then of the student.
        rest = special.logsumexp(at[:, whose] + (given[whose] - of_pair[there]).T[:, :, None], axis=0)
        rater = ratings.rater[pairs.example[there]]
        met = grouped(student[whose], int(student[-1]) + 1, rater, ratings.n_raters)
        without = total[student[whose]] + _summed(rest - told[whose], met.of_row)[met.of_row]
        apart[there] = special.logsumexp(without - rest + at[:, whose], axis=2).T
    return prior + take_in_blocks, apart + take_in_blocks[work_of_pair]


def _blocks(
    student: NDArray[np.integer], work_of_pair: Indices, n_nodes: int
) -> Iterator[tuple[slice, slice]]:
    """Work and pairs of whole students, about `_BLOCK` numbers at a time."""
    ends = np.append(np.flatnonzero(np.diff(student)) + 1, len(student))
    pairs = np.searchsorted(work_of_pair, ends)
    start = first = 0
    while start < len(student):
        last = max(int(np.searchsorted(pairs, first + _BLOCK // n_nodes, side="right")) - 1, 0)
        last = max(last, int(np.searchsorted(ends, start, side="right")))
        yield slice(start, int(ends[last])), slice(first, int(pairs[last]))
        start, first = int(ends[last]), int(pairs[last])


def _summed(rows: Array, group: NDArray[np.integer]) -> Array:
    """Rows with the same code summed."""
    shape = (int(group.max()) + 1, len(group))
    return np.asarray(
        sparse.csr_array((np.ones(len(group)), (group, np.arange(len(group)))), shape=shape) @ rows
    )
