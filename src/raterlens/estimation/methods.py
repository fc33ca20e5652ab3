"""Three ways from a model and ratings to estimates, all to the same record."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from raterlens.base.arrays import Array
from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option
from raterlens.capability.links import Link
from raterlens.estimation.checkpoint import Checkpoint, digest
from raterlens.estimation.conditional import Conditional
from raterlens.estimation.facets_estimate import (
    FacetsEstimate,
    Known,
    Task,
    Where,
    information_scale,
    starting_values,
    starting_widths,
)
from raterlens.estimation.log_link_corner import corner_step, fit_with_corner
from raterlens.estimation.optimiser import USUAL, Search, Space, maximise
from raterlens.estimation.quadrature import fit_mml
from raterlens.estimation.several_starts import (
    Method,
    best_of_several,
    may_have_several,
    off_the_level,
    shaped,
    upright,
)
from raterlens.likelihood.engines.contract import Moments
from raterlens.likelihood.forms import marginal
from raterlens.likelihood.grid import nodes_for, reached, step_for
from raterlens.likelihood.marginal import FacetsMarginal, Value
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.pseudo_ratings import pseudo_ratings
from raterlens.models.facets import FacetsModel
from raterlens.models.redundancy import centre
from raterlens.models.responses import Response
from raterlens.models.terms.item_slopes import ITEM_SLOPE
from raterlens.ratings.coded import Ratings

if TYPE_CHECKING:
    pass


# Of the students' posteriors together, where the log-likelihood makes do with less (`grid.py`).
_SHARP, _WIDE, _SMOOTH = 1e-11, 8.0, 1.2
# Enough to see how likely ratings are without ability: iterations, and standard errors from the maximum.
_FEW_STEPS, _ROUGHLY = 60, 0.01


HERE, NOTHING = Where(), Known()


def estimate(
    ratings: Ratings,
    model: FacetsModel,
    response: Response,
    link: Link,
    method: str,
    known: Known = NOTHING,
    search: Search = USUAL,
    where: Where = HERE,
) -> FacetsEstimate:
    """Estimate `model` on `ratings` by one of METHODS."""
    prior = known.prior
    own_slopes = prior is not None and prior.slopes is not None
    lower, upper = model.bounds(allow_reversed=known.allow_reversed or own_slopes)
    held = np.zeros(model.blocks.size, dtype=bool)
    if known.held is not None:
        held = np.isfinite(known.held)
        lower, upper = np.where(held, known.held, lower), np.where(held, known.held, upper)
    start = starting_values(ratings, model, link)
    if known.begin is not None:
        start = np.where(np.isfinite(known.begin), known.begin, start)
    information = information_scale(model, start, ratings.n_students)
    if prior is not None:
        information = information + np.maximum(prior.own_information(start), 0.0)
    space = Space(information, (lower, upper))
    pseudo = pseudo_ratings(model, response.n_categories, raters=prior is None)
    if ITEM_SLOPE in model and not any(held[model.blocks[name]].any() for name in ("slope", "item_slope")):
        pseudo = replace(pseudo, scale_held=float(ratings.n_ratings * ratings.n_items))
    problem = marginal(ratings, model, response, pseudo, where.client).under(prior)
    task = Task(ratings, link, problem, start, space, held, search)
    if where.checkpoint is not None:
        _keep(where.checkpoint, task)
    look = best_of_several if may_have_several(task, method, known) else off_the_level
    found = upright(METHODS[method], task, shaped(METHODS[method], task, look))
    return replace(found, moments=on_scale(model, found.parameters, found.moments))


def on_scale(model: FacetsModel, parameters: Array, moments: Moments) -> Moments:
    """Abilities in units of their population, on the scale of the model: another one where anchors hold it."""
    mean, sd = model.population(parameters)
    return Moments(mean + sd * moments.mean, sd * moments.sd)


def _keep(checkpoint: Checkpoint, task: Task) -> None:
    """Let the problem's values be kept, under the names of these ratings and of this model."""
    model, students = task.problem.model, task.ratings.tally("student")
    of_ratings = digest(model.contexts.codes, model.contexts.given, students.n, students.total)
    kinds = (type(task.problem.response).__name__, task.link.name, model.blocks.sizes)
    checkpoint.begin(
        of_ratings, digest(*kinds, task.start, task.space.information, *task.space.bounds, task.held)
    )
    task.problem.checkpoint = checkpoint


