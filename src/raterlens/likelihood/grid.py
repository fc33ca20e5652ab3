"""Ability nodes that follow the data.

For a posterior of standard deviation s, the trapezoidal rule with step h is off by about 2 exp(-2 pi^2 s^2 / h^2)
relative. So the widths of the posteriors give the step that a wanted accuracy needs: a fixed coarse grid is
silently wrong where students have many ratings, and wasteful where they have few.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy import special

from raterlens.base.arrays import Array
from raterlens.base.threads import in_blocks
from raterlens.likelihood.engines.contract import Moments
from raterlens.likelihood.nodes import MOST_NODES, NARROWEST, STENCIL, NestedNodes, Nodes, error_between

# Sum over students of the relative errors, that is, the error of the log-likelihood; of very many, so much for each.
_ACCURACY, _ACCURACY_EACH = 1e-6, 1e-9
ROUGH_ACCURACY = 1e-2
# No tail of a posterior is heavier than an exponential one: 1e-10 of its mass beyond this many standard deviations.
_REACH = 24.0
# How much more probable a student's ratings are far out than at the student's mean, at most.
_RISE = 4.0
# No grid is coarser; and errors that differ by no more, relatively, are the same.
_WIDEST_STEP, _SAME_ERROR = 0.75, 1e-9
# Share of the students who may be too narrow for the nodes: each of them takes the time of several others.
_FEW = 0.03
# From this many students on, and if nodes become this many times fewer, it pays to have finer nodes for those few.
_MANY, _FEWER = 1_000, 1.4
# How far the log-probability of a rating of those few may be off between nodes; how much shorter a step is tried next.
_BETWEEN, _SHORTER = 1e-6, (0.7, 0.97)
# Of fewer nodes too many are near an end, where interpolation is poor.
_INSIDE = 5 * STENCIL // 2


def accuracy_for(n_students: int) -> float:
    """The error of their log-likelihood that changes nothing."""
    return max(_ACCURACY, n_students * _ACCURACY_EACH)


def reached(moments: Moments, accuracy: float) -> tuple[float, float]:
    """From where to where these posteriors have mass, up to `accuracy` of all of them together."""
    return -_highest(-moments.mean, moments.sd, accuracy), _highest(moments.mean, moments.sd, accuracy)


def _highest(mean: Array, sd: Array, accuracy: float) -> float:
    """Who passes everything has the population's tail: of m and above, a share of Phi(-x) / Phi(-m) lies beyond x."""

    def part(rows: slice) -> tuple[float, float]:
        return float(np.sum(1 / special.ndtr(-mean[rows]))), float(np.max(mean[rows] + _REACH * sd[rows]))

    tails, furthest = zip(*in_blocks(part, len(mean)), strict=True)
    return min(-float(special.ndtri(accuracy / (_RISE * sum(tails)))), float(max(furthest)))


def nodes_for(moments: Moments, accuracy: float | None = None) -> Nodes:
    """The coarsest grid that integrates these posteriors to `accuracy`, or so well that nothing would change."""
    if accuracy is None:
        accuracy = accuracy_for(len(moments.sd))
    low, high = reached(moments, accuracy)
    return Nodes.equally_spaced(low, high, step_for(moments, accuracy, (low, high)))


def step_for(moments: Moments, accuracy: float, reach: tuple[float, float]) -> float:
    """The widest step that integrates these posteriors to `accuracy` on nodes that reach so far."""
    return _step(moments.sd, accuracy, (reach[1] - reach[0]) / MOST_NODES)


def first_nodes(widths: Array) -> Nodes:
    """A rough grid for the start: five prior standard deviations, at a step that posteriors of these widths need."""
    return Nodes.equally_spaced(-5.0, 5.0, _step(widths, ROUGH_ACCURACY, 10.0 / MOST_NODES))


def nested(nodes: Nodes, sd: Array, tables: Callable[[Nodes], Array]) -> Nodes:
    """Coarser nodes, whose steps are divided for the few posteriors that need the step of `nodes`; or `nodes`, where
    students are few or about equally narrow, or where the tables are not smooth enough."""
    if len(sd) < _MANY:
        return nodes
    few = int(_FEW * len(sd))
    step = min(
        float(np.partition(sd, few)[few]) / NARROWEST, _WIDEST_STEP, (nodes.high - nodes.low) / _INSIDE
    )
    while step >= _FEWER * nodes.step:
        coarse = Nodes.equally_spaced(nodes.low, nodes.high, step)
        error = error_between(tables(coarse))
        if error <= _BETWEEN:
            return NestedNodes.of(coarse, int(np.ceil(step / nodes.step)))
        # It falls like exp(-distance / step), with the distance of the nearest pole of a table.
        step *= float(np.clip(np.log(error) / np.log(_BETWEEN), *_SHORTER))
    return nodes


def finer(nodes: Nodes) -> Nodes:
    """Half the step and a wider range: what a grid is checked against."""
    return _wider(nodes, nodes.step / 2, 0.0)


def midway(nodes: Nodes) -> Nodes:
    """The same for half the price: the nodes that half the step would add, and a wider range. The trapezoidal rule is
    off there by as much as on the nodes themselves, the other way."""
    # Where steps are divided, an odd number of half the finest steps, as near to the middle as there is.
    parts = nodes.parts if isinstance(nodes, NestedNodes) else 1
    return _wider(nodes, nodes.step, (parts // 2 + 0.5) / parts)


def _wider(nodes: Nodes, step: float, offset: float) -> Nodes:
    margin = max(0.5, 4 * nodes.step)
    found = Nodes.equally_spaced(nodes.low - margin, nodes.high + margin, step, offset)
    return NestedNodes.of(found, nodes.parts) if isinstance(nodes, NestedNodes) else found


def _step(sd: Array, accuracy: float, least: float) -> float:
    """Largest step whose summed error stays below `accuracy`, on a histogram of widths; no posterior is so narrow that
    it would be below `least`.

    The logarithm of the error is convex in 1 / step^2 and falls: from a step that is too wide, Newton's method gets
    there from one side.
    """
    narrowest, widest = float(sd.min()), float(sd.max())
    count, edges = np.histogram(sd, bins=200, range=(narrowest, widest * (1 + 1e-9)))
    seen = np.flatnonzero(count)
    weight, power = 2.0 * count[seen], -2 * (np.pi * edges[seen]) ** 2
    finest = max(narrowest / 10, least)
    if finest >= _WIDEST_STEP:
        return finest
    inverse, last = _WIDEST_STEP**-2, finest**-2
    while inverse < last:
        errors = weight * np.exp(power * inverse)
        error = float(errors.sum())
        if error <= accuracy * (1 + _SAME_ERROR):
            break
        fall = -float(power @ errors)
        # A posterior without width needs the finest grid there is.
        inverse += math.log(error / accuracy) * error / fall if fall > 0 else last
    return 1 / math.sqrt(min(inverse, last))
