"""Ability nodes: equally spaced ones, whose steps may be divided where posteriors are narrow, products of two grids;
and the grid that posteriors need.

For a posterior of standard deviation s, the trapezoidal rule with step h is off by about 2 exp(-2 pi^2 s^2 / h^2)
relative. So the widths of the posteriors give the step that a wanted accuracy needs: a fixed coarse grid is
silently wrong where students have many ratings, and wasteful where they have few.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from raterlens.base.arrays import Array, take_in_blocks
from raterlens.base.threads import in_blocks

# No grid has more: beyond, the tables of a panel outgrow memory before accuracy gains.
MOST_NODES = 20_000


STENCIL = 24
"""Nodes that what lies between them is interpolated from, as in `kernels/posterior_pass.py`, which may be missing."""
NARROWEST = 1.05
"""Steps: on nodes this far apart, in its standard deviations, a posterior is off by 2 exp(-2 pi^2 1.05^2) < 1e-9."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """Ability nodes with log weights: the trapezoidal rule on equally spaced nodes under N(0, 1).

    Steps may be divided into `parts` where posteriors are too narrow for them. A few students whom many raters marked
    have posteriors far narrower than all others. Tables, of log-probabilities and their derivatives, are smooth on the
    scale of 1 / slope, however many ratings a student has: only the posteriors need finer nodes. So the logarithms of a
    narrow posterior are interpolated between the nodes, by polynomials through `STENCIL` of them, and the weights of
    what lies in between are given back to the nodes by the same polynomials. Averages over posteriors, of whatever is
    as smooth as the tables, remain sums over the nodes; only that a weight can be slightly negative.
    """

    points: Array
    log_weights: Array
    parts: int = field(default=1, kw_only=True)
    z: Array | None = field(default=None, kw_only=True)
    """(nodes,): of a second ability, where there is one."""

    @staticmethod
    def equally_spaced(low: float, high: float, step: float, offset: float = 0.0, parts: int = 1) -> "Nodes":
        """Nodes from `low` to `high`; at MOST_NODES the step is widened rather than the range cut. `offset`: how far
        the lattice that they are on is from 0, in steps."""
        step = max(step, (high - low) / MOST_NODES)
        count = max(3, int(np.ceil((high - low) / step)) + 1)
        # On one lattice, so that two grids of the same step share their nodes.
        points = (np.floor(low / step - offset) + offset + np.arange(count + 1)) * step
        weights = -0.5 * points**2 - 0.5 * np.log(2 * np.pi) + np.log(step)
        return Nodes(points, weights, parts=parts)

    @property
    def at_limit(self) -> bool:
        """Whether a finer grid was wanted, or would be refused."""
        return len(self.points) > MOST_NODES

    @property
    def step(self) -> float:
        return float(self.points[1] - self.points[0])

    @property
    def finest_step(self) -> float:
        """Finest step that any posterior needs."""
        return self.step / self.parts

    @property
    def low(self) -> float:
        return float(self.points[0])

    @property
    def high(self) -> float:
        return float(self.points[-1])

    @property
    def least_variance(self) -> float:
        """Posteriors of less are too narrow for the nodes."""
        return (NARROWEST * self.step) ** 2

    def turned(self) -> "Nodes":
        """With the other ability in the first place: an engine's moments are then of that one."""
        assert self.z is not None
        return Nodes(self.z, self.log_weights, z=self.points)

    def fine(self) -> "Nodes":
        """The nodes of narrow posteriors."""
        if self.parts == 1:
            return self
        count = (len(self.points) - 1) * self.parts + 1
        points = np.asarray(self.low + np.arange(count) * self.finest_step, np.float64)
        return Nodes(points, self.refined(self.log_weights[None])[0] - np.log(self.parts))

    def refined(self, table: Array) -> Array:
        """(rows, nodes of narrow posteriors), from values at the nodes."""
        return table if self.parts == 1 else np.asarray(table @ self._between().T)

    def coarsened(self, weights: Array) -> Array:
        """(rows, nodes): the weights of what lies in between, given back."""
        return weights if self.parts == 1 else np.asarray(weights @ self._between())

    def _between(self) -> sparse.csr_array:
        """(nodes of narrow posteriors, nodes): values at the former from those at the latter."""
        size = len(self.points)
        fine = np.arange((size - 1) * self.parts + 1)
        first = np.clip(fine // self.parts - (STENCIL // 2 - 1), 0, size - STENCIL)
        columns = first[:, None] + np.arange(STENCIL)
        values = weights_between(self.parts)[fine - first * self.parts]
        starts = np.arange(0, values.size + 1, STENCIL)
        return sparse.csr_array((values.ravel(), columns.ravel(), starts), shape=(len(fine), size))


@cache
def weights_between(parts: int) -> Array:
    """(positions, STENCIL): Lagrange's weights of nodes 0, 1, 2, ... at 0, 1 / parts, 2 / parts, ..."""
    node = np.arange(STENCIL, dtype=np.float64)
    at = np.arange((STENCIL - 1) * parts + 1) / parts
    away = at[:, None] - node
    others = ~np.eye(STENCIL, dtype=bool)
    above = np.prod(np.where(others, away[:, None, :], 1.0), axis=2)
    below = np.prod(np.where(others, node[:, None] - node, 1.0), axis=1)
    return np.ascontiguousarray(above / below)


def error_between(tables: Array) -> float:
    """How far the tables (cells, nodes) are off halfway between nodes, at most, by their differences of high order:
    f^(n) / n! times the product of the distances to the n nodes. Not a number where a table is infinite."""
    place = np.arange(tables.shape[1] - STENCIL)
    # A product of matrices takes a third of the time of as many differences of differences.
    difference = np.zeros((tables.shape[1], len(place)))
    for k in range(STENCIL + 1):
        difference[place + k, place] = (-1) ** k * math.comb(STENCIL, k)
    with np.errstate(invalid="ignore"):
        differences = tables @ difference
    odd = np.arange(1, STENCIL, 2) / 2
    scale = np.prod(odd / np.arange(1, STENCIL, 2)) * np.prod(odd / np.arange(2, STENCIL + 1, 2))
    return float(scale * np.abs(differences).max())


@dataclass(frozen=True, slots=True)
class ProductNodes(Nodes):
    """The nodes (t, z) of two grids, without those in the corners, where no posterior has mass; z in runs."""

    z: Array = field(kw_only=True)
    steps: tuple[float, float] = field(kw_only=True)
    """Steps of t and of z."""

    @staticmethod
    def of(steps: tuple[float, float], reach: float) -> "ProductNodes":
        """Out to `reach` from the middle; steps are widened rather than have too many nodes."""
        area = np.pi * reach**2
        widen = max(1.0, float(np.sqrt(area / (steps[0] * steps[1] * MOST_NODES))))
        first, second = (Nodes.equally_spaced(-reach, reach, widen * step) for step in steps)
        z, t = (part.ravel() for part in np.meshgrid(second.points, first.points, indexing="ij"))
        inside = t**2 + z**2 <= reach**2
        weights = np.add.outer(second.log_weights, first.log_weights).ravel()
        return ProductNodes(t[inside], weights[inside], z=z[inside], steps=(first.step, second.step))

    @property
    def reach(self) -> float:
        return float(np.sqrt(np.max(self.points**2 + self.z**2)))

    def finer(self) -> "ProductNodes":
        """Half the steps, and wider: what a grid is checked against."""
        return ProductNodes.of((self.steps[0] / 2, self.steps[1] / 2), self.reach + 0.5)


@dataclass(frozen=True, slots=True)
class Moments:
    """Each student's posterior ability."""

    mean: Array
    sd: Array

    @staticmethod
    def by(posterior: Array, points: Array) -> "Moments":
        """Moments of posteriors (students, nodes)."""
        mean = posterior @ points
        # Centred before squaring: E[t^2] - E[t]^2 would cancel for narrow posteriors.
        return Moments(mean, np.sqrt(np.sum(posterior * (points - mean[:, None]) ** 2, axis=1)))

    @staticmethod
    def joined(parts: "Iterable[Moments]") -> "Moments":
        """Moments of the parts of the students, joined in order."""
        known = list(parts)
        return Moments(np.concatenate([p.mean for p in known]), np.concatenate([p.sd for p in known]))

    def of(self, rows: NDArray[np.integer]) -> "Moments":
        """Those of other rows."""
        return Moments(take_in_blocks(self.mean, rows), take_in_blocks(self.sd, rows))


# ----------------------------------------------------------------------------------------------------
# The grid that posteriors need.

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
            return replace(coarse, parts=int(np.ceil(step / nodes.step)))
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
    return _wider(nodes, nodes.step, (nodes.parts // 2 + 0.5) / nodes.parts)


def _wider(nodes: Nodes, step: float, offset: float) -> Nodes:
    margin = max(0.5, 4 * nodes.step)
    return Nodes.equally_spaced(nodes.low - margin, nodes.high + margin, step, offset, nodes.parts)


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
