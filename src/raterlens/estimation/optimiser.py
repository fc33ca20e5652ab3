"""One optimiser for every method, in coordinates scaled to standard errors, and a record of what it did."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from raterlens.base.arrays import Array, Mask
from raterlens.estimation.quasi_newton import News, Point, climb
from raterlens.likelihood.engines.contract import Moments
from raterlens.likelihood.marginal import Value
from raterlens.likelihood.nodes import Nodes

# In scaled coordinates a gradient of g leaves a parameter about g standard errors from its optimum.
TOLERANCE = 3e-6
_ROUNDING = 50 * float(np.finfo(float).eps)


@dataclass(frozen=True, slots=True)
class Progress:
    """Where an optimisation stands, once per iteration."""

    stage: str
    iteration: int
    loglik: float
    gradient: float
    """Largest scaled gradient: about how many standard errors are left to go."""


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Space:
    """Where parameters may move, and on which scale."""

    information: Array
    """Diagonal of an approximate information matrix; its square root scales the parameters, so that all of them are in
    units of about one standard error."""
    bounds: tuple[Array, Array]


@dataclass(frozen=True, slots=True)
class Search:
    """How long an optimum is looked for, and who is told about it."""

    max_iterations: int = 500
    on_progress: OnProgress | None = None
    starts: int = 1
    """Starting points to try at most, where there may be several maxima."""
    seed: int = 0


USUAL = Search()
OnIteration = Callable[[Array, float], News]


@dataclass(frozen=True, slots=True)
class Optimiser:
    """Settings of the optimiser, its steps, and why it stopped."""

    name: str
    tolerance: float
    max_iterations: int
    iterations: int
    evaluations: int
    gradient: float
    """Largest scaled gradient at the end, over the parameters that are free to move."""
    converged: bool
    stopped: str
    """Why it stopped, in words."""
    n_nodes: int | None = None
    """Ability nodes of the final grid, where there is one."""
    starts: int = 1
    """Starting points that were tried."""
    agreeing: int = 1
    """Number of starts that ended at the best maximum."""


@dataclass(frozen=True, slots=True)
class Optimum:
    parameters: Array
    value: Value
    record: Optimiser


def maximise(
    objective: Callable[[Array], Value],
    start: Array,
    space: Space,
    search: Search = USUAL,
    *,
    stage: str,
    tolerance: float = TOLERANCE,
    on_iteration: OnIteration | None = None,
) -> Optimum:
    """Maximise `objective` within bounds.

    Parameters
    ----------
    on_iteration
        Called with the parameters and the largest scaled gradient; may have news for the optimiser.
    """
    scale, bounds, max_iterations = np.sqrt(space.information), space.bounds, search.max_iterations
    iteration = evaluations = 0

    def counted(parameters: Array) -> Value:
        nonlocal evaluations
        evaluations += 1
        return objective(parameters)

    def arrived(point: Point) -> bool:
        return _left(point) <= _enough(point, tolerance)

    def news(point: Point) -> News:
        nonlocal iteration
        iteration += 1
        if search.on_progress is not None:
            search.on_progress(Progress(stage, iteration, point.value.loglik, _left(point)))
        return News() if on_iteration is None else on_iteration(point.parameters, _left(point))

    end, iterations = climb(counted, start, scale, bounds, arrived, news, max_iterations)
    gradient, tolerance = _left(end), _enough(end, tolerance)
    # A line search that cannot improve within rounding has arrived, too, if the gradient says so.
    converged = gradient <= 10 * tolerance
    if gradient <= tolerance:
        stopped = "the gradient is zero within the tolerance"
    elif iterations >= max_iterations:
        stopped = f"it reached the limit of {max_iterations} iterations"
    else:
        stopped = "no further step improved the likelihood within rounding"
    record = Optimiser(
        "projected L-BFGS", tolerance, max_iterations, iterations, evaluations, gradient, converged, stopped
    )
    return Optimum(end.parameters, end.value, record)


def _left(point: Point) -> float:
    """Largest scaled gradient over the parameters that are free to move."""
    return float(np.abs(point.uphill).max(initial=0.0))


def _enough(point: Point, tolerance: float) -> float:
    """A gradient g promises g^2 / 2 more; nothing can be gained that rounding of the sum would hide."""
    return max(tolerance, float(np.sqrt(_ROUNDING * abs(point.value.objective))))


Problem = TypeVar("Problem")


@dataclass(frozen=True, slots=True)
class Estimate(Generic[Problem]):
    """Estimates, with the marginal problem at hand for inference."""

    problem: Problem
    parameters: Array
    """Centred, where the model has redundant directions."""
    value: Value
    nodes: Nodes
    """A grid fine enough for the posteriors at the estimates, in units of the students' population."""
    moments: Moments
    """Students' abilities; not-a-number where the model has none."""
    record: Optimiser
    held: Mask
    """Parameters that were not estimated."""

    @property
    def loglik(self) -> float:
        return self.value.loglik
