"""Three ways from a model and ratings to estimates, all to the same record."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from raterlens.capability.links import Link
from raterlens.capability.yardstick import LARGEST_SLOPE
from raterlens.engine.protocol import Moments, Nodes
from raterlens.errors import OptionError
from raterlens.estimation.checkpoint import Checkpoint, digest
from raterlens.estimation.conditional import Conditional
from raterlens.estimation.estimate import Estimate
from raterlens.estimation.extremes import pseudo_ratings
from raterlens.estimation.grid import nodes_for, reached
from raterlens.estimation.interaction_prior import InteractionTerm
from raterlens.estimation.log_link_corner import corner_step, fit_with_corner
from raterlens.estimation.marginal import FacetsMarginal
from raterlens.estimation.marginal_forms import marginal
from raterlens.estimation.optimiser import USUAL, Search, Space, maximise
from raterlens.estimation.panel_prior import PanelPosterior, PanelPrior
from raterlens.estimation.quadrature import fit_mml
from raterlens.estimation.quasi_newton import Value
from raterlens.estimation.several_starts import (
    AS_GOOD,
    FEW_RATINGS,
    MOST_RATINGS,
    WORTH_GOING,
    Maximum,
    maxima,
    worth_going,
)
from raterlens.estimation.shared_ratio import SharedTest
from raterlens.estimation.starting_values import information_scale, starting_values, starting_widths
from raterlens.models.capped_log import Capped
from raterlens.models.effects import Linear
from raterlens.models.facets import NO_SLOPE, SHAPE, FacetsModel
from raterlens.models.population_shift import POPULATION, population_of
from raterlens.models.redundancy import centre
from raterlens.models.responses import Response
from raterlens.ratings.coded import Ratings
from raterlens.ratings.design import connected_groups
from raterlens.records import dataclass
from raterlens.text import Message, Option
from raterlens.types import Array, Mask

if TYPE_CHECKING:
    from distributed import Client


# Of the students' posteriors together, where the log-likelihood makes do with less (`grid.py`).
_SHARP, _WIDE, _SMOOTH = 1e-11, 8.0, 1.2
# Ratings up to which all these shapes of the students' distribution are begun from: skewed either way, and two peaks.
_MOST_SHAPED = 10_000
_SHAPES = ((0.15, -0.02), (-0.15, -0.02), (0.0, -0.15))
# How long a climb from one of them may be, and within how many standard errors of a maximum it may end.
_SHAPED_STEPS, _SHAPED_NEAR = 100, 2e-3
# Enough to see how likely ratings are without ability: iterations, and standard errors from the maximum.
_FEW_STEPS, _ROUGHLY = 60, 0.01


@dataclass(frozen=True, slots=True)
class FacetsEstimate(Estimate[FacetsMarginal]):
    """Estimates of a facets model."""

    at_limit: Mask
    """Parameters that ran as far as they may; before centring, which moves slopes where items have theirs."""
    posterior: PanelPosterior | None = None
    """Over the spreads of the prior, on small panels."""
    shared: SharedTest | None = None
    """Whether raters share a second ability, where that was looked for."""
    interactions: tuple[InteractionTerm, ...] = ()
    """What was found of each term, where the model has some."""
    maxima: tuple[Maximum, ...] = ()
    """The best and others that other starts led to, where there may be several."""

    @property
    def model(self) -> FacetsModel:
        return self.problem.model

    @property
    def raters_at_limit(self) -> Mask:
        """(raters,): whose slope or severity ran as far as it may."""
        model, n = self.model, self.model.n_raters
        slope, severity = (self.at_limit[model.blocks[name]] for name in ("slope", "severity"))
        if len(slope) < n:
            slope = np.abs(model.slope(self.parameters[model.blocks["slope"]])) >= LARGEST_SLOPE
        return np.asarray(slope | (severity if len(severity) == n else False))


@dataclass(frozen=True, slots=True)
class Where:
    """Where an estimation is carried out, and kept against interruption."""

    checkpoint: Checkpoint | None = None
    client: "Client | None" = None


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the parameters before the ratings are seen; each array has NaN where nothing is."""

    held: Array | None = None
    """Values of parameters that are not to be estimated."""
    begin: Array | None = None
    """Values to begin from."""
    allow_reversed: bool = False
    """Slopes may be negative."""
    prior: PanelPrior | None = None
    """Of raters in general; slopes may then be negative, too."""


HERE, NOTHING = Where(), Known()


