"""What makes a facets model: a name, where its slopes come from, and how its capability is scaled."""

from collections.abc import Callable
from dataclasses import dataclass

from raterlens.models.effects import Effect
from raterlens.types import Array


@dataclass(frozen=True, slots=True)
class Spec:
    """A facets model in a few lines; `models/gmf.py` is the pattern to follow."""

    name: str
    title: str
    slopes: Callable[[int, Array | None], Effect]
    """(number of raters, covariates or None) -> how slopes come from parameters."""
    difficulty_on_ability_scale: bool = False
    """Difficulties are multiplied by the rater's slope, as thresholds of ability are."""
    link: str | None = None
    """The one link the model is defined for; None for any."""
    absolute: bool = False
    """Capability has a yardstick of its own (a rater without noise) and needs none from the panel."""
