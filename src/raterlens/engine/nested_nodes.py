"""A grid whose steps are divided where posteriors are too narrow for them.

A few students whom many raters marked have posteriors far narrower than all others. Tables, of log-probabilities and
their derivatives, are smooth on the scale of 1 / slope, however many ratings a student has: only the posteriors need
finer nodes. So the logarithms of a narrow posterior are interpolated between the nodes, by polynomials through
`STENCIL` of them, and the weights of what lies in between are given back to the nodes by the same polynomials. Averages
over posteriors, of whatever is as smooth as the tables, remain sums over the nodes; only that a weight can be slightly
negative.
"""

from dataclasses import dataclass
from functools import cache
from math import comb

import numpy as np
from scipy import sparse

from raterlens.base.types import Array
from raterlens.engine.protocol import Nodes

STENCIL = 24
"""Nodes that what lies between them is interpolated from, as in `kernels/posterior_pass.py`, which may be missing."""
NARROWEST = 1.05
"""Steps: on nodes this far apart, in its standard deviations, a posterior is off by 2 exp(-2 pi^2 1.05^2) < 1e-9."""


@dataclass(frozen=True, slots=True)
class NestedNodes(Nodes):
    """Nodes for all tables and for most students."""

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
