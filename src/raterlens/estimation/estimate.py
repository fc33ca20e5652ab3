"""What every estimation ends in, whatever the model and the method."""

from typing import Generic, TypeVar

from raterlens.base.records import dataclass
from raterlens.base.types import Array, Mask
from raterlens.engine.protocol import Moments, Nodes
from raterlens.estimation.optimiser import Optimiser
from raterlens.likelihood.objective import Value

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