@dataclass(frozen=True, slots=True)
class _Task:
    """An estimation, all set."""

    ratings: Ratings
    link: Link
    problem: FacetsMarginal
    start: Array
    space: Space
    held: Mask
    search: Search


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
    if model.item_slopes and not any(held[model.blocks[name]].any() for name in ("slope", "item_slope")):
        pseudo = replace(pseudo, scale_held=float(ratings.n_ratings * ratings.n_items))
    problem = marginal(ratings, model, response, pseudo, where.client).under(prior)
    task = _Task(ratings, link, problem, start, space, held, search)
    if where.checkpoint is not None:
        _keep(where.checkpoint, task)
    look = _best_of_several if _may_have_several(task, method, known) else _off_the_level
    found = _upright(METHODS[method], task, _shaped(METHODS[method], task, look))
    return replace(found, moments=on_scale(model, found.parameters, found.moments))


def on_scale(model: FacetsModel, parameters: Array, moments: Moments) -> Moments:
    """Abilities in units of their population, on the scale of the model: another one where anchors hold it."""
    if POPULATION not in model.blocks:
        return moments
    mean, sd = population_of(model, parameters)
    return Moments(mean + sd * moments.mean, sd * moments.sd)


def _may_have_several(task: _Task, method: str, known: Known) -> bool:
    """Where ratings are few, and no earlier fit says where to begin."""
    few = task.ratings.n_ratings <= MOST_RATINGS and not isinstance(task.problem.response, Capped)
    return few and method == "mml" and task.search.starts > 1 and known.begin is None


def _best_of_several(method: Callable[["_Task"], FacetsEstimate], task: _Task) -> FacetsEstimate:
    """The best of the maxima that several starts lead to."""
    found = _off_the_level(method, task)
    model = task.problem.model
    # An evaluation with pieces, reading effects or an estimated distribution takes too long for all starts.
    plain = model.halo is None and not model.pieces and not model.smooth
    few = plain and task.ratings.n_ratings <= FEW_RATINGS and model.of_single_raters.shape[1] == 2
    few_ratings = task.ratings if few else None
    others = maxima(
        found.problem, few_ratings, found.parameters, task.start, found.nodes, task.space, task.search
    )
    for other in worth_going(others, found.value.objective, found.parameters):
        there = method(replace(task, start=other.parameters))
        # Along a ridge, the first: a slope about which ratings say nothing is the usual one, not whatever was drawn.
        found = there if there.value.objective > found.value.objective + AS_GOOD else found
    record = replace(found.record, starts=sum(one.found for one in others), agreeing=others[0].found)
    return replace(found, record=record, maxima=others)


def _off_the_level(method: Callable[["_Task"], FacetsEstimate], task: _Task) -> FacetsEstimate:
    """The estimate, looked for once more where no rater of a group that shares students discriminates.

    There the gradient by their slopes is 0 by symmetry (the slopes, and the abilities of their students, could all
    change sign), so that an optimiser stops whether or not it is a maximum. Where it is one, the slopes are 0: what
    rounding left of them must rank nobody.
    """
    found, slope = method(task), task.problem.model.blocks["slope"]
    level = _level(task, found)
    if not level.any():
        return found
    again = found.parameters.copy()
    again[slope][level] = 1.0
    found = max(found, method(replace(task, start=again)), key=lambda one: one.value.objective)
    parameters = found.parameters.copy()
    parameters[slope][_level(task, found)] = 0.0
    parameters[slope] = np.maximum(parameters[slope], task.space.bounds[0][slope])
    return replace(found, parameters=parameters)


def _shaped(
    method: Callable[["_Task"], FacetsEstimate],
    task: _Task,
    look: Callable[[Callable[["_Task"], FacetsEstimate], "_Task"], FacetsEstimate],
) -> FacetsEstimate:
    """The estimate; where the shape of the students' distribution is estimated, the best from several shapes, as the
    likelihood can have several maxima. With many ratings, only from a shape that is better than the estimate's even
    before anything else has followed it."""
    found = look(method, task)
    if not task.problem.model.smooth:
        return found
    starts = [found.parameters.copy() for _ in _SHAPES]
    for start, shape in zip(starts, _SHAPES, strict=True):
        start[task.problem.model.blocks[SHAPE]] = shape
    if task.ratings.n_ratings > _MOST_SHAPED:
        height = [found.problem.value(start, found.nodes).objective for start in starts]
        best = int(np.argmax(height))
        starts = [starts[best]] if height[best] > found.value.objective else []
    for start in starts:
        # Most lead back to where the estimate is, and a short climb shows it.
        end = maximise(
            partial(found.problem.value, nodes=found.nodes),
            start,
            task.space,
            Search(_SHAPED_STEPS, task.search.on_progress),
            stage="other shapes",
            tolerance=_SHAPED_NEAR,
        )
        if end.value.objective > found.value.objective + WORTH_GOING:
            there = method(replace(task, start=end.parameters))
            found = max(found, there, key=lambda one: one.value.objective)
    return found


