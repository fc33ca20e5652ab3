"""What was asked, as one frozen record per request: how to read a table, and what to fit to it.

Every surface (Python, the command line, the web app, scikit-learn, the gate, studies) builds these records, a fit keeps
the one it came from, and `fit.refit(ratings, **changes)` fits again by it. Options and their defaults stand here and
nowhere else. What depends on the data (does the rater exist?) or on the model (does it take this option?) is checked
where that is known, before any work.
"""

import codecs
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from numbers import Real
from typing import Any, Literal, Self, TypedDict, get_args

from raterlens.errors import OptionError, choose
from raterlens.score_options import bands_text, map_text, pairs
from raterlens.text import Message, Option, shortened

Method = Literal["mml", "laplace", "hl"]
LinkName = Literal["logit", "probit", "cauchit", "cloglog", "log"]
Scale = Literal["rating scale", "partial credit", "graded"]
Prior = Literal["panel", "none"]
CovarianceKind = Literal["observed", "expected", "sandwich", "opg", "conditional"]
HaloKind = Literal["none", "common", "rater"]
Columns = str | Sequence[str] | None
"""A column, several that are combined, or one to be recognised."""
LARGEST_CUT = 1e15
"""Beyond it, whole numbers are no longer told apart."""
ROW = "{row}"
"""The student where each row is a piece of work that has no name."""


@dataclass(frozen=True, slots=True)
class Anchors:
    """What a fit must not estimate.

    Everything is on the scale of the predictor, ``S = slope * theta - severity - difficulty``: a slope is rho times
    sigma, and a severity is eta minus alpha. `rl.fit(..., anchors=earlier_fit)` takes them from a fit. Where a rater's
    slope and severity and an item's difficulty are held, they fix the scale of ability, and the mean and standard
    deviation of the students on it are estimated (`fit.table("population")`); otherwise students are standard normal.

    Parameters
    ----------
    raters
        A rater's (slope, severity); None in place of either leaves it free.
    items
        An item's difficulty.
    item_slopes
        An item's slope, for a fit with `item_slopes=True`.
    facets
        For each further facet, the effects of its levels.
    thresholds
        Between ordered scores: one list for the scales `rating scale` and `graded`, or each item's own list for
        `partial credit`.
    earlier
        Of the fit that the anchors come from: its scores, sigma, alpha and population. Anchored levels that the
        ratings do not have are then passed over.

    Examples
    --------
    >>> import raterlens as rl
    >>> fit = rl.fit(rl.load_example(), anchors=rl.Anchors(items={"specificity": -1.4, "content": 1.9}))
    >>> fit.items.filter(item="specificity")["delta"].item()
    -1.4
    """

    raters: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    items: Mapping[str, float] = field(default_factory=dict)
    item_slopes: Mapping[str, float] = field(default_factory=dict)
    facets: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    thresholds: Sequence[float] | Mapping[str, Sequence[float]] | None = None
    earlier: "EarlierScale | None" = None

    @staticmethod
    def from_plain(content: Mapping[str, Any]) -> "Anchors":
        """From what `dataclasses.asdict` and JSON made of it."""
        known = dict(content)
        known["raters"] = {label: tuple(pair) for label, pair in content["raters"].items()}
        if content["earlier"] is not None:
            earlier = content["earlier"]
            known["earlier"] = EarlierScale(**earlier | {"scores": tuple(earlier["scores"])})
        return Anchors(**known)


