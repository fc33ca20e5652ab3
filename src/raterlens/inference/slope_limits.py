"""How far slopes could be from their estimates, by profile likelihood, where few ratings let some run to a limit.

A rater whose few scores happen to order students perfectly has no largest slope. Ability is then what that rater says,
everybody else is measured by it, and standard errors given that slope are far too small: on such panels 95 % intervals
covered 62 to 81 %. So each rater's slope is moved, everything else following, until twice the log-likelihood has fallen
by 3.84 (9.90 for a slope estimated at 0, 5.76 for one at the limit). Severities at both ends are kept as well: they
follow slopes. A severity given a slope of 10 is as far off as the slope: of such raters, intervals of severity covered
76 to 87 %. So its standard error includes how it moves as the slope leaves the limit.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np
from scipy import linalg

from raterlens.base.arrays import NORMAL_95, Array, Mask
from raterlens.capability.yardstick import LARGEST_SLOPE
from raterlens.config.limits import SLOPE_LIMIT_WORK
from raterlens.estimation.facets_estimate import FacetsEstimate, information_scale
from raterlens.estimation.optimiser import Curvature, OnProgress, Optimum, Search, Space, maximise
from raterlens.inference.intervals import AT_LIMIT, AT_ZERO, even, uneven
from raterlens.likelihood.marginal import FacetsMarginal, Value
from raterlens.likelihood.nodes import Nodes
from raterlens.models.calibration import SlopeLimits
from raterlens.models.facets import redundancy

# Of the root of the deviance, at an end of an interval.
CLOSE, _MOST_LOOKS = 0.1, 7
# Climbs: how long, and how many standard errors from the maximum they may end.
_LONGEST, _NEAR = 60, 0.03
_USUAL = 1.5
# A slope above it is as good as at the limit.
_STEEP = 4.0
# As near to a limit, a slope is at it but for rounding.
_AS_GOOD_AS = 1e-5


@dataclass(frozen=True, slots=True)
class LocalSearch:
    """Search for a maximum nearby: the stage to report, the tolerance in standard errors, the most iterations."""

    stage: str
    scale: Array
    """Information of each parameter without priors, roughly."""
    near: float
    longest: int = 500
    on_progress: OnProgress | None = None
    inverse: Curvature | None = None
    """Roughly, of the information."""


def mode_near(
    problem: FacetsMarginal,
    nodes: Nodes,
    start: Array,
    still: Mask,
    bounds: tuple[Array, Array],
    local: LocalSearch,
) -> Optimum:
    """The maximum of a problem with its priors next to a start, from where parameters that are `still` do not move."""
    lower, upper = (np.where(still, start, bound) for bound in bounds)
    known = [np.maximum(prior.information(start).diagonal(), 0.0) for prior in problem.priors]
    centred = np.zeros((0, len(start)))
    if (
        local.inverse is not None
    ):  # it takes no step in redundant directions, which priors leave not quite level
        centred = linalg.orth(redundancy(problem.model, start, still).constraints.T).T

    def value(x: Array) -> Value:
        found = problem.value(x, nodes)
        return replace(found, gradient=found.gradient - centred.T @ (centred @ found.gradient))

    return maximise(
        value,
        np.clip(start, lower, upper),
        Space(sum(known, local.scale), (lower, upper)),
        Search(local.longest, local.on_progress),
        stage=local.stage,
        tolerance=local.near,
        inverse_curvature=local.inverse,
    )


def _root_of_deviance(
    found: FacetsEstimate, local: LocalSearch, top: float, place: int, to: float, near: Array
) -> tuple[float, Array]:
    """The root of the deviance, and the parameters, where a slope has this value on the even scale, on which that root
    is nearly linear.

    Where a climb from a neighbour ends too low, another begins from raters who are all alike: there may be two maxima.
    """
    still, alike, bounds = found.held.copy(), near.copy(), found.model.bounds(allow_reversed=False)
    still[place] = True
    alike[found.model.blocks["slope"]] = _USUAL

    def climb(start: Array) -> tuple[float, Array]:
        start = np.where(found.held, found.parameters, start)
        start[place] = float(uneven(to))
        best = mode_near(found.problem, found.nodes, start, still, bounds, local)
        return float(np.sqrt(2 * max(top - best.value.objective, 0.0))), best.parameters

    best = climb(near)
    return min(best, climb(alike), key=lambda one: one[0]) if best[0] > NORMAL_95 - CLOSE else best


_There = TypeVar("_There")


def deviance_end(
    look: Callable[[float, _There], tuple[float, _There]],
    centre: float,
    there: _There,
    guess: float,
    last: float,
    fall: float,
    *,
    close: float = CLOSE,
    looks: int = _MOST_LOOKS,
) -> tuple[float, float, _There]:
    """Where the root of a deviance is `fall`, between its centre and the last place there is; the root there, which is
    smaller where even the last is too near, and what else was found there.

    Parameters
    ----------
    look
        From a place, and what was found near it, to the root of the deviance, nearly linear, and what is found there.
    close, looks
        How close to `fall` will do, and how many looks at most.
    """
    inside, outside = (centre, 0.0, there), None
    to = float(np.clip(guess, min(centre, last), max(centre, last)))
    for _ in range(looks):
        root, there = look(to, inside[2])
        if abs(root - fall) <= close or (root < fall and to == last):
            return to, root, there
        if root < fall:
            inside = (to, root, there)
        else:
            outside = (to, root, there)
        if outside is None:
            farther = inside[0] + (last - inside[0]) / 2
            to = last if abs(last - farther) < 0.2 else farther
        else:
            share = (fall - inside[1]) / (outside[1] - inside[1])
            to = inside[0] + float(np.clip(share, 0.1, 0.9)) * (outside[0] - inside[0])
    return inside if outside is None else outside


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """How far slopes could be."""

    limits: SlopeLimits
    unheld: Array
    """(raters at a limit, parameters): where the slope is at its other limit."""
    falls: Array
    """(raters at a limit,): the root of the deviance there."""


def slope_limits(found: FacetsEstimate, n_ratings: int) -> Reach | None:
    """Limits of all raters; None if no slope is near its limit, or there are too many ratings for it to matter."""
    model, x = found.model, found.parameters
    own = model.slope.own and model.severity.own
    plain = not ("item_slope" in model or found.shared or found.problem.response.cornered)
    if (
        not (own and plain)
        or found.problem.prior is not None
        or model.n_raters * n_ratings > SLOPE_LIMIT_WORK
    ):
        return None
    block = model.blocks["slope"]
    slope, lower = x[block], model.bounds(allow_reversed=False)[0][block]
    if found.held[block].any() or (slope < 0).any() or not (slope > _STEEP).any():
        return None
    top = found.problem.value(x, found.nodes).objective
    scale = information_scale(model, x, found.problem.n_students)
    local = LocalSearch("how far slopes could be", scale, _NEAR, _LONGEST)
    counted = ~found.raters_at_limit if not found.raters_at_limit.all() else np.full(len(slope), True)
    ends, unheld = np.empty((2, 2, len(slope))), []
    at_lower = slope <= lower + _AS_GOOD_AS
    falls = np.where(at_lower, AT_ZERO, np.where(slope == LARGEST_SLOPE, AT_LIMIT, NORMAL_95))
    ran = falls != NORMAL_95
    for which, limit in enumerate((lower, np.full(len(slope), LARGEST_SLOPE))):
        for rater, place in enumerate(range(block.start, block.stop)):
            if abs(slope[rater] - limit[rater]) <= _AS_GOOD_AS:
                ends[which, :, rater] = slope[rater], 0.0
                continue
            guess = float(even(slope[rater])) + (which - 0.5) * 2
            look = partial(_root_of_deviance, found, local, top, place)
            centre, last = float(even(slope[rater])), float(even(limit[rater]))
            to, _, there = deviance_end(look, centre, x, guess, last, float(falls[rater]))
            moved = model.effect("severity", there) - model.effect("severity", x)
            ends[which, :, rater] = float(uneven(to)), moved[rater] - moved[counted].mean()
            if ran[rater]:
                unheld.append((there, falls[rater]))
    limits = SlopeLimits(ends[0, 0], ends[1, 0], ends[0, 1], ends[1, 1])
    return Reach(
        limits,
        np.array([there for there, _ in unheld]).reshape(-1, len(x)),
        np.array([fall for _, fall in unheld]),
    )