def _mml(task: Task) -> FacetsEstimate:
    if task.problem.response.cornered:
        found = fit_with_corner(task.problem, task.start, task.space, task.search)
    else:
        widths = starting_widths(task.ratings, task.problem.response)
        found = fit_mml(task.problem, task.start, task.space, widths, task.search)
    problem = found.problem
    # Centring moves abilities where groups of students have means of their own.
    parameters = centre(problem.model, found.optimum.parameters, task.held)
    moments = sharp_moments(problem, parameters, found.moments)
    at_limit = problem.model.at_limit(found.optimum.parameters) & ~task.held
    return FacetsEstimate(
        problem,
        parameters,
        found.optimum.value,
        found.nodes,
        moments,
        found.optimum.record,
        task.held,
        at_limit,
    )


def sharp_moments(problem: FacetsMarginal, parameters: Array, moments: Moments) -> Moments:
    """Abilities on a grid so fine, and so wide, that scoring the same ratings on another gives the same."""
    nodes = sharp_nodes(problem, parameters, moments)
    return problem.moments(parameters, nodes)


def sharp_nodes(problem: FacetsMarginal, parameters: Array, moments: Moments) -> Nodes:
    """A grid that any part of the students, one alone included, is integrated on as exactly as all of them."""
    # A student with passes only has a posterior as wide as the population on that side.
    low, high = reached(moments, _SHARP)
    if problem.response.cornered:
        step = corner_step(problem, parameters)
    else:
        # A wide posterior can still have a steep flank. The logistic curve of slope a is smooth only as far as
        # pi / a from the real line, less with more scores: the trapezoidal rule is then off by exp(-2 pi^2 / (a step)).
        steepest = float(np.abs(problem.model.predictor(parameters).slope).max())
        smooth = _SMOOTH / ((1 + problem.response.steepness) * max(steepest, 1.0))
        step = min(step_for(moments, _SHARP, (low, high)), smooth)
    nodes = Nodes.equally_spaced(min(-_WIDE, low), max(_WIDE, high), step)
    return problem.fine_enough(nodes, parameters)


def _laplace(task: Task) -> FacetsEstimate:
    from raterlens.estimation.conditional import Laplace  # most fits do without

    model = task.problem.model
    approximation = Laplace(Conditional(task.ratings, model, task.link), model, task.problem.pseudo)
    optimum = maximise(
        approximation.value,
        task.start,
        task.space,
        task.search,
        stage="Laplace approximation",
    )
    moments = approximation.moments(optimum.parameters)
    parameters = centre(model, optimum.parameters, task.held)
    nodes, at_limit = nodes_for(moments), model.at_limit(optimum.parameters) & ~task.held
    return FacetsEstimate(
        task.problem, parameters, optimum.value, nodes, moments, optimum.record, task.held, at_limit
    )


def _hierarchical(task: Task) -> FacetsEstimate:
    from raterlens.estimation.hierarchical import fit_hierarchical  # most fits do without

    model = task.problem.model
    found = fit_hierarchical(
        Conditional(task.ratings, model, task.link),
        model,
        task.problem.pseudo,
        task.start,
        task.space,
        task.search,
    )
    nodes = nodes_for(found.moments)
    # The marginal log-likelihood at these estimates: the h-likelihood itself could not be compared with other fits.
    value = task.problem.value(found.parameters, nodes)
    if found.record.converged:
        _refuse_chance(task, found.parameters, value, nodes)
    parameters, at_limit = centre(model, found.parameters), model.at_limit(found.parameters)
    return FacetsEstimate(
        task.problem, parameters, value, nodes, found.moments, found.record, task.held, at_limit
    )


def _refuse_chance(task: Task, parameters: Array, value: Value, nodes: Nodes) -> None:
    """Raise where the hierarchical likelihood, which knows no uncertainty of abilities, found some with which the
    ratings are less likely than with none at all."""
    model, slope = task.problem.model, task.problem.model.blocks["slope"]
    if model.slope.by_logarithm:
        return
    lower, upper = (bound.copy() for bound in task.space.bounds)
    lower[slope] = upper[slope] = 0.0
    space = Space(information_scale(model, parameters), (lower, upper))
    without = maximise(
        lambda x: task.problem.value(x, nodes),
        parameters,
        space,
        Search(_FEW_STEPS),
        stage="without ability",
        tolerance=_ROUGHLY,
    ).value.loglik
    if without > value.loglik + _ROUGHLY:
        raise OptionError(
            "method 'hl' takes chance for ability here: with the abilities that it finds, the ratings have a "
            f"log-likelihood of {value.loglik:.1f}, with none at all {without:.1f}",
            Message("use ", Option("method", "mml")),
            value="hl",
            option="method",
        )


METHODS: dict[str, Method] = {
    "mml": _mml,
    "laplace": _laplace,
    "hl": _hierarchical,
}
