"""Likelihoods with several maxima: short climbs from other starts, where ratings are few enough that there may be some.

With few ratings a rater may be explained in two ways, as one who orders students perfectly or as one who cannot tell
them apart, and an optimiser ends at the explanation that is nearer to its start. Other starts exchange the two for
raters at a limit, then draw slopes and severities anew.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import numpy as np

from raterlens.base.arrays import Array, Mask
from raterlens.config.limits import AGREEING_STARTS, FEW_RATINGS, SHAPED_RATINGS, STARTED_RATINGS
from raterlens.estimation.facets_estimate import FacetsEstimate, Known, Maximum, Task, information_scale
from raterlens.estimation.optimiser import Optimum, Search, Space, maximise
from raterlens.likelihood.marginal import FacetsMarginal
from raterlens.likelihood.nodes import Nodes
from raterlens.models.terms.main_effects import NO_SLOPE
from raterlens.ratings.coded import Ratings
from raterlens.ratings.design import connected_groups

SAME_MAXIMUM, SAME_OF_FEW = 0.02, 2e-3
# On the rough grid of climbs, maxima so near the best may be as good; this many are gone to.
MAY_BE_BEST, MOST_GONE_TO = 0.1, 3
# What is gained by going to another maximum has to be more than climbs leave open.
WORTH_GOING = 5e-4
# Two estimates that differ by less are as good.
AS_GOOD = 1e-6
# How long a climb may be, and within how many standard errors of a maximum it may end: nearer where there are so few
# ratings that maxima are close to each other.
_SHORT, _NEAR, _LONG, _NEARER = 60, 0.02, 100, 2e-3
# In how many legs a climb is made where the scale changes on the way, and to what share of the first one at most.
_LEGS, _LEAST_OF_SCALE = 3, 1e-4
# Of the grid of climbs: steep slopes, where a maximum may be, need one that the first maximum may not; and maxima can
# be told apart on one that is rough.
_FURTHEST, _FINEST, _COARSEST = 6.0, 0.15, 0.25
_BLUNT = 0.05
# How many standard deviations of ability an item may be away from all students, in a few starts.
_FAR = 20.0
# A usual slope; around it, the standard deviation of the logarithm, and the share of raters drawn as blind.
_USUAL, _SPREAD, _BLIND, _SEVERITIES = (1.0, 3.0), 0.8, 0.2, 0.7


def maxima(
    problem: FacetsMarginal,
    ratings: Ratings | None,
    first: Array,
    begin: Array,
    nodes: Nodes,
    space: Space,
    search: Search,
) -> tuple[Maximum, ...]:
    """The first and the maxima that climbs from other starts reach besides it, best first.

    Parameters
    ----------
    first
        A maximum that is known.
    begin
        Where the climb to it began: severities and difficulties that follow from pass rates.
    ratings
        Where they are so few that all starts are tried, and each rater at a limit is explained the other way, alone.
    """
    few = ratings is not None
    step = float(np.clip(nodes.step, _FINEST, _COARSEST))
    nodes = Nodes.equally_spaced(min(nodes.low, -_FURTHEST), max(nodes.high, _FURTHEST), step)
    longest, near = (_LONG, _NEARER) if few else (_SHORT, _NEAR)

    found = [Maximum(problem.value(first, nodes).objective, first, 1)]

    # Difficulties that slopes multiply are on another scale where slopes are: it is taken anew on the way.
    legs = _LEGS if problem.model.difficulty_on_ability_scale else 1

    def climb(start: Array) -> None:
        start, scaled = np.clip(start, *space.bounds), space
        for _ in range(legs):
            end = maximise(
                lambda x: problem.value(x, nodes),
                start,
                scaled,
                Search(longest // legs),
                stage="other starts",
                tolerance=near,
            )
            start = end.parameters
            if legs > 1:
                own = information_scale(problem.model, start)
                scaled = Space(np.maximum(own, _LEAST_OF_SCALE * space.information), space.bounds)
        if _discriminating(problem, end.parameters) >= min(2, _discriminating(problem, first)):
            _count(found, end, SAME_OF_FEW if few else SAME_MAXIMUM)

    for start in _starts(problem, first, begin, space, search):
        climb(start)
        if found[0].found == AGREEING_STARTS and not few:
            break
    if ratings is not None:
        for which in _together(ratings, problem, found[0].parameters):
            best = found[0].parameters
            # As if the curve of the rater were steepest at the students it met: pass rates of so few do not say.
            centred = begin.copy()
            usual = _usual(best[problem.model.blocks["slope"]])
            centred[problem.model.blocks["severity"]] = usual * _met(ratings, problem, best, nodes)
            other = _exchanged(problem, best, centred, space, which)
            if other is not None:
                climb(other)
    return tuple(found)


def worth_going(found: tuple[Maximum, ...], height: float, first: Array) -> list[Maximum]:
    """The maxima that may be higher than the first, whose height is known on a finer grid."""
    near = [
        one
        for one in found
        if one.objective > found[0].objective - MAY_BE_BEST and one.parameters is not first
    ]
    clearly = found[0].objective > height + WORTH_GOING
    return near[:MOST_GONE_TO] if clearly or len(near) > 1 else []


def _met(ratings: Ratings, problem: FacetsMarginal, parameters: Array, nodes: Nodes) -> Array:
    """(raters,): the mean ability of the students that each rated."""
    ability = problem.moments(parameters, nodes).mean[ratings.student]
    return np.asarray(np.bincount(ratings.rater, ability) / np.bincount(ratings.rater))


def _together(ratings: Ratings, problem: FacetsMarginal, best: Array) -> Iterator[Mask]:
    """Raters to be explained the other way: each alone, and those of a student who seem blind, who may only seem so
    because each of the others does."""
    every = np.arange(ratings.n_raters)
    for rater in every:
        yield every == rater
    blind = best[problem.model.blocks["slope"]] <= _BLUNT
    met = np.zeros((ratings.n_students, ratings.n_raters), dtype=bool)
    met[ratings.student, ratings.rater] = True
    groups = np.unique(met & blind, axis=0)
    yield from groups[groups.sum(axis=1) > 1]


def _discriminating(problem: FacetsMarginal, parameters: Array) -> int:
    """How many raters tell students apart. Where it is one alone, ability is what that one repeats on every item, and
    nothing that raters agree on, however likely."""
    model = problem.model
    return int(np.count_nonzero(np.abs(model.slope(parameters[model.blocks["slope"]])) > _BLUNT))


def _count(found: list[Maximum], end: Optimum, same: float) -> None:
    height = end.value.objective
    for place, known in enumerate(found):
        if abs(known.objective - height) <= same:
            higher = max(
                (known.objective, known.parameters), (height, end.parameters), key=lambda one: one[0]
            )
            found[place] = Maximum(*higher, known.found + 1)
            return
    found.append(Maximum(height, end.parameters, 1))
    found.sort(key=lambda one: -one.objective)


def _starts(
    problem: FacetsMarginal, first: Array, begin: Array, space: Space, search: Search
) -> Iterator[Array]:
    model, left = problem.model, search.starts - 1
    slope, severity = model.blocks["slope"], model.blocks["severity"]
    n = slope.stop - slope.start
    other = _exchanged(problem, first, begin, space, np.ones(n, dtype=bool))
    if other is not None and left:
        yield other
        left -= 1
    random, usual = np.random.default_rng(search.seed), _usual(first[slope])
    for number in range(left):
        drawn = begin.copy()
        own = usual * np.exp(_SPREAD * random.standard_normal(n))
        drawn[slope] = np.where(random.random(n) < _BLIND, 0.0, own)
        far = model.difficulty_on_ability_scale and number % 4 == 3
        for block in (severity, model.blocks["difficulty"]):
            size = block.stop - block.start
            # Around pass rates now and then, mostly whatever they say: those end at the maximum that is known.
            share = random.random(size) if number % 4 == 0 else 0.0
            drawn[block] = share * begin[block] + _SEVERITIES * random.standard_normal(size)
        if far:  # items that no student's ability decides about, and raters who do not look at it
            drawn[model.blocks["difficulty"]] *= _FAR
            drawn[slope] /= np.where(random.random(n) < 0.5, _FAR, 1.0)
        yield drawn


def _exchanged(problem: FacetsMarginal, at: Array, begin: Array, space: Space, which: Mask) -> Array | None:
    """Those of `which` who are at a limit explained the other way; None where nobody is."""
    slope, severity = problem.model.blocks["slope"], problem.model.blocks["severity"]
    lower, upper = (bound[slope] for bound in space.bounds)
    steep, blind = which & (at[slope] >= upper), which & (at[slope] <= np.maximum(lower, 0.0))
    if not (steep | blind).any():
        return None
    other = at.copy()
    other[slope] = np.where(steep, 0.0, np.where(blind, _usual(at[slope]), at[slope]))
    if severity.stop - severity.start == len(steep):
        other[severity] = np.where(steep | blind, begin[severity], at[severity])
    return other


def _usual(slopes: Array) -> float:
    """However flat, or steep, those of the first maximum."""
    telling = np.abs(slopes)[np.abs(slopes) > _BLUNT]
    return float(np.clip(np.median(telling), *_USUAL)) if len(telling) else 1.0


Method: TypeAlias = Callable[[Task], FacetsEstimate]
"""A way from a task to its estimates, one climb."""

# How long a climb from one of them may be, and within how many standard errors of a maximum it may end.
_SHAPED_STEPS, _SHAPED_NEAR = 100, 2e-3


def may_have_several(task: Task, method: str, known: Known) -> bool:
    """Where ratings are few, and no earlier fit says where to begin."""
    few = task.ratings.n_ratings <= STARTED_RATINGS and not task.problem.response.cornered
    return few and method == "mml" and task.search.starts > 1 and known.begin is None


def best_of_several(method: Method, task: Task) -> FacetsEstimate:
    """The best of the maxima that several starts lead to."""
    found = off_the_level(method, task)
    model = task.problem.model
    # An evaluation with pieces, reading effects or an estimated distribution takes too long for all starts.
    plain = not (model.enters("halo") or model.nested or any(term.starts for term in model.terms))
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
    """The estimate; where a term has other starts, as the students' distribution has, the best from all of them. With
    many ratings, only from one that is better than the estimate even before anything else has followed it."""
    found, model, starts = look(method, task), task.problem.model, []
    for name, values in ((term.name, values) for term in model.terms for values in term.starts):
        starts.append(found.parameters.copy())
        starts[-1][model.blocks[name]] = values
    if not starts:
        return found
    if task.ratings.n_ratings > SHAPED_RATINGS:
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
    if task.held[slope].any() or model.slope.by_logarithm:
        return np.zeros(len(x), dtype=bool)
    if model.slope.size < model.n_raters:
        return np.full(len(x), model.without_ability(found.parameters))
    discriminates = np.abs(x) > NO_SLOPE
    if discriminates.all():
        return ~discriminates
    group = connected_groups(task.ratings).rater
    return np.asarray(np.bincount(group, discriminates)[group] == 0)
