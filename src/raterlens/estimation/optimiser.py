"""Two optimisers for every method, in coordinates scaled to standard errors, and a record of what they did.

`maximise` needs gradients only and serves large problems; `newton` needs the information too and takes few steps.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from scipy import linalg

from raterlens.base.arrays import Array, Mask
from raterlens.likelihood.marginal import Value
from raterlens.likelihood.nodes import Moments, Nodes

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


# ----------------------------------------------------------------------------------------------------
# Uphill within bounds: L-BFGS with projection, whose objective may become more accurate on the way.
#
# At a bound that the gradient pushes against, a parameter stays; the others go where the remembered curvature says, and
# the path is cut off at the bounds. As every step of the usual kind (a length of 1) is tried first, near the optimum
# an iteration costs one evaluation.

_MEMORY = 20
# Of what the gradient promises a step brings the first share at least; of the gradient it leaves the other at most.
_RISE, _STEEP = 1e-4, 0.9
_MOST_TRIALS = 25
# Logits that a parameter goes at most in a step, and how often that a step may be lengthened to. Where a likelihood is
# flat, or rises for ever, the next point would be one where a grid of abilities can no longer follow.
_FURTHEST, _LONGEST = 4.0, 8.0


@dataclass(frozen=True, slots=True)
class Point:
    """Where the climber stands, in scaled coordinates."""

    x: Array
    parameters: Array
    value: Value
    gradient: Array
    uphill: Array
    """The gradient where a step along it is allowed, zero where a bound holds."""


class Curvature(Protocol):
    """A matrix, or what multiplies gradients like one."""

    def __matmul__(self, vector: Array, /) -> Array: ...


@dataclass(frozen=True, slots=True)
class News:
    """Value and gradient at a point."""

    objective_changed: bool = False
    """It is another one from here on, to be evaluated again."""
    inverse_curvature: Curvature | None = None
    """Roughly, by the parameters: better than what the steps have taught, which is forgotten."""


OnIteration = Callable[[Array, float], News]


def maximise(
    objective: Callable[[Array], Value],
    start: Array,
    space: Space,
    search: Search = USUAL,
    *,
    stage: str,
    tolerance: float = TOLERANCE,
    on_iteration: OnIteration | None = None,
    inverse_curvature: Curvature | None = None,
) -> Optimum:
    """Maximise `objective` within bounds, until the gradient is small enough or no step improves.

    Parameters
    ----------
    on_iteration
        Called with the parameters and the largest scaled gradient; may have news for the optimiser.
    inverse_curvature
        Roughly, by the parameters, where it is known from the start.
    """
    scale, (lower, upper) = np.sqrt(space.information), space.bounds
    box, iterations, evaluations = (lower * scale, upper * scale), 0, 0

    def at(x: Array) -> Point:
        nonlocal evaluations
        evaluations += 1
        # Multiplied and divided, a bound might not be itself: who is not quite there would push against it for ever.
        parameters = np.where(x <= box[0], lower, np.where(x >= box[1], upper, x / scale))
        value = objective(parameters)
        held = (parameters <= lower) & (value.gradient <= 0) | (parameters >= upper) & (value.gradient >= 0)
        gradient = value.gradient / scale
        return Point(x, parameters, value, gradient, np.where(held, 0.0, gradient))

    here, memory = at(np.clip(start * scale, *box)), _Memory(inverse_curvature, scale)
    while _left(here) > _enough(here, tolerance) and iterations < search.max_iterations:
        direction = memory.applied(here.uphill)
        direction *= min(1.0, _FURTHEST / max(float(np.abs(direction / scale).max()), 1e-300))
        there = _step(at, here, direction, box)
        if there is None:
            if memory.empty:
                break
            memory = _Memory()
            continue
        iterations += 1
        memory.take(there.x - here.x, here.gradient - there.gradient)
        here = there
        if search.on_progress is not None:
            search.on_progress(Progress(stage, iterations, here.value.loglik, _left(here)))
        told = News() if on_iteration is None else on_iteration(here.parameters, _left(here))
        if told.objective_changed:
            here = at(here.x)
        if told.inverse_curvature is not None:
            memory = _Memory(told.inverse_curvature, scale)
    enough = _enough(here, tolerance)
    record = _record("projected L-BFGS", enough, search.max_iterations, iterations, evaluations, _left(here))
    return Optimum(here.parameters, here.value, record)


def _step(
    at: Callable[[Array], Point], here: Point, direction: Array, box: tuple[Array, Array]
) -> Point | None:
    """A point that is high enough along the direction, and not too near; None where there is none."""
    best: Point | None = None
    length, height = 1.0, here.value.objective
    if not here.uphill @ direction > 0:
        return None
    for _ in range(_MOST_TRIALS):
        there = at(np.clip(here.x + length * direction, *box))
        gain, promised = there.value.objective - height, float(here.uphill @ (there.x - here.x))
        if best is not None and not there.value.objective > best.value.objective:
            return best
        if gain >= _RISE * promised - _ROUNDING * abs(height):
            best = there
            if not 1 <= length < _LONGEST or there.gradient @ direction <= _STEEP * (here.uphill @ direction):
                return best
            length *= 2
        elif best is not None:
            return best
        else:
            length *= _shorter(gain, promised)
    return best


def _shorter(gain: float, promised: float) -> float:
    """Where a parabola with this gain at 1 and this slope at 0 has its top, within limits."""
    if not np.isfinite(gain) or promised <= 0:
        return 0.1
    return float(np.clip(promised / (2 * (promised - gain)), 0.1, 0.5))


class _Memory:
    """The last steps and how the gradient fell along them: what is known of the curvature."""

    def __init__(self, inverse: Curvature | None = None, scale: Array | float = 1.0) -> None:
        """The inverse curvature is by the parameters, steps are in coordinates."""
        self.inverse, self._scale = inverse, scale
        self._pairs: deque[tuple[Array, Array]] = deque(maxlen=_MEMORY)

    @property
    def empty(self) -> bool:
        return not self._pairs and self.inverse is None

    def take(self, step: Array, fall: Array) -> None:
        if step @ fall > 1e-10 * np.sqrt((step @ step) * (fall @ fall)):
            self._pairs.append((step, fall))

    def applied(self, uphill: Array) -> Array:
        """The inverse curvature, over the parameters that are free to move, times the gradient."""
        free = uphill != 0
        pairs = [(np.where(free, step, 0.0), np.where(free, fall, 0.0)) for step, fall in self._pairs]
        pairs = [(step, fall) for step, fall in pairs if step @ fall > 0]
        direction, weights = uphill.copy(), []
        for step, fall in reversed(pairs):
            weights.append((step @ direction) / (step @ fall))
            direction -= weights[-1] * fall
        if self.inverse is not None:
            direction = np.where(free, self._scale * (self.inverse @ (self._scale * direction)), 0.0)
        elif pairs:
            step, fall = pairs[-1]
            direction *= (step @ fall) / (fall @ fall)
        for step, fall in pairs:
            direction += (weights.pop() - (fall @ direction) / (step @ fall)) * step
        return direction


def _record(
    name: str, tolerance: float, max_iterations: int, iterations: int, evaluations: int, gradient: float
) -> Optimiser:
    # A line search that cannot improve within rounding has arrived, too, if the gradient says so.
    converged = gradient <= 10 * tolerance
    if gradient <= tolerance:
        stopped = "the gradient is zero within the tolerance"
    elif iterations >= max_iterations:
        stopped = f"it reached the limit of {max_iterations} iterations"
    else:
        stopped = "no further step improved the likelihood within rounding"
    return Optimiser(name, tolerance, max_iterations, iterations, evaluations, gradient, converged, stopped)


def _left(point: Point) -> float:
    """Largest scaled gradient over the parameters that are free to move."""
    return float(np.abs(point.uphill).max(initial=0.0))


def _enough(point: Point, tolerance: float) -> float:
    """A gradient g promises g^2 / 2 more; nothing can be gained that rounding of the sum would hide."""
    return max(tolerance, float(np.sqrt(_ROUNDING * abs(point.value.objective))))


# ----------------------------------------------------------------------------------------------------
# Newton's method within bounds, for objectives whose exact information is at hand.
#
# Where a likelihood is nearly flat in some directions (raters who never err, true categories that are hardly
# determined), a quasi-Newton method needs hundreds of steps and Newton's a dozen.

_DAMPING = 1e-3
_LEAST_DAMPING = 1e-9
# A step that has to be damped so strongly is smaller than rounding in the objective.
_MOST_DAMPING = 1e6


def newton(
    objective: Callable[[Array], Value],
    curvature: Callable[[Array], Array],
    start: Array,
    space: Space,
    search: Search = USUAL,
    *,
    stage: str,
    tolerance: float = TOLERANCE,
) -> Optimum:
    """Maximise `objective` from a start not far away, by damped (Levenberg-Marquardt) Newton steps.

    Parameters
    ----------
    curvature
        Minus the second derivative of the objective.
    """
    (lower, upper), scale, max_iterations = space.bounds, np.sqrt(space.information), search.max_iterations
    x = np.clip(start, lower, upper)
    value = objective(x)
    damping, evaluations, iterations = _DAMPING, 1, 0
    while True:
        held = ((x <= lower) & (value.gradient < 0)) | ((x >= upper) & (value.gradient > 0))
        free = np.flatnonzero(~held)
        scaled = (value.gradient / scale)[free]
        left = float(np.abs(scaled).max(initial=0.0))
        if search.on_progress is not None:
            search.on_progress(Progress(stage, iterations, value.loglik, left))
        if left <= tolerance or iterations == max_iterations or damping > _MOST_DAMPING:
            break
        matrix = curvature(x)[np.ix_(free, free)] / np.outer(scale[free], scale[free])
        iterations += 1
        while damping <= _MOST_DAMPING:
            step = _solve(matrix, scaled, damping)
            if step is not None:
                moved = x.copy()
                moved[free] += step / scale[free]
                moved = np.clip(moved, lower, upper)
                there = objective(moved)
                evaluations += 1
                if there.objective > value.objective:
                    x, value = moved, there
                    damping = max(damping / 10, _LEAST_DAMPING)
                    break
            damping *= 10
    return Optimum(x, value, _record("Newton", tolerance, max_iterations, iterations, evaluations, left))


def _solve(matrix: Array, right: Array, damping: float) -> Array | None:
    """The damped step, or None where the damped matrix is not positive definite."""
    try:
        factor = linalg.cho_factor(matrix + damping * np.eye(len(matrix)))
    except linalg.LinAlgError:
        return None
    return np.asarray(linalg.cho_solve(factor, right))
