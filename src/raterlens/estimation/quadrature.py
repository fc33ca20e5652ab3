"""Marginal maximum likelihood: quadrature on a grid that follows the posteriors' widths.

How much raters differ is learnt on the way, from what each rater's own ratings say.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeAlias

import numpy as np
from scipy import sparse, special

from raterlens.base.arrays import Array
from raterlens.estimation.curvature import (
    OwnCurvature,
    as_bent,
    exact_inverse,
    joint_inverse,
    own_curvature,
    worth_joining,
)
from raterlens.estimation.optimiser import (
    News,
    Optimum,
    Search,
    Space,
    maximise,
    newton,
)
from raterlens.likelihood.engines.contract import Matrix, Tables, in_full
from raterlens.likelihood.marginal import FacetsMarginal, Value
from raterlens.likelihood.nodes import Moments, Nodes, accuracy_for, first_nodes, midway, nested, nodes_for
from raterlens.likelihood.priors import FREEDOM, PanelPrior

# Standard errors from the optimum, by the gradient, within which the rough grid has done its work.
_NEAR = 0.1
# And within which the curvature is about that at the optimum.
_IN_SIGHT = 1.0
_MOST_ROUNDS = 8
# Relative: spreads that differ by less change no interval that one would notice.
_SAME_SPREAD = 0.03
# Where raters' own errors are so small a share of how much they differ, in variance, spreads learnt on the way stay.
_LITTLE = 0.1
# Parameters up to which the exact information is inverted once where marks have noise, which goes with slopes.
_MOST_EXACT = 1_000
# Steps after which Newton's method takes over, on problems that are small enough for it.
_PATIENCE, _FEW_PARAMETERS, _FEW_STUDENTS = 100, 100, 60


class Marginal(Protocol):
    """A model on data: the marginal log-likelihood on a grid, and the posteriors of the students."""

    @property
    def n_students(self) -> int: ...

    def value(self, parameters: Array, nodes: Nodes) -> Value: ...

    def information(self, parameters: Array, nodes: Nodes) -> Matrix: ...

    def moments(self, parameters: Array, nodes: Nodes) -> Moments: ...

    def widths(self, parameters: Array, nodes: Nodes) -> Moments: ...

    def fine_enough(self, nodes: Nodes, parameters: Array) -> Nodes: ...


@dataclass(frozen=True, slots=True)
class Quadrature:
    """The optimum, on the grid that was found fine enough for it."""

    optimum: Optimum
    nodes: Nodes
    moments: Moments
    problem: FacetsMarginal
    """As it was maximised: with what was learnt of raters in general."""


def fit_mml(
    problem: FacetsMarginal,
    start: Array,
    space: Space,
    widths: Array,
    search: Search,
) -> Quadrature:
    """Maximise the marginal likelihood, refining the grid until a finer one changes nothing.

    Parameters
    ----------
    widths
        Posterior standard deviations expected at `start`, for the first grid.
    """
    settled = False  # whether what raters have in common need not be learnt again

    def curvature(grid: Grid, parameters: Array) -> sparse.csr_array | None:
        nonlocal problem, settled
        information = _of_variances(problem, space.information, parameters)
        if problem.prior is not None:
            parameters = problem.prior.counted_from_zero(problem.model, parameters)
        found = own_curvature(problem, parameters, information, grid.nodes, grid.moments(parameters))
        if found is None:
            return None
        if problem.prior is not None:
            prior = _learned(problem, problem.prior, found, parameters, grid.nodes)
            grid.problem = problem = replace(problem, prior=prior)
            settled = _known_well(prior, found, parameters)
        return _inverse(problem, parameters, information, grid.nodes, found)

    first_curvature = partial(_first_inverse, problem, space.information)
    tables = None if problem.model.nested else problem.tables
    nodes = first_nodes(widths)
    if tables is not None:
        nodes = nested(nodes, widths, lambda coarse: tables(start, coarse).cells)
    grid = Grid(problem, nodes, first_curvature=first_curvature, curvature=curvature, tables=tables)
    evaluations = iterations = 0
    for _ in range(_MOST_ROUNDS):
        optimum = _climbed(grid, start, space, search)
        evaluations += optimum.record.evaluations
        iterations += optimum.record.iterations
        start = optimum.parameters
        if grid.rough:
            grid.follow(start)
            continue
        evaluations += 1
        if optimum.record.iterations >= search.max_iterations:
            break
        if not grid.fine_enough(optimum):
            grid.refine(start)
            continue
        prior = None if settled else _learned_again(grid, problem, start, space.information)
        if prior is None:
            break
        grid.problem = problem = replace(problem, prior=prior)
    record = replace(
        optimum.record, evaluations=evaluations, iterations=iterations, n_nodes=len(grid.nodes.points)
    )
    return Quadrature(replace(optimum, record=record), grid.nodes, grid.moments(start), problem)


def _of_variances(problem: FacetsMarginal, information: Array, parameters: Array) -> Array:
    """The information, of variances at these parameters."""
    found, model = information.copy(), problem.model
    for term in model.terms:
        if term.variance:
            found[model.blocks[term.name]] = term.information(model, parameters, problem.n_students)
    return found


def _inverse(
    problem: FacetsMarginal, parameters: Array, information: Array, nodes: Nodes, found: OwnCurvature
) -> sparse.csr_array:
    # An evaluation over patterns of scores and impressions takes long, so that few steps save more than this costs.
    exact = problem.response.least_noise or (problem.model.enters("halo") and not problem.density.sums)
    if exact and len(parameters) <= _MOST_EXACT:
        return exact_inverse(problem, parameters, information, nodes)
    if worth_joining(problem.model):
        return joint_inverse(problem, parameters, information, nodes, found)
    return found.inverse(information, problem.prior, parameters)


def _first_inverse(
    problem: FacetsMarginal, information: Array, grid: "Grid", parameters: Array
) -> sparse.csr_array | None:
    if not worth_joining(problem.model):
        return None
    return joint_inverse(problem, parameters, information, grid.nodes)


def _learned(
    problem: FacetsMarginal, prior: PanelPrior, found: OwnCurvature, parameters: Array, nodes: Nodes
) -> PanelPrior:
    """Learn the prior of raters in general from the ratings."""
    many = prior.n_raters >= ENOUGH_FOR_TAILS
    blocks = as_bent(found, problem, parameters, nodes) if many else found.blocks
    return learned_spreads(prior, parameters, found.gradient, blocks)


def _known_well(prior: PanelPrior, found: OwnCurvature, parameters: Array) -> bool:
    """Whether each rater's own ratings say so much that the spread of slopes would be learnt the same again."""
    if prior.slopes is None:
        return True
    error = np.linalg.inv(found.blocks)[:, 0, 0]
    return float(error.mean()) < _LITTLE * prior.slope_deviation(parameters) ** 2


