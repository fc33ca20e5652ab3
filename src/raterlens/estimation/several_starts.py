"""Likelihoods with several maxima: short climbs from other starts, where ratings are few enough that there may be some.

With few ratings a rater may be explained in two ways, as one who orders students perfectly or as one who cannot tell
them apart, and an optimiser ends at the explanation that is nearer to its start. Other starts exchange the two for
raters at a limit, then draw slopes and severities anew.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from raterlens.engine.protocol import Nodes
from raterlens.estimation.marginal import FacetsMarginal
from raterlens.estimation.optimiser import Optimum, Search, Space, maximise
from raterlens.types import Array

# With more ratings, second maxima were not seen, and other starts would cost more than they find.
MOST_RATINGS = 3_000
# So many starts that end at the best maximum are enough.
ENOUGH = 3
SAME_MAXIMUM = 0.02
# How long a climb may be, and within how many standard errors of a maximum it may end.
_SHORT, _NEAR = 60, 0.02
_BLUNT = 0.05
# Around a usual slope: the standard deviation of the logarithm, and the share of raters drawn as blind.
_SPREAD, _BLIND, _SEVERITIES = 0.8, 0.2, 0.7


@dataclass(frozen=True, slots=True, eq=False)
class Maximum:
    """Where climbs ended, and how many did."""

    objective: float
    parameters: Array
    found: int


def maxima(
    problem: FacetsMarginal, first: Array, begin: Array, nodes: Nodes, space: Space, search: Search
) -> tuple[Maximum, ...]:
    """The first and the maxima that climbs from other starts reach besides it, best first.

    Parameters
    ----------
    first
        A maximum that is known.
    begin
        Where the climb to it began: severities and difficulties that follow from pass rates.
    """

    def climb(start: Array, number: int) -> Optimum:
        return maximise(
            lambda x: problem.value(x, nodes),
            np.clip(start, *space.bounds),
            space,
            Search(_SHORT),
            stage=f"start {number} of up to {search.starts}",
            tolerance=_NEAR,
        )

    found = [Maximum(problem.value(first, nodes).objective, first, 1)]
    for number, start in enumerate(_starts(problem, first, begin, space, search), 2):
        end = climb(start, number)
        if _discriminating(problem, end.parameters) >= min(2, _discriminating(problem, first)):
            _count(found, end)
        if found[0].found == ENOUGH:
            break
    return tuple(found)


def _discriminating(problem: FacetsMarginal, parameters: Array) -> int:
    """How many raters tell students apart. Where it is one alone, ability is what that one repeats on every item, and
    nothing that raters agree on, however likely."""
    model = problem.model
    return int(np.count_nonzero(np.abs(model.slope(parameters[model.blocks["slope"]])) > _BLUNT))


def _count(found: list[Maximum], end: Optimum) -> None:
    height = end.value.objective
    for place, known in enumerate(found):
        if abs(known.objective - height) <= SAME_MAXIMUM:
            found[place] = Maximum(known.objective, known.parameters, known.found + 1)
            return
    found.append(Maximum(height, end.parameters, 1))
    found.sort(key=lambda one: -one.objective)


def _starts(
    problem: FacetsMarginal, first: Array, begin: Array, space: Space, search: Search
) -> Iterator[Array]:
    model, left = problem.model, search.starts - 1
    slope, severity = model.blocks["slope"], model.blocks["severity"]
    lower, upper = (bound[slope] for bound in space.bounds)
    steep, blind = first[slope] >= upper, first[slope] <= lower
    inside = first[slope][~steep & ~blind]
    usual = float(np.median(np.abs(inside))) if len(inside) else 1.0
    if (steep | blind).any() and left:
        other = first.copy()
        other[slope] = np.where(steep, 0.0, np.where(blind, usual, first[slope]))
        if severity.stop - severity.start == len(steep):
            other[severity] = np.where(steep | blind, begin[severity], first[severity])
        yield other
        left -= 1
    random = np.random.default_rng(search.seed)
    for _ in range(left):
        drawn = begin.copy()
        n = slope.stop - slope.start
        own = usual * np.exp(_SPREAD * random.standard_normal(n))
        drawn[slope] = np.where(random.random(n) < _BLIND, 0.0, own)
        drawn[severity] += _SEVERITIES * random.standard_normal(severity.stop - severity.start)
        yield drawn
