"""A panel: what was estimated of its raters, whatever the model."""

from dataclasses import dataclass
from typing import Any, Protocol

from raterlens.types import Array


class Covarying(Protocol):
    """A covariance matrix, or what can be asked like one: its product with a vector, and its diagonals."""

    def __matmul__(self, right: Array, /) -> Any: ...

    def diagonal(self, k: int = 0, /) -> Any: ...


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """Raters' slopes and severities with their uncertainty."""

    slope: Array
    severity: Array
    """As it enters the predictor, not centred."""
    covariance: Covarying | None
    """(2 raters, 2 raters): of the slopes, then the severities; None where it was not computed."""
    falling: Array
    """How fast the log-likelihood falls as a slope that is held at 0 rises."""