def _learned_again(
    grid: "Grid", problem: FacetsMarginal, parameters: Array, information: Array
) -> PanelPrior | None:
    """The prior of a large panel as it looks from the optimum under the one that was learnt on the way, where all
    raters may have seemed alike; None where it is the same, or nothing is learnt."""
    prior = problem.prior
    if prior is None or prior.slopes is None or prior.n_raters < ENOUGH_FOR_TAILS:
        return None
    parameters = prior.counted_from_zero(problem.model, parameters)
    found = own_curvature(problem, parameters, information, grid.nodes, grid.moments(parameters))
    if found is None:
        return None
    again = _learned(problem, prior, found, parameters, grid.nodes)
    moved = abs(np.log(again.slope_spread / prior.slope_spread))
    return again if moved > _SAME_SPREAD else None


def _climbed(grid: "Grid", start: Array, space: Space, search: Search) -> Optimum:
    """The optimum on a grid. On few ratings a likelihood can have long level ridges (slopes near 0, difficulties that
    multiply them without bound), along which only Newton's method gets on: it takes over after this many steps."""
    stage = "marginal likelihood"
    few = len(start) <= _FEW_PARAMETERS and grid.problem.n_students <= _FEW_STUDENTS
    patient = replace(search, max_iterations=min(search.max_iterations, _PATIENCE)) if few else search
    found = maximise(grid.value, start, space, patient, stage=stage, on_iteration=grid.near)
    left = search.max_iterations - found.record.iterations
    if found.record.converged or not few or left <= 0:
        return replace(found, record=replace(found.record, max_iterations=search.max_iterations))

    def curvature(x: Array) -> Array:
        return in_full(grid.problem.information(x, grid.nodes))

    end = newton(
        grid.value, curvature, found.parameters, space, replace(search, max_iterations=left), stage=stage
    )
    record = replace(
        end.record,
        name=f"{found.record.name}, {end.record.name}",
        max_iterations=search.max_iterations,
        iterations=found.record.iterations + end.record.iterations,
        evaluations=found.record.evaluations + end.record.evaluations,
    )
    return replace(end, record=record)