@dataclass(frozen=True, slots=True)
class EarlierScale:
    """The scale of an earlier fit, which is the default where it anchors another."""

    scores: tuple[int, ...]
    """The scores that it knows."""
    sigma: float | None
    """Slope of its yardstick; None where that is a rater without noise."""
    alpha: float
    population: str


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
    starts: int = 8
    seed: int = 0
    standard_errors: bool = True
    covariance: CovarianceKind = "observed"
    max_iterations: int = 500

    def __post_init__(self) -> None:
        if self.prior is None:
            object.__setattr__(self, "prior", "none")
        for name, options in (
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
        for name in ("item_slopes", "allow_reversed", "standard_errors"):
            _check_switch(name, getattr(self, name))
        for name, least in (("starts", 1), ("seed", 0), ("max_iterations", 1)):
            _check_whole(name, getattr(self, name), least)
        if self.anchors is not None and not isinstance(self.anchors, Anchors):
            raise OptionError(
                f"anchors is a {type(self.anchors).__name__}",
                "give a fit, or rl.Anchors(...)",
                value=self.anchors,
                option="anchors",
            )
        if self.population is not None:
            object.__setattr__(self, "population", _population_text(self.population))

    def changed(self, **changes: Any) -> Self:
        """The same request with some options changed."""
        _check_names(type(self), changes)
        return replace(self, **changes)

    def given(self) -> dict[str, Any]:
        """The options that are not at their defaults."""
        return _given(self)

    def to_plain(self) -> dict[str, Any]:
        """Numbers, text, lists and dicts only."""
        return asdict(self)

    @staticmethod
    def from_plain(content: Mapping[str, Any]) -> "FitConfig":
        known = dict(content)
        if known["anchors"] is not None:
            known["anchors"] = Anchors.from_plain(known["anchors"])
        return FitConfig(**known)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadConfig:
    """Which columns hold what, and how the file is to be read; the options of `rl.read`, which documents them."""

    student: Columns = None
    rater: Columns = None
    item: Columns = None
    score: str | None = None
    items: Columns = None
    facets: Columns = None
    cut: float | None = None
    bands: str | Sequence[float] | None = None
    """Lower ends of all bands but the first, kept as text: "40,60,80"."""
    map: str | Mapping[str, float | None] | None = None
    """Words and what they are worth, kept as text: "good=1,bad=0,absent="."""
    table: str | None = None
    wide: str | None = None
    format: str | None = None
    encoding: str | None = None
    """None: UTF-8, and where that fails, what the bytes suggest."""
    as_written: bool = False

    def __post_init__(self) -> None:
        for role in ("student", "rater", "item", "items", "facets", "score"):
            spec = getattr(self, role)
            if spec is not None and not isinstance(spec, str):
                several = isinstance(spec, Iterable)
                object.__setattr__(self, role, tuple(map(str, spec)) if several else str(spec))
        if self.items is not None and self.wide is None:
            _refuse_items_and(self, "item" if self.item is not None else "score")
        if isinstance(self.score, tuple):
            if len(self.score) > 1:
                raise OptionError(
                    Message(Option("score", list(self.score)), " names several columns"),
                    Message("where each item has a column, give them as ", Option("items")),
                    value=self.score,
                    option="score",
                )
            object.__setattr__(self, "score", "".join(self.score) or None)
        object.__setattr__(self, "cut", _checked_cut(self.cut))
        for name in ("table", "wide", "format"):
            _check_text(name, getattr(self, name))
        if self.bands is not None:
            object.__setattr__(self, "bands", bands_text(self.bands, self.cut))
        if self.map is not None:
            object.__setattr__(self, "map", map_text(self.map))
        _check_switch("as_written", self.as_written)
        if self.wide is not None:
            pattern_fields(self.wide)
        if self.encoding is not None:
            _check_encoding(self.encoding)

    def names(self, role: str) -> tuple[str, ...]:
        """The columns that the user names for a role."""
        spec = getattr(self, role)
        return () if spec is None else (spec,) if isinstance(spec, str) else tuple(spec)

    @property
    def codec(self) -> str:
        """The encoding where it is given, else UTF-8."""
        return self.encoding or "utf-8"

    def edges(self) -> tuple[float, ...]:
        """Where bands begin."""
        return () if self.bands is None else tuple(float(edge) for edge in str(self.bands).split(","))

    def worth(self) -> dict[str, float | None]:
        """What words are worth; None where they stand for a missing score."""
        return {} if self.map is None else pairs(str(self.map))

    def changed(self, **changes: Any) -> Self:
        """The same request with some options changed."""
        _check_names(type(self), changes)
        return replace(self, **changes)

    def given(self) -> dict[str, Any]:
        """The options that are not at their defaults."""
        return _given(self)


class FurtherOptions(TypedDict, total=False):
    """Options of `rl.fit` as users give them, for editors and type checkers; `FitConfig` has what they mean."""

    scale: str
    item_slopes: bool
    covariates: Any
    anchors: Any
    reference: str | float | None
    population: Any
    origin: str | float | None
    prior: str | None
    allow_reversed: bool
    halo: str | None
    starts: int
    seed: int
    standard_errors: bool
    covariance: str
    max_iterations: int


class ColumnOptions(FurtherOptions, total=False):
    """With those of `rl.read`, for a path or dataframe that is read first."""

    student: Columns
    rater: Columns
    item: Columns
    score: str
    items: Columns
    facets: Columns
    cut: float
    table: str
    wide: str
    format: str
    encoding: str


class FitOptions(FurtherOptions, total=False):
    """All of them."""

    model: str
    method: str
    link: str | None


FIT_OPTIONS = tuple(option.name for option in fields(FitConfig))
READ_OPTIONS = tuple(option.name for option in fields(ReadConfig))


def fit_config(options: Mapping[str, Any]) -> FitConfig:
    """The request that these options make; an unknown one is named, with the nearest that there is."""
    _check_names(FitConfig, options)
    return FitConfig(**options)


def pattern_fields(pattern: str) -> list[str]:
    """The fields of a pattern of column names: {rater}, {item} or both, in their order."""
    found = re.findall(r"\{[^{}]*\}", pattern)
    if not found or len(set(found)) < len(found) or not set(found) <= {"{rater}", "{item}"}:
        raise OptionError(
            Message(Option("wide", pattern), " does not hold {rater} or {item} or both, once each"),
            Message("give, for example, ", Option("wide", "{rater} {item}")),
            value=pattern,
            option="wide",
        )
    return found


def _given(config: FitConfig | ReadConfig) -> dict[str, Any]:
    return {
        option.name: value
        for option in fields(config)
        if option.default is not MISSING and (value := getattr(config, option.name)) != option.default
    }


def _check_names(record: type[FitConfig] | type[ReadConfig], names: Iterable[str]) -> None:
    known = [option.name for option in fields(record)]
    for name in names:
        choose("option", name, known)


def _check_switch(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise OptionError(Message(Option(name, value)), "give True or False", value=value, option=name)


def _check_text(name: str, value: object) -> None:
    if value is not None and not isinstance(value, str):
        raise OptionError(Message(Option(name, value)), "give text", value=value, option=name)


def _check_whole(name: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise OptionError(
            Message(Option(name, value)),
            Message(
                "give a whole number of at least ", str(least), ", for example ", Option(name, max(least, 1))
            ),
            value=value,
            option=name,
        )


def _checked_cut(cut: object) -> float | None:
    """The lowest passing score, a whole number where it is one."""
    if cut is None:
        return None
    try:
        number = float(cut) if isinstance(cut, Real) and not isinstance(cut, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not abs(number) < LARGEST_CUT:
        why = " is beyond any score" if math.isfinite(number) else " is not a finite number"
        raise OptionError(
            Message(Option("cut", cut), why),
            Message("give the lowest passing score, for example ", Option("cut", 3)),
            value=cut,
            option="cut",
        )
    return int(number) if number.is_integer() else number


def _refuse_items_and(config: ReadConfig, other: str) -> None:
    """Columns of several items, and of one rating's item or score, do not go together."""
    given = getattr(config, other)
    if given is None:
        return
    raise OptionError(
        Message(
            "both ", Option("items", list(config.names("items"))), " and ", Option(other, given), " are given"
        ),
        Message(
            "choose one: ",
            Option("items"),
            " for one row per essay with a column per item, ",
            Option("item"),
            " and ",
            Option("score"),
            " for one row per rating",
        ),
        value=given,
        option=other,
    )


def _check_encoding(encoding: str) -> None:
    try:
        "".encode(encoding)  # not all that codecs knows are encodings of text (hex), nor of files (punycode)
        if codecs.lookup(encoding).name in ("punycode", "idna", "unicode-escape", "raw-unicode-escape"):
            raise LookupError(encoding)
    except (LookupError, TypeError, ValueError) as error:
        raise OptionError(
            f"unknown encoding {shortened(encoding)}",
            "try 'utf-8', 'cp1252' or 'utf-16'",
            value=encoding,
            option="encoding",
        ) from error


def _population_text(population: Any) -> str:
    """A population in words: (0.5, 1.2) is 'normal 0.5 1.2'. What the words mean is checked with the yardstick."""
    if isinstance(population, tuple | list):
        return " ".join(["normal", *(repr(value) for value in population)])
    return str(getattr(population, "text", population))
