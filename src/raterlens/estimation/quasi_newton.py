"""Uphill within bounds: L-BFGS with projection, whose objective may become more accurate on the way.

At a bound that the gradient pushes against, a parameter stays; the others go where the remembered curvature says, and
the path is cut off at the bounds. As every step of the usual kind (a length of 1) is tried first, near the optimum
an iteration costs one evaluation.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array
from raterlens.likelihood.marginal import Value

_MEMORY = 20
# Of what the gradient promises a step brings the first share at least; of the gradient it leaves the other at most.
_RISE, _STEEP = 1e-4, 0.9
_MOST_TRIALS = 25
# Logits that a parameter goes at most in a step, and how often that a step may be lengthened to. Where a likelihood is
# flat, or rises for ever, the next point would be one where a grid of abilities can no longer follow.
_FURTHEST, _LONGEST = 4.0, 8.0
_ROUNDING = 50 * float(np.finfo(float).eps)


@dataclass(frozen=True, slots=True)
class Point:
    """Where the climber stands, in scaled coordinates."""

    x: Array
    parameters: Array
    value: Value
    gradient: Array
    uphill: Array
    """The gradient where a step along it is allowed, zero where a bound holds."""


@dataclass(frozen=True, slots=True)
class News:
    """Value and gradient at a point."""

    objective_changed: bool = False
    """It is another one from here on, to be evaluated again."""
    inverse_curvature: sparse.csr_array | None = None
    """Roughly, by the parameters: better than what the steps have taught, which is forgotten."""


def climb(
    objective: Callable[[Array], Value],
    start: Array,
    scale: Array,
    bounds: tuple[Array, Array],
    arrived: Callable[[Point], bool],
    news: Callable[[Point], News],
    most_iterations: int,
) -> tuple[Point, int]:
    """Climb from `start` until `arrived`, or until no step improves; the point, and the iterations.

    Parameters
    ----------
    scale
        Coordinates are parameters times this.
    news
        Asked after each iteration.
    """
    lower, upper = bounds
    box = lower * scale, upper * scale

    def at(x: Array) -> Point:
        # Multiplied and divided, a bound might not be itself: who is not quite there would push against it for ever.
        parameters = np.where(x <= box[0], lower, np.where(x >= box[1], upper, x / scale))
        value = objective(parameters)
        held = (parameters <= lower) & (value.gradient <= 0) | (parameters >= upper) & (value.gradient >= 0)
        gradient = value.gradient / scale
        return Point(x, parameters, value, gradient, np.where(held, 0.0, gradient))

    here, memory, iterations = at(np.clip(start * scale, *box)), _Memory(), 0
    while not arrived(here) and iterations < most_iterations:
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
        here, told = there, news(there)
        if told.objective_changed:
            here = at(here.x)
        if told.inverse_curvature is not None:
            memory = _Memory(told.inverse_curvature, scale)
    return here, iterations


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

    def __init__(self, inverse: sparse.csr_array | None = None, scale: Array | float = 1.0) -> None:
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
