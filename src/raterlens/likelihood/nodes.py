"""Ability nodes: equally spaced ones, nested ones whose steps are divided where posteriors are narrow, and products of
two grids."""

from dataclasses import dataclass, replace
from functools import cache
from math import comb

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array

# No grid has more: beyond, the tables of a panel outgrow memory before accuracy gains.
MOST_NODES = 20_000


@dataclass(frozen=True, slots=True)
class Nodes:
    """Ability nodes with log weights: the trapezoidal rule on equally spaced nodes under N(0, 1)."""

    points: Array
    log_weights: Array

    @staticmethod
    def equally_spaced(low: float, high: float, step: float, offset: float = 0.0) -> "Nodes":
        """Nodes from `low` to `high`; at MOST_NODES the step is widened rather than the range cut. `offset`: how far
        the lattice that they are on is from 0, in steps."""
        step = max(step, (high - low) / MOST_NODES)
        count = max(3, int(np.ceil((high - low) / step)) + 1)
        # On one lattice, so that two grids of the same step share their nodes.
        points = (np.floor(low / step - offset) + offset + np.arange(count + 1)) * step
        return Nodes(points, -0.5 * points**2 - 0.5 * np.log(2 * np.pi) + np.log(step))

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
        return self.step

    @property
    def low(self) -> float:
        return float(self.points[0])

    @property
    def high(self) -> float:
        return float(self.points[-1])


STENCIL = 24
"""Nodes that what lies between them is interpolated from, as in `kernels/posterior_pass.py`, which may be missing."""
NARROWEST = 1.05
"""Steps: on nodes this far apart, in its standard deviations, a posterior is off by 2 exp(-2 pi^2 1.05^2) < 1e-9."""


@dataclass(frozen=True, slots=True)
class NestedNodes(Nodes):
    """Nodes whose steps are divided where posteriors are too narrow for them.

    A few students whom many raters marked have posteriors far narrower than all others. Tables, of log-probabilities
    and their derivatives, are smooth on the scale of 1 / slope, however many ratings a student has: only the posteriors
    need finer nodes. So the logarithms of a narrow posterior are interpolated between the nodes, by polynomials through
    `STENCIL` of them, and the weights of what lies in between are given back to the nodes by the same polynomials.
    Averages over posteriors, of whatever is as smooth as the tables, remain sums over the nodes; only that a weight can
    be slightly negative.
    """

    parts: int
    """Into how many parts a step is divided where posteriors are narrow."""

    @staticmethod
    def of(nodes: Nodes, parts: int) -> "NestedNodes":
        return NestedNodes(nodes.points, nodes.log_weights, parts)

    def fine(self) -> Nodes:
        """The nodes of narrow posteriors."""
        count = (len(self.points) - 1) * self.parts + 1
        points = np.asarray(self.low + np.arange(count) * self.finest_step, np.float64)
        return Nodes(points, self.between() @ self.log_weights - np.log(self.parts))

    def between(self) -> sparse.csr_array:
        """(nodes of narrow posteriors, nodes): values at the former from those at the latter."""
        size = len(self.points)
        fine = np.arange((size - 1) * self.parts + 1)
        first = np.clip(fine // self.parts - (STENCIL // 2 - 1), 0, size - STENCIL)
        columns = first[:, None] + np.arange(STENCIL)
        values = weights_between(self.parts)[fine - first * self.parts]
        starts = np.arange(0, values.size + 1, STENCIL)
        return sparse.csr_array((values.ravel(), columns.ravel(), starts), shape=(len(fine), size))

    @property
    def finest_step(self) -> float:
        return self.step / self.parts

    @property
    def least_variance(self) -> float:
        """Posteriors of less are too narrow for the nodes."""
        return (NARROWEST * self.step) ** 2


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
        difference[place + k, place] = (-1) ** k * comb(STENCIL, k)
    with np.errstate(invalid="ignore"):
        differences = tables @ difference
    odd = np.arange(1, STENCIL, 2) / 2
    scale = np.prod(odd / np.arange(1, STENCIL, 2)) * np.prod(odd / np.arange(2, STENCIL + 1, 2))
    return float(scale * np.abs(differences).max())


@dataclass(frozen=True, slots=True)
class ProductNodes(Nodes):
    """The nodes (t, z) of two grids, without those in the corners, where no posterior has mass; z in runs."""

    z: Array
    steps: tuple[float, float]
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
        return ProductNodes(t[inside], weights[inside], z[inside], (first.step, second.step))

    @property
    def reach(self) -> float:
        return float(np.sqrt(np.max(self.points**2 + self.z**2)))

    def turned(self) -> "ProductNodes":
        """With the other ability in the first place: an engine's moments are then of that one."""
        return replace(self, points=self.z, z=self.points, steps=self.steps[::-1])

    def finer(self) -> "ProductNodes":
        """Half the steps, and wider: what a grid is checked against."""
        return ProductNodes.of((self.steps[0] / 2, self.steps[1] / 2), self.reach + 0.5)
