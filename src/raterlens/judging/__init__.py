"""Judges measured against the truth: known answers, consensus labels, pass rates, replacement of people.

Here are the bounds that raters are judged by, which the command line needs at its start: nothing heavy is imported.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import inf

from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option
from raterlens.config.option_fields import option


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The bounds of a gate, where None asks nothing, and how and whom they judge; `rl.gate` documents them."""

    min_kappa: float | None = option(None, "Lowest capability, 0 to 1.")
    min_sharpness: float | None = option(
        None, "Lowest sharpness, 0 to 1; it does not depend on who else is in the file."
    )
    max_severity: float | None = option(None, "Highest severity or leniency.")
    min_discrimination: float | None = option(None, "Lowest discrimination, 0 to 1.")
    max_infit: float | None = option(None, "Highest infit; 1 is expected.")
    max_outfit: float | None = option(None, "Highest outfit; 1 is expected.")
    min_ratings: int | None = option(None, "Fewest ratings.")
    confident: bool = option(
        True,
        "Let the estimate decide, not the interval; raters near a bound may then flip between runs.",
        flag="--by-estimate",
    )
    raters: str | Sequence[str] | None = option(None, "Judge only these raters (a,b).", flag="--only")

    def __post_init__(self) -> None:
        for name, value in self.given().items():
            most, span = (1.0, "between 0 and 1") if name in SHARES else (inf, "of 0 or more")
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not 0 <= value <= most or value == inf:
                raise OptionError(Message(Option(name, value)), f"give a number {span}")

    def given(self) -> dict[str, float]:
        """The bounds that were set."""
        return {name: value for name in BOUNDS if (value := getattr(self, name)) is not None}


SHARES = ("min_kappa", "min_sharpness", "min_discrimination")
"""Bounds of what is at most 1 for the best possible rater."""
BOUNDS = tuple(one.name for one in fields(Bounds) if one.name.startswith(("min_", "max_")))