Curvature: TypeAlias = "Callable[[Grid, Array], sparse.csr_array | None]"
"""The inverse of the objective's, roughly, on a grid and at parameters; or None."""


class Grid:
    """A rough grid, until the parameters are near their optimum; then one that follows the posteriors there.

    What the optimiser has learnt of the curvature on the one serves on the other.
    """

    def __init__(
        self,
        problem: Marginal,
        nodes: Nodes,
        accuracy: float | None = None,
        first_curvature: "Curvature | None" = None,
        curvature: "Curvature | None" = None,
        tables: Callable[[Array, Nodes], Tables] | None = None,
    ) -> None:
        """
        Parameters
        ----------
        tables
            Of the model, where few narrow posteriors may have finer nodes than all others.
        """
        self.problem, self.nodes = problem, nodes
        self.accuracy = accuracy_for(problem.n_students) if accuracy is None else accuracy
        self._first_curvature, self._curvature, self._tables = first_curvature, curvature, tables
        self.rough = True

    def value(self, parameters: Array) -> Value:
        return self.problem.value(parameters, self.nodes)

    def near(self, parameters: Array, gradient: float) -> News:
        inverse, before = None, self.problem
        if self._curvature is not None and gradient <= _IN_SIGHT:
            inverse = self._curvature(self, parameters)
            self._curvature = None
        elif self._first_curvature is not None:
            inverse = self._first_curvature(self, parameters)
        self._first_curvature = None
        if not self.rough or gradient > _NEAR:
            return News(self.problem is not before, inverse_curvature=inverse)
        self.follow(parameters)
        return News(objective_changed=True, inverse_curvature=inverse)

    def follow(self, parameters: Array) -> None:
        moments = self.problem.widths(parameters, self.nodes)
        # A discrete posterior narrower than the step tells only that it is narrower; go there by degrees.
        seen = Moments(moments.mean, np.maximum(moments.sd, self.nodes.finest_step / 4))
        self.nodes, self.rough = self.problem.fine_enough(nodes_for(seen, self.accuracy), parameters), False
        if self._tables is not None:
            at = partial(self._tables, parameters)
            self.nodes = nested(self.nodes, seen.sd, lambda nodes: at(nodes).cells)

    def fine_enough(self, optimum: Optimum) -> bool:
        """Whether half the step changes nothing."""
        check = self.problem.value(optimum.parameters, midway(self.nodes)).loglik
        return abs(check - optimum.value.loglik) / 2 <= max(2e-5, 1e-9 * abs(check))

    def refine(self, parameters: Array) -> None:
        """Where the grid is found too coarse: a wide posterior can have steep flanks, which its width does not tell."""
        self.accuracy /= 100
        half, self._tables = self.nodes.finest_step / 2, None
        self.follow(parameters)
        if self.nodes.step > half:
            self.nodes = Nodes.equally_spaced(self.nodes.low, self.nodes.high, half)

    def moments(self, parameters: Array) -> Moments:
        return self.problem.moments(parameters, self.nodes)


# ----------------------------------------------------------------------------------------------------
# How much raters differ: EM on a quadratic likelihood per rater.
#
# Each rater's slope ã_r has an error variance e_r of its own. With weights w_r that make the t distribution of a normal
# one, an M-step is
#
#     s² = sum w_r [(a_r - m)² + V_r] / (R - 1),      V_r = 1 / (1 / e_r + w_r / s²)
#
# where R - 1 instead of R comes from a prior proportional to s, which keeps small panels from collapsing to s = 0. On
# large panels this is all there is to know; on small ones it is where the posterior over s begins
# (`panel_posterior.py`).
#
# How heavy the tails of the t distribution are shows on large panels only: there it is what makes the slopes likeliest.
# With tails heavier than the raters', most raters would be drawn to the usual one too strongly, and seem known too
# well.

_MOST_STEPS = 500
_SETTLED = 1e-5
# Relative to a usual slope: no panel is so alike, or so unlike.
LEAST_SPREAD, LARGEST_SPREAD = 0.02, 4.0
# Raters from which on tails are learnt, and what they may be; the last is all but a normal distribution.
ENOUGH_FOR_TAILS, _TAILS = 200, (2.0, 4.0, 8.0, 100.0)
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(25)


