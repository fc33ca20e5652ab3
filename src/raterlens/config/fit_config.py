"""Options of a fit, anchors, and the facets that raters interact with."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, TypedDict

from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option
from raterlens.config.option_fields import Request, check_names, check_options, option
from raterlens.config.read_config import ReadOptions

Method = Literal["mml", "laplace", "hl"]
LinkName = Literal["logit", "probit", "cauchit", "cloglog", "log"]
Scale = Literal[
    "rating scale",
    "partial credit",
    "graded",
    "rater",
    "partial credit, rater",
    "graded, rater",
    "rater free",
    "continuous",
]
Prior = Literal["panel", "none"]
CovarianceKind = Literal["observed", "expected", "sandwich", "opg", "conditional"]
HaloKind = Literal["none", "common", "rater", "ability"]
SharedKind = Literal["auto", "yes", "no"]
Repeats = Literal["draws", "separate"]
AbilityKind = Literal["normal", "smooth"]
GroupMeansKind = Literal["each", "linear", "raters", "none"]
Fair = Literal["within", "across"]
Assumptions = Literal["adapt", "warn", "ignore"]
MOST_STARTS = 1000
STANDARD_MODEL = "gmf"
"""The model if none is named."""


@dataclass(frozen=True, slots=True)
class Anchors:
    """Parameters held fixed in a fit.

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
    >>> fit = rl.fit(rl.load_example(), model="gmf", anchors=rl.Anchors(items={"specificity": -1.4, "content": 1.9}))
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
        """Rebuild anchors from what `dataclasses.asdict` and JSON made of them."""
        known = dict(content)
        known["raters"] = {label: tuple(pair) for label, pair in content["raters"].items()}
        if content["earlier"] is not None:
            earlier = content["earlier"]
            known["earlier"] = EarlierScale(**earlier | {"scores": tuple(earlier["scores"])})
        return Anchors(**known)


