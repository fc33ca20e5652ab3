"""Estimates with a shared dimension, from those without."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array, Mask
from raterlens.estimation.facets_estimate import FacetsEstimate, information_scale
from raterlens.estimation.optimiser import TOLERANCE, Optimum, Search, Space, maximise
from raterlens.estimation.quadrature import Quadrature
from raterlens.likelihood.marginal import ACCURACY, MOST_ROUNDS, FacetsMarginal, marginal
from raterlens.likelihood.nodes import ProductNodes
from raterlens.likelihood.priors import Ridge, pseudo_ratings
from raterlens.models.term import Effect
from raterlens.models.terms.shared_bias import BIAS, SharedBias
from raterlens.ratings.coded import Ratings

# Of the ridge: raters around each other, and biases around 0.
_RATERS, _BIASES = 0.7, 2.0
# Information of one rating about its predictor.
_INFORMATION = 0.15
# Biases to begin with.
_FIRST = 1.0
# Iterations after which starts are compared.
_FIRST_LOOK = 12


def fit_shared(
    problem: FacetsMarginal, starts: list[Array], space: Space, search: Search, tolerance: float = TOLERANCE
) -> Quadrature:
    """Maximise from the most promising start, refining the grid until a finer one changes nothing."""
    nodes, short = problem.rough_nodes(), Search(_FIRST_LOOK)

    def climbed(start: Array, nodes: ProductNodes, search: Search, tolerance: float) -> Optimum:
        return maximise(
            lambda x: problem.value(x, nodes),
            start,
            space,
            search,
            stage="shared dimension",
            tolerance=tolerance,
        )

    tried = [climbed(start, nodes, short, 0.1) for start in starts]
    best = max(tried, key=lambda one: one.value.objective)
    best = climbed(best.parameters, nodes, search, max(tolerance, 0.03))
    nodes = problem.nodes_at(best.parameters, nodes)
    evaluations = iterations = 0
    for _ in range(MOST_ROUNDS):
        best = climbed(best.parameters, nodes, search, tolerance)
        evaluations, iterations = evaluations + best.record.evaluations, iterations + best.record.iterations
        if tolerance > TOLERANCE:
            break
        check = problem.value(best.parameters, finer := nodes.finer()).loglik
        if abs(check - best.value.loglik) <= ACCURACY * abs(check):
            break
        nodes = finer
    parameters = best.parameters.copy()
    bias = problem.model.blocks[BIAS]
    if parameters[bias].sum() < 0:
        parameters[bias] *= -1
    record = replace(best.record, evaluations=evaluations, iterations=iterations, n_nodes=len(nodes.points))
    value = best.value if (parameters == best.parameters).all() else problem.value(parameters, nodes)
    moments = problem.moments(parameters, nodes)
    return Quadrature(Optimum(parameters, value, record), nodes, moments, problem)


def shared_estimate(
    ratings: Ratings, one: FacetsEstimate, free: Mask, search: Search, tolerance: float = TOLERANCE
) -> FacetsEstimate:
    """The maximum with a dimension that the raters in `free` may share, from the estimate without.

    It is looked for from two sides: what the raters agree on is the truth, and they share some of what is left of
    their ratings; or they share what they agree on, and the known answers and trusted raters alone tell the truth.
    """
    model, response = one.model.plus(SharedBias(Effect.of_some(free))), one.problem.response
    own = model.slope.own
    ridge = Ridge(model, _RATERS if own else _BIASES, own)
    pseudo = pseudo_ratings(model, response.n_categories)
    problem = replace(marginal(ratings, model, response, pseudo), ridge=ridge)
    given = _INFORMATION * ratings.tally("rater").n[free]
    information = np.append(information_scale(one.model, one.parameters), given)
    # Who follows what is shared and little else may well be opposed to the truth.
    space = Space(
        information + ridge.information(one.parameters).diagonal(), model.bounds(allow_reversed=own)
    )
    starts = [np.append(one.parameters, _FIRST * _along(_left(ratings, one), free))]
    other = one.parameters.copy()
    if own:
        other[model.blocks["slope"]] = _told_slopes(ratings, free)
    centred = _per_rater(ratings, ratings.score - ratings.tally("rater").mean[ratings.rater])
    starts.append(np.append(other, 1.5 * _FIRST * _along(centred, free)))
    found = fit_shared(problem, starts, space, search, tolerance)
    held = np.append(one.held, np.zeros(model.blocks.sizes[BIAS], dtype=bool))
    return FacetsEstimate.at(problem, found.optimum, found.nodes, found.moments, held)


def _left(ratings: Ratings, one: FacetsEstimate) -> sparse.csr_array:
    """(students, raters): scores less what is expected of them at the students' estimated abilities."""
    model, response = one.model, one.problem.response
    context = model.contexts.rated.places(ratings)
    predictor = model.predictor(one.parameters)
    reach = predictor.slope[context] * one.moments.mean[ratings.student]
    at = predictor.of_ratings(context, reach, response.lever)
    chance = np.exp(response.log_prob(at, np.zeros(1))[..., 0])
    return _per_rater(ratings, ratings.score - chance @ np.arange(response.n_categories))


def _per_rater(ratings: Ratings, values: Array) -> sparse.csr_array:
    shape = (ratings.n_students, ratings.n_raters)
    return sparse.csr_array((values, (ratings.student, ratings.rater)), shape=shape)


def _along(left: sparse.csr_array, free: Mask) -> Array:
    """(free raters,): how much each has of what they have most in common, of length 1 on average."""
    together = (left.T @ left).toarray()[np.ix_(free, free)]
    size = np.sqrt(np.maximum(together.diagonal(), 1e-9))
    together = together / np.outer(size, size)
    np.fill_diagonal(together, 0.0)
    first = np.linalg.eigh(together)[1][:, -1]
    return np.asarray(first * (np.sign(first.sum()) or 1.0) * np.sqrt(len(first)))


def _told_slopes(ratings: Ratings, free: Mask) -> Array:
    """(raters,): slopes by how scores go with the known answers, or with what trusted raters say."""
    most, n = ratings.n_categories - 1, ratings.n_students
    told = np.full(n, np.nan)
    if (known := ratings.known) is not None:
        times = np.bincount(known.student, minlength=n)
        told = np.divide(np.bincount(known.student, known.answer, n), times, where=times > 0, out=told)
    else:
        rows = ~free[ratings.rater]
        times = np.bincount(ratings.student[rows], minlength=n)
        told = np.divide(
            np.bincount(ratings.student[rows], ratings.score[rows], n), times, where=times > 0, out=told
        )
    rows = np.isfinite(told[ratings.student])
    rater, score, truth = (
        ratings.rater[rows],
        ratings.score[rows] / most,
        told[ratings.student[rows]] / most,
    )
    n_raters = ratings.n_raters
    times = np.maximum(np.bincount(rater, minlength=n_raters), 1)
    product, mean, true_mean = (
        np.bincount(rater, each, n_raters) / times for each in (score * truth, score, truth)
    )
    # A rater of slope 1.5 goes with the truth, pass or fail, by about 1/8.
    return np.clip(12.0 * (product - mean * true_mean), 0.2, 3.0)
