"""The probability of each grade, from each student's posterior on the nodes of the grid.

A posterior p known at nodes of step h is, between them, its sum of sinc functions, exact up to what the trapezoidal
rule with half as many nodes leaves. Its mass below a cut c is therefore linear in the values at the nodes t,

    P(theta < c) = sum_q p_q [1/2 + Si(pi (c - t_q) / h) / pi],

where a sum over the nodes below c would be off by up to half a node. The error of the estimates of raters and items
moves a posterior as a whole, by a normal deviate of variance v: the same average, over c. As a function of v it is
smooth, so it is computed for a few values of v and interpolated.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import special

from raterlens.base.arrays import Array
from raterlens.estimation.methods import sharp_nodes
from raterlens.estimation.scoring import Placed
from raterlens.grading.cuts import Cuts
from raterlens.likelihood.engines.contract import Moments
from raterlens.likelihood.nodes import Nodes
from raterlens.models.calibration import Calibration

_LEVELS = 8
"""Values of v."""
_DEVIATES = special.roots_hermitenorm(24)


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Students' posteriors, block by block, and the cuts in the same units."""

    placed: Placed
    nodes: Nodes
    mean: float
    sd: float
    """Standard deviation of the fit's population, whose units nodes are in"""
    cuts: Array

    @staticmethod
    def of(known: Calibration, placed: Placed, moments: Moments, cuts: Cuts) -> "Grid":
        """`moments` are those of `placed.abilities()`."""
        sharp = sharp_nodes(placed.problem, placed.parameters, moments)
        # What lies between nodes is known as well as their sum where there are twice as many.
        nodes = Nodes.equally_spaced(sharp.low, sharp.high, sharp.step / 2)
        mean, sd = known.effects.get("population", (0.0, 1.0))
        return Grid(placed, nodes, float(mean), float(sd), (cuts.ability - mean) / sd)

    @property
    def abilities(self) -> Array:
        """(nodes,): on the scale of the fit"""
        return self.mean + self.sd * self.nodes.points

    def posteriors(self) -> Iterator[tuple[slice, Array]]:
        problem = self.placed.problem
        tables = problem.tables(self.placed.parameters, self.nodes)
        for rows, posterior, _ in problem.engine.posteriors(tables, self.nodes):
            yield rows, posterior

    def grade_weights(self, variance: float = 0.0) -> Array:
        """(nodes, grades): what a node's probability adds to that of each grade, where a posterior may have been moved
        by a deviate of this variance."""
        deviates, weights = _DEVIATES if variance > 0 else (np.zeros(1), np.ones(1))
        below = np.zeros((len(self.nodes.points), len(self.cuts)))
        for z, weight in zip(deviates, weights / weights.sum(), strict=True):
            away = (self.cuts - np.sqrt(variance) * z - self.nodes.points[:, None]) / self.nodes.step
            below += weight * (0.5 + special.sici(np.pi * away)[0] / np.pi)
        ones, zeros = np.ones((len(below), 1)), np.zeros((len(below), 1))
        return np.diff(np.hstack([zeros, below, ones]), axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Graded:
    """Posterior grades of each student."""

    probabilities: Array
    """(students, grades)"""


def graded(grid: Grid, extra: Array) -> Graded:
    """Grade all students; `extra` is the variance of each ability, in units of the population, that comes from the
    errors of the estimates."""
    n, grades = len(extra), len(grid.cuts) + 1
    levels = _levels(float(extra.max(initial=0.0)))
    weights = np.hstack([grid.grade_weights(float(v)) for v in levels])
    found = np.empty((n, grades))
    for rows, posterior in grid.posteriors():
        at = (posterior @ weights).reshape(len(posterior), len(levels), grades)
        p = np.clip(np.einsum("nlg,nl->ng", at, _interpolation(levels, extra[rows])), 0.0, 1.0)
        found[rows] = p / p.sum(axis=1)[:, None]
    return Graded(found)


def _levels(most: float) -> Array:
    """Chebyshev points from 0 to `most`; 0 alone where there is nothing else."""
    if most <= 0:
        return np.zeros(1)
    return np.asarray(most * (1 - np.cos(np.pi * np.arange(_LEVELS) / (_LEVELS - 1))) / 2)


def _interpolation(levels: Array, at: Array) -> Array:
    """(values, levels): the weights of Lagrange's polynomial through the levels."""
    found = np.ones((len(at), len(levels)))
    for one, level in enumerate(levels):
        for other in np.delete(levels, one):
            found[:, one] *= (at - other) / (level - other)
    return found
