"""Checks for every term of a facets model: any new term's test calls `check_term`."""

import numpy as np
from scipy import special

from raterlens.inference.covariance import in_full
from raterlens.likelihood.marginal import FacetsMarginal, marginal
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.priors import Pseudo
from raterlens.models.facets import FacetsModel, centre, redundancy
from raterlens.models.responses import Response
from raterlens.ratings.coded import Ratings
from tests.support.facets_models import assert_gradient, by_differences, flat, somewhere

NODES = Nodes.equally_spaced(-7, 7, 0.2)
# Central differences of functions of order one, with this step.
STEP, CLOSE = 1e-6, {"rtol": 1e-6, "atol": 1e-7}


def check_term(name: str, model: FacetsModel, response: Response, ratings: Ratings) -> None:
    """The term of this name in a model on ratings: its map, its table, its likelihood, its redundancies.

    A term with a prior (`drawn`) need not be told from others by the ratings alone.
    """
    (term,) = (each for each in model.terms if each.name == name)
    x = _somewhere(model)
    _check_map(model, x)
    own = x[model.blocks[name]]
    np.testing.assert_allclose(term.parameters(term.table(own)), own, atol=1e-9)
    lower, upper = term.bounds(allow_reversed=False)
    assert lower.shape == upper.shape == own.shape
    assert (lower < upper).all()
    assert not term.at_limit((lower + upper) / 2).any()
    problem = marginal(ratings, model, response, _nobody(model, response))
    assert_gradient(lambda y: problem.value(y, NODES), x)
    expected = by_differences(problem, x, NODES)
    np.testing.assert_allclose(
        in_full(problem.information(x, NODES)), expected, atol=1e-5 * np.abs(expected).max()
    )
    _check_value(problem.value(x, NODES).loglik, model, response, ratings, x)
    _check_redundancies(problem, model, x)


def _somewhere(model: FacetsModel) -> np.ndarray:
    x = somewhere(model)
    for term in model.terms:
        if term.variance:
            x[model.blocks[term.name]] = 0.3 + np.abs(x[model.blocks[term.name]])
        lower, upper = term.bounds(allow_reversed=True)
        narrow = upper - lower < 2  # such as the shape of the students' distribution
        x[model.blocks[term.name]] *= np.where(narrow, 0.1, 1.0)
    return x


def _nobody(model: FacetsModel, response: Response) -> Pseudo:
    return Pseudo(np.zeros((len(model.contexts), response.n_categories)))


def _check_map(model: FacetsModel, x: np.ndarray) -> None:
    """The Jacobian, what is pulled back through it, and the map's own curvature, against differences."""
    jacobian, units = model.jacobian(x).toarray(), STEP * np.eye(len(x))
    change = [(flat(model.predictor(x + d)) - flat(model.predictor(x - d))) / (2 * STEP) for d in units]
    possible = flat(model.predictor(x)) > -1e8  # scores that cannot be given stay so
    np.testing.assert_allclose(jacobian[possible], np.column_stack(change)[possible], **CLOSE)
    weights, n = np.random.default_rng(6).normal(size=len(jacobian)) * possible, len(model.contexts)
    d_slope, d_intercepts = weights[:n], weights[n:].reshape(n, -1)
    np.testing.assert_allclose(model.pullback(x, d_slope, d_intercepts), jacobian.T @ weights, atol=1e-10)
    bend = [
        (model.pullback(x + d, d_slope, d_intercepts) - model.pullback(x - d, d_slope, d_intercepts))
        / (2 * STEP)
        for d in units
    ]
    np.testing.assert_allclose(model.second(x, d_slope, d_intercepts).toarray(), bend, **CLOSE)


def _check_value(
    loglik: float, model: FacetsModel, response: Response, ratings: Ratings, x: np.ndarray
) -> None:
    """By plain loops over students and ratings, where ratings share nothing but ability."""
    if any(term.variance for term in model.terms) or ratings.known is not None:
        return
    log_prob = response.log_prob(model.predictor(x), NODES.points)
    context, people = model.contexts.places(ratings), model.people(x, NODES.points)
    groups = ratings.student_groups
    whole = 0.0
    for student in range(ratings.n_students):
        log = NODES.log_weights.copy()
        if people is not None:
            log += people[1].log_ratio[0 if groups is None else groups[student]]
        for rating in np.flatnonzero(ratings.student == student):
            log += log_prob[context[rating], ratings.score[rating]]
        whole += float(special.logsumexp(log))
    np.testing.assert_allclose(loglik, whole, rtol=1e-9)


def _check_redundancies(problem: FacetsMarginal, model: FacetsModel, x: np.ndarray) -> None:
    """Directions change nothing, centring meets its constraints, and no others are left but those of priors."""
    known = redundancy(model, x)
    here = problem.value(x, NODES).loglik
    for direction in known.directions:
        moved = problem.value(x + 1e-5 * direction / np.abs(direction).max(), NODES).loglik
        np.testing.assert_allclose(moved, here, rtol=0, atol=1e-6)
    centred = centre(model, x)
    np.testing.assert_allclose(problem.value(centred, NODES).loglik, here, rtol=1e-6)
    np.testing.assert_allclose(redundancy(model, centred).constraints @ centred, 0, atol=1e-9)
    if not model.drawn and not model.n_groups:
        jacobian = model.jacobian(x).toarray()
        hidden = sum(
            model.blocks.sizes[term.name] for term in model.terms if not term.designs(model.contexts)
        )
        hidden += sum(model.blocks.sizes[term.name] for term in model.terms if term.variance)
        assert np.linalg.matrix_rank(jacobian) == model.blocks.size - len(known) - hidden