def learned_spreads(prior: PanelPrior, parameters: Array, gradient: Array, blocks: Array) -> PanelPrior:
    """The prior at the spreads that ratings speak for.

    Parameters
    ----------
    gradient
        Of the log-likelihood, without any prior, at `parameters`.
    blocks
        (raters, own, own): information about each rater's slope and severity, or severity alone.
    """
    severity = parameters[prior.severities]
    towards = gradient[prior.severities][:, None]
    if prior.slopes is not None:
        towards = np.stack([gradient[prior.slopes], gradient[prior.severities]], axis=1)
    error = np.asarray(np.linalg.inv(blocks), np.float64)
    # Where each rater's quadratic log-likelihood has its top.
    moved = np.einsum("rij,rj->ri", error, towards)
    slope_spread, freedom, there = prior.slope_spread, prior.freedom, parameters
    if prior.slopes is not None:
        top = parameters[prior.slopes] + moved[:, 0]
        spread, centre, freedom = _likeliest(top, error[:, 0, 0], prior.slope_means)
        there = parameters.copy()
        there[prior.slopes] = centre
        for _ in range(2):  # the usual slope depends a little on the spread around it
            slope_spread = float(np.clip(spread / prior.usual_slope(there), LEAST_SPREAD, LARGEST_SPREAD))
            prior = prior.at(slope_spread, prior.severity_spread, freedom)
    severity_spread, _ = _spread(severity + moved[:, -1], error[:, -1, -1], prior.severity_means)
    scale = prior.usual_slope(there)
    low, high = LEAST_SPREAD * scale, max(LARGEST_SPREAD * scale, 1.0)
    return prior.at(slope_spread, float(np.clip(severity_spread, low, high)))


def _likeliest(top: Array, error: Array, means: Array) -> tuple[float, Array, float]:
    """The spread, where raters are under it, and the tails."""
    if len(top) < ENOUGH_FOR_TAILS:
        return *_spread(top, error, means, FREEDOM), FREEDOM
    found = [(*_spread(top, error, means, freedom), freedom) for freedom in _TAILS]
    return max(found, key=lambda one: _height(top, error, means, *one))


def _height(top: Array, error: Array, means: Array, spread: float, centre: Array, freedom: float) -> float:
    """Log-likelihood of what each rater's own ratings say, over normal errors."""
    weight = 1 / (freedom + ((centre - means @ (np.linalg.pinv(means) @ centre)) / spread) ** 2)
    weighted = weight[:, None] * means
    usual = means @ np.linalg.solve(weighted.T @ means, weighted.T @ centre)
    z = ((top - usual)[:, None] + np.sqrt(error)[:, None] * _NODES) / spread
    density = (1 + z**2 / freedom) ** (-(freedom + 1) / 2)
    scale = special.gammaln((freedom + 1) / 2) - special.gammaln(freedom / 2) - np.log(np.pi * freedom) / 2
    return float(np.log(density @ (_WEIGHTS / _WEIGHTS.sum())).sum() + len(top) * (scale - np.log(spread)))


def _spread(top: Array, error: Array, means: Array, freedom: float | None = None) -> tuple[float, Array]:
    """A spread, and where raters are under it; of a normal distribution where tails are not given."""
    n, fit = len(top), np.linalg.pinv(means)
    centre, variance = top, np.zeros(n)
    spread = max(float(np.sum((top - means @ (fit @ top)) ** 2)) / max(n - 1, 1), 1e-8)
    weight = np.ones(n)
    for _ in range(_MOST_STEPS):
        weighted = weight[:, None] * means
        usual = means @ np.linalg.solve(weighted.T @ means, weighted.T @ centre)
        if freedom is not None:
            weight = (freedom + 1) / (freedom + ((centre - usual) ** 2 + variance) / spread)
        variance = 1 / (1 / error + weight / spread)
        centre = variance * (top / error + weight * usual / spread)
        found = float(np.sum(weight * ((centre - usual) ** 2 + variance))) / max(n - 1, 1)
        settled = abs(np.log(found / spread)) < _SETTLED
        spread = found
        if settled:
            break
    return float(np.sqrt(spread)), centre
