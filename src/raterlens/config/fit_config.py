"""What is fitted, and how."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, Self, get_args

from raterlens.base.errors import OptionError, choose
from raterlens.base.text import Message, Option
from raterlens.config.anchored import Anchors
from raterlens.config.interacting_facets import interaction_terms
from raterlens.config.option_checks import check_names, check_number, check_switch, check_whole, given_options

Method = Literal["mml", "laplace", "hl"]
LinkName = Literal["logit", "probit", "cauchit", "cloglog", "log"]
Scale = Literal["rating scale", "partial credit", "graded"]
Prior = Literal["panel", "none"]
CovarianceKind = Literal["observed", "expected", "sandwich", "opg", "conditional"]
HaloKind = Literal["none", "common", "rater"]
SharedKind = Literal["auto", "yes", "no"]
AbilityKind = Literal["normal", "smooth"]
MOST_STARTS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class FitConfig:
    """What is fitted, and how; the options of `rl.fit`, which documents them."""

    model: str = "gmf"
    method: Method = "mml"
    link: LinkName | None = None
    """None: the model's own."""
    scale: Scale = "rating scale"
    item_slopes: bool = False
    covariates: Mapping[str, Sequence[Any]] | None = None
    """Columns by name, `rater` among them."""
    anchors: Anchors | None = None
    reference: str | float | None = None
    """None: the model's own, or that of the fit that anchors it; so too for the next two."""
    population: str | None = None
    origin: str | float | None = None
    prior: Prior | None = "none"
    """None is "none"."""
    allow_reversed: bool = False
    halo: HaloKind | None = None
    """None: none, but it is said where the ratings clearly show one; the command then fits again with it."""
    interactions: str | Sequence[str] | None = None
    """Terms such as "rater:item", or ("rater", "item"): raters differ from item to item, or from level to level of a
    further facet."""
    trusted: str | Sequence[str] | None = None
    """Raters who define ability; none where left out."""
    shared: SharedKind = "auto"
    """Whether the other raters may share a second ability; True and False are "yes" and "no"."""
    known_slope: float = 6.0
    """How strongly a known answer shows ability."""
    ability: AbilityKind | None = None
    """None: normal, but it is said where the ratings clearly show another shape; the command then fits with that."""
    starts: int = 20
    seed: int = 0
    standard_errors: bool = True
    covariance: CovarianceKind = "observed"
    max_iterations: int = 500

    def __post_init__(self) -> None:
        if self.prior is None:
            object.__setattr__(self, "prior", "none")
        if isinstance(self.shared, bool):
            object.__setattr__(self, "shared", "yes" if self.shared else "no")
        for name, options in (
            ("shared", get_args(SharedKind)),
            ("method", get_args(Method)),
            ("scale", get_args(Scale)),
            ("covariance", get_args(CovarianceKind)),
            ("prior", get_args(Prior)),
        ):
            choose(name, getattr(self, name), options)
        if self.link is not None:
            choose("link", self.link, get_args(LinkName))
        if self.halo is not None:
            choose("halo", self.halo, get_args(HaloKind))
        if self.ability is not None:
            choose("ability", self.ability, get_args(AbilityKind))
        for name in ("item_slopes", "allow_reversed", "standard_errors"):
            check_switch(name, getattr(self, name))
        for name, least, most in (("starts", 1, MOST_STARTS), ("seed", 0, None), ("max_iterations", 1, None)):
            check_whole(name, getattr(self, name), least, most)
        if self.anchors is not None and not isinstance(self.anchors, Anchors):
            raise OptionError(
                f"anchors is a {type(self.anchors).__name__}",
                "give a fit, or rl.Anchors(...)",
                value=self.anchors,
                option="anchors",
            )
        object.__setattr__(self, "interactions", interaction_terms(self.interactions))
        object.__setattr__(self, "trusted", _names("trusted", self.trusted))
        check_number("known_slope", self.known_slope, 0.5, 20.0)
        object.__setattr__(self, "known_slope", float(self.known_slope))
        if self.population is not None:
            object.__setattr__(self, "population", _population_text(self.population))

    def changed(self, **changes: Any) -> Self:
        """The same request with some options changed."""
        check_names(type(self), changes)
        return replace(self, **changes)

    def given(self) -> dict[str, Any]:
        """The options that are not at their defaults."""
        return given_options(self)

    def to_plain(self) -> dict[str, Any]:
        """Numbers, text, lists and dicts only."""
        return asdict(self)

    @staticmethod
    def from_plain(content: Mapping[str, Any]) -> "FitConfig":
        known = dict(content)
        if known["anchors"] is not None:
            known["anchors"] = Anchors.from_plain(known["anchors"])
        return FitConfig(**known)


FIT_OPTIONS = tuple(option.name for option in fields(FitConfig))


def fit_config(options: Mapping[str, Any]) -> FitConfig:
    """The request that these options make; an unknown one is named, with the nearest that there is."""
    check_names(FitConfig, options)
    return FitConfig(**options)


def _names(option: str, given: Any) -> tuple[str, ...] | None:
    """Raters who are named; None where none is."""
    if given is None or isinstance(given, str):
        return None if given is None else (given,)
    if not isinstance(given, Iterable):
        raise OptionError(
            Message(Option(option, given)),
            Message("name the raters, for example ", Option(option, ["Ann", "Bob"])),
            value=given,
            option=option,
        )
    return tuple(map(str, given)) or None


def _population_text(population: Any) -> str:
    """A population in words: (0.5, 1.2) is 'normal 0.5 1.2'. What the words mean is checked with the yardstick."""
    if isinstance(population, tuple | list):
        return " ".join(["normal", *(repr(value) for value in population)])
    return str(getattr(population, "text", population))
