"""What makes a model: its name and words, the options it takes, and how it is built.

Nothing here, nor in the modules of the models, imports NumPy at its top: the command line lists models without it.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, fields
from typing import TYPE_CHECKING, get_args

from raterlens.base.records import dataclass
from raterlens.config import FitConfig, LinkName, Method

if TYPE_CHECKING:
    from raterlens.base.types import Array
    from raterlens.models.effects import Effect

COMMON = frozenset({"model", "method", "link", "starts", "seed", "standard_errors", "max_iterations"})
"""Options that every model takes."""
_FACETS = frozenset(option.name for option in fields(FitConfig)) - COMMON


@dataclass(frozen=True, slots=True)
class Spec:
    """What every list of models, of their words and of their options is derived from."""

    name: str
    title: str
    about: str
    """One line for `--help` and the report: what it says about raters."""
    _: KW_ONLY
    links: tuple[LinkName, ...]
    """The links that it takes, the default first."""
    methods: tuple[Method, ...]
    takes: frozenset[str]
    """Options of `FitConfig` beyond those that every model takes."""
    ordered: bool
    """Takes ordered scores, not only pass and fail."""


@dataclass(frozen=True, slots=True)
class FacetsSpec(Spec):
    """A facets model in a few lines; `models/gmf.py` is the pattern to follow."""

    _: KW_ONLY
    slopes: "Callable[[int, Array | None], Effect]"
    """(number of raters, covariates or None) -> how slopes come from parameters."""
    difficulty_on_ability_scale: bool = False
    """Difficulties are multiplied by the rater's slope, as thresholds of ability are."""
    absolute: bool = False
    """Capability has a yardstick of its own (a rater without noise) and needs none from the panel."""
    links: tuple[LinkName, ...] = get_args(LinkName)
    methods: tuple[Method, ...] = get_args(Method)
    takes: frozenset[str] = _FACETS
    ordered: bool = True


@dataclass(frozen=True, slots=True)
class LatentClassSpec(Spec):
    """A model in which every student-item has a true category, pass or fail, that raters detect."""

    _: KW_ONLY
    ability: bool
    """The true category depends on the student's ability; otherwise each item has a prevalence."""
    links: tuple[LinkName, ...] = ("logit", "probit")
    methods: tuple[Method, ...] = ("mml",)
    takes: frozenset[str] = frozenset({"allow_reversed"})
    ordered: bool = False