def _upright(
    method: Callable[["_Task"], FacetsEstimate], task: _Task, found: FacetsEstimate
) -> FacetsEstimate:
    """The estimate with most raters on the side of ability, where a prior lets slopes be negative.

    Abilities are as likely as their negatives: a group of raters who share no student with others could all change
    sign, and a long first step may take them there.
    """
    prior, slope = task.problem.prior, task.problem.model.blocks["slope"]
    if prior is None or prior.slopes is None or task.held[slope].any():
        return found
    group = connected_groups(task.ratings).rater
    overturned = np.bincount(group, found.parameters[slope])[group] < 0
    if not overturned.any():
        return found
    again = found.parameters.copy()
    again[slope] = np.where(overturned, -again[slope], again[slope])
    return method(replace(task, start=again))


def _level(task: _Task, found: FacetsEstimate) -> Mask:
    """Slopes, as parameters, of raters in groups nobody of which discriminates."""
    model = task.problem.model
    slope = model.blocks["slope"]
    x = found.parameters[slope]
    if task.held[slope].any() or not isinstance(model.slope, Linear):
        return np.zeros(len(x), dtype=bool)
    if model.slope.size < model.n_raters:
        return np.full(len(x), model.without_ability(found.parameters))
    discriminates = np.abs(x) > NO_SLOPE
    if discriminates.all():
        return ~discriminates
    group = connected_groups(task.ratings).rater
    return np.asarray(np.bincount(group, discriminates)[group] == 0)


def _keep(checkpoint: Checkpoint, task: _Task) -> None:
    """Let the problem's values be kept, under the names of these ratings and of this model."""
    model, students = task.problem.model, task.ratings.tally("student")
    of_ratings = digest(model.contexts.codes, model.contexts.given, students.n, students.total)
    kinds = (type(model).__name__, type(task.problem.response).__name__, task.link.name, model.blocks.sizes)
    checkpoint.begin(
        of_ratings, digest(*kinds, task.start, task.space.information, *task.space.bounds, task.held)
    )
    task.problem.checkpoint = checkpoint


def _mml(task: _Task) -> FacetsEstimate:
    if isinstance(task.problem.response, Capped):
        found = fit_with_corner(task.problem, task.start, task.space, task.search)
    else:
        found = fit_mml(task.problem, task.start, task.space, starting_widths(task.ratings), task.search)
    problem = found.problem
    moments = sharp_moments(problem, found.optimum.parameters, found.moments)
    parameters = centre(problem.model, found.optimum.parameters, task.held)
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
    if isinstance(problem.response, Capped):
        step = corner_step(problem, parameters)
    else:
        # A wide posterior can still have a steep flank. The logistic curve of slope a is smooth only as far as
        # pi / a from the real line, less with more scores: the trapezoidal rule is then off by exp(-2 pi^2 / (a step)).
        steepest = float(np.abs(problem.model.predictor(parameters).slope).max())
        smooth = _SMOOTH / (problem.response.n_categories * max(steepest, 1.0))
        step = min(nodes_for(moments, _SHARP).step, smooth)
    # A student with passes only has a posterior as wide as the population on that side.
    low, high = reached(moments, _SHARP)
    nodes = Nodes.equally_spaced(min(-_WIDE, low), max(_WIDE, high), step)
    return problem.fine_enough(nodes, parameters)


def _laplace(task: _Task) -> FacetsEstimate:
    from raterlens.estimation.laplace import Laplace  # most fits do without

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


def _hierarchical(task: _Task) -> FacetsEstimate:
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


def _refuse_chance(task: _Task, parameters: Array, value: Value, nodes: Nodes) -> None:
    """Raise where the hierarchical likelihood, which knows no uncertainty of abilities, found some with which the
    ratings are less likely than with none at all."""
    model, slope = task.problem.model, task.problem.model.blocks["slope"]
    if not isinstance(model.slope, Linear):
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


METHODS: dict[str, Callable[[_Task], FacetsEstimate]] = {
    "mml": _mml,
    "laplace": _laplace,
    "hl": _hierarchical,
}