@dataclass(frozen=True, slots=True)
class EarlierScale:
    """The scale of an earlier fit, the default of a fit that it anchors."""

    scores: tuple[int, ...]
    """The scores of the earlier fit."""
    sigma: float | None
    """Slope of its yardstick; None if that is a rater without noise."""
    alpha: float
    population: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FitConfig(Request):
    """Options of `rl.fit`, which documents them."""

    model: str | None = option(None, "Model. Default: the data decide, starting from gmf.")
    assumptions: Assumptions | None = option(
        None,
        "adapt: add what the ratings clearly show (default where no model is named). warn: fit exactly the model, and "
        "say what it misses (default otherwise). ignore: test nothing.",
    )
    method: Method = option("mml", "Estimation method.")
    link: LinkName | None = option(None, "Link function; the model's own by default.")
    scale: Scale | None = option(
        None,
        "Thresholds of ordered scores: shared (rating scale, graded), per item (partial credit), and with rater also "
        "each rater's own around these; or continuous: marks on a fine scale, without thresholds. Default: rating "
        "scale, unless the data decide; continuous for more than 20 different scores.",
    )
    item_slopes: bool = option(False, "Let items differ in how strongly they reflect ability.")
    covariates: Mapping[str, Sequence[Any]] | None = option(
        None,
        "Table with a 'rater' column and numeric columns that explain severity and discrimination.",
        file=True,
    )
    anchors: Anchors | None = option(
        None, "Earlier fit (fit.json) whose raters, items and thresholds are held.", file=True
    )
    reference: str | float | None = option(
        None,
        "Yardstick: max, perfect (no noise), 'max corrected', 'quantile 0.9', a rater, or a slope like 2.0.",
    )
    """None: the model's own, or that of the anchoring fit; the same holds for the next two."""
    population: str | None = option(
        None, "Students to average over: standard, estimated, 'normal 0.5 1.2' or 'window 0.3 0.5'."
    )
    origin: str | float | None = option(None, "Zero of severity: average, absolute, or a number.")
    prior: Prior | None = option(
        None,
        "panel: raters are a random sample, which steadies small panels. none: each rater by its own ratings.",
    )
    """None: none, or the panel under `adapt`."""
    allow_reversed: bool = option(False, "Allow negative slopes: raters who score against ability.")
    halo: HaloKind | None = option(
        None,
        "Halo effect within one rater's scores of one student: none, common (equally strong in logits for all raters), "
        "rater (estimated per rater) or ability (equally strong on the ability scale). Default: none, unless the "
        "data decide.",
    )
    repeats: Repeats = option(
        "draws",
        "A rater's repeated answers to the same question. draws: they share the rater's reading of it, and answers "
        "that never differ count as one. separate: they are independent ratings.",
    )
    group_means: GroupMeansKind | None = option(
        None,
        "Mean ability of groups of students (--population-by). each: every group has its own. linear: it rises with "
        "the column's number, such as a grade. raters: students marked by the same raters are a group. none: all "
        "students are alike. Default: each where a column is named; else none, unless the data decide.",
    )
    fair: Fair = option(
        "within",
        "Abilities, decisions and fair results with what a student's group says (within), or as if nothing were known "
        "of it (across).",
    )
    interactions: str | Sequence[str] | None = option(
        None,
        "Let raters differ from item to item (rater:item) or with a further facet (rater:topic); several with commas.",
    )
    """Terms such as "rater:item", or ("rater", "item"): raters differ from item to item, or from level to level of a
    further facet."""
    trusted: str | Sequence[str] | None = option(
        None, "Raters who define ability (a,b), such as human experts among LLM judges."
    )
    shared: SharedKind = option(
        "auto",
        "With known answers or trusted raters: whether the others may share a bias, a second ability. yes, no or auto "
        "(where a test finds one).",
    )
    """Whether the other raters may share a second ability; True and False are "yes" and "no"."""
    known_slope: float = option(
        6.0,
        "Slope of known answers; 6 means almost never wrong. Check that 3 and 10 give similar results.",
        least=0.5,
        most=20.0,
    )
    ability: AbilityKind | None = option(
        None,
        "The students' distribution: normal, or smooth (its skewness and tails are estimated). Default: normal, "
        "unless the data decide.",
    )
    starts: int = option(
        20,
        "Maximum number of starting points (latent-class models, or few ratings).",
        least=1,
        most=MOST_STARTS,
    )
    seed: int = option(0, "Seed of the random starting points.", least=0)
    standard_errors: bool = option(True, "Skip standard errors and intervals.")
    covariance: CovarianceKind = option("observed", "Source of standard errors.")
    max_iterations: int = option(500, "Iteration limit.", least=1)

    def __post_init__(self) -> None:
        if isinstance(self.shared, bool):
            object.__setattr__(self, "shared", "yes" if self.shared else "no")
        check_options(self)
        if self.anchors is not None and not isinstance(self.anchors, Anchors):
            what = f"anchors is a {type(self.anchors).__name__}"
            raise OptionError(what, "give a fit, or rl.Anchors(...)", value=self.anchors, option="anchors")
        object.__setattr__(self, "interactions", interaction_terms(self.interactions))
        object.__setattr__(self, "trusted", _names("trusted", self.trusted))
        object.__setattr__(self, "known_slope", float(self.known_slope))
        if self.population is not None:
            object.__setattr__(self, "population", _population_text(self.population))

    @property
    def policy(self) -> Assumptions:
        """The policy about assumptions: name a model and it is fitted as it is; name none and the data decide."""
        return self.assumptions or ("adapt" if self.model is None else "warn")

    @property
    def model_name(self) -> str:
        """The model that is fitted, or that terms are added to."""
        return self.model or STANDARD_MODEL

    @property
    def shared_scale(self) -> Literal["rating scale", "partial credit", "graded", "continuous"]:
        """The thresholds that raters share, whether or not each has some of its own."""
        if self.scale == "continuous":
            return "continuous"
        if self.scale in ("graded", "graded, rater"):
            return "graded"
        return "partial credit" if (self.scale or "").startswith("partial credit") else "rating scale"

    @property
    def rater_thresholds(self) -> Literal["none", "drawn", "free"]:
        """Whether raters have thresholds of their own, from a distribution whose spread is estimated, or free ones."""
        if self.scale == "rater free":
            return "free"
        return "drawn" if (self.scale or "").endswith("rater") else "none"

    def to_plain(self) -> dict[str, Any]:
        """Convert to numbers, text, lists and dicts."""
        return asdict(self)

    @staticmethod
    def from_plain(content: Mapping[str, Any]) -> "FitConfig":
        known = dict(content)
        if known["anchors"] is not None:
            known["anchors"] = Anchors.from_plain(known["anchors"])
        return FitConfig(**known)


