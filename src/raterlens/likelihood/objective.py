"""What is maximised: a value with its gradient, and where values are kept."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from raterlens.base.types import Array
from raterlens.engine.protocol import Nodes


@dataclass(frozen=True, slots=True)
class Value:
    """An objective at its parameters."""

    loglik: float
    """Of the data alone."""
    objective: float
    """With the half rating that extreme raters and items get: what is maximised."""
    gradient: Array
    """Of the objective."""


class Journal(Protocol):
    """Keeps values, so that a fit that was interrupted goes on where it was."""

    def value(self, parameters: Array, nodes: Nodes, otherwise: Callable[[Array, Nodes], Value]) -> Value: ...
