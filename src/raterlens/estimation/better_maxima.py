"""Better maxima than the one that a single climb leads to: from several starts, off level ground, from other shapes of
the students' distribution, and with raters the right way up."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import numpy as np

from raterlens.base.types import Mask
from raterlens.estimation.facets_estimate import FacetsEstimate, Known, Task
from raterlens.estimation.optimiser import Search, maximise
from raterlens.estimation.several_starts import (
    AS_GOOD,
    FEW_RATINGS,
    MOST_RATINGS,
    WORTH_GOING,
    maxima,
    worth_going,
)
from raterlens.models.effects import Linear
from raterlens.models.facets import NO_SLOPE, SHAPE
from raterlens.ratings.design import connected_groups

Method: TypeAlias = Callable[[Task], FacetsEstimate]
"""A way from a task to its estimates, one climb."""

# Ratings up to which all these shapes of the students' distribution are begun from: skewed either way, and two peaks.
_MOST_SHAPED = 10_000
_SHAPES = ((0.15, -0.02), (-0.15, -0.02), (0.0, -0.15))
# How long a climb from one of them may be, and within how many standard errors of a maximum it may end.
_SHAPED_STEPS, _SHAPED_NEAR = 100, 2e-3


def may_have_several(task: Task, method: str, known: Known) -> bool:
    """Where ratings are few, and no earlier fit says where to begin."""
    few = task.ratings.n_ratings <= MOST_RATINGS and not task.problem.response.cornered
    return few and method == "mml" and task.search.starts > 1 and known.begin is None


def best_of_several(method: Method, task: Task) -> FacetsEstimate:
    """The best of the maxima that several starts lead to."""
    found = off_the_level(method, task)
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


def off_the_level(method: Method, task: Task) -> FacetsEstimate:
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


def shaped(
    method: Method,
    task: Task,
    look: Callable[[Method, Task], FacetsEstimate],
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


def upright(method: Method, task: Task, found: FacetsEstimate) -> FacetsEstimate:
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


def _level(task: Task, found: FacetsEstimate) -> Mask:
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