class FurtherOptions(TypedDict, total=False):
    """Options of `rl.fit` as users give them, for editors and type checkers; `FitConfig` has what they mean."""

    scale: str | None
    item_slopes: bool
    covariates: Any
    anchors: Any
    reference: str | float | None
    population: Any
    origin: str | float | None
    prior: str | None
    allow_reversed: bool
    halo: str | None
    repeats: str
    group_means: str | None
    fair: str
    interactions: Any
    trusted: Any
    shared: bool | str
    known_slope: float
    ability: str | None
    assumptions: str | None
    starts: int
    seed: int
    standard_errors: bool
    covariance: str
    max_iterations: int


class ColumnOptions(FurtherOptions, ReadOptions, total=False):
    """Options of `rl.fit` and of `rl.read`, for a path or dataframe that is read first."""


class FitOptions(FurtherOptions, total=False):
    """All options of `rl.fit`."""

    model: str
    method: str
    link: str | None


FIT_OPTIONS = tuple(one.name for one in fields(FitConfig))


def fit_config(options: Mapping[str, Any]) -> FitConfig:
    """Make a request from options; raise on an unknown one, naming the nearest."""
    check_names(FitConfig, options)
    return FitConfig(**options)


def _names(name: str, given: Any) -> tuple[str, ...] | None:
    """The raters named; None if there are none."""
    if given is None or isinstance(given, str):
        return None if given is None else (given,)
    if not isinstance(given, Iterable):
        remedy = Message("name the raters, for example ", Option(name, ["Ann", "Bob"]))
        raise OptionError(Message(Option(name, given)), remedy)
    return tuple(map(str, given)) or None


def _population_text(population: Any) -> str:
    """Write a population in words: (0.5, 1.2) is 'normal 0.5 1.2'. The yardstick checks what the words mean."""
    if isinstance(population, tuple | list):
        return " ".join(["normal", *(repr(value) for value in population)])
    return str(getattr(population, "text", population))


_RATER = "rater"


def interaction_terms(given: Any) -> tuple[str, ...] | None:
    """Write each term as text, in the order given; None if there are none.

    Examples
    --------
    >>> interaction_terms([("rater", "item"), "topic:rater"])
    ('rater:item', 'rater:topic')
    """
    if given is None:
        return None
    pair = isinstance(given, tuple) and len(given) == 2 and given.count(_RATER) == 1
    terms = [given] if pair or isinstance(given, str) else given
    if not isinstance(terms, Iterable) or not all(isinstance(term, str | tuple | list) for term in terms):
        raise _refused(given)
    return tuple(dict.fromkeys(f"{_RATER}:{_facet(term)}" for term in terms)) or None


def facets_of(terms: Iterable[str] | None) -> tuple[str, ...]:
    """The facet of each term, `item` or the name of a further one."""
    return tuple(_facet(term) for term in terms or ())


def _facet(term: Any) -> str:
    """The facet of a pair with the rater at either end; a facet's name may contain a colon."""
    pairs = [term.split(":", 1), term.rsplit(":", 1)[::-1]] if isinstance(term, str) else [term, term[::-1]]
    for pair in pairs:
        match [str(part).strip() for part in pair]:
            case [rater, facet] if rater == _RATER and facet not in ("", _RATER):
                return facet
    raise _refused(term)


def _refused(term: Any) -> OptionError:
    what = Message(Option("interactions", term), " is not a rater interaction")
    return OptionError(
        what,
        Message("use ", Option("interactions", "rater:item"), ", or rater:NAME with the name of a facet"),
    )
