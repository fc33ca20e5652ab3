"""Parts of a request, which of them do not go together, options of a model, and terms that ratings may show.

A term says in its own file which part of a request it is and what it does not go with (`Part`), and what ratings that
show it look like (`Candidate`); what is here is about methods, links, errors and raters.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option
from raterlens.capability.links import Link
from raterlens.config import Fair, FitConfig, GroupMeansKind, HaloKind
from raterlens.ratings.coded import Ratings

if TYPE_CHECKING:
    from raterlens.models.marks import Marks
    from raterlens.models.registry import Spec
    from raterlens.models.responses import Response
    from raterlens.models.term import Contexts

WITHOUT = ...
"""The value of a part that messages name without one."""


class Asked(NamedTuple):
    """A way in which a request, or its ratings, may have a part."""

    option: str
    value: Callable[[FitConfig, Ratings | None], Any]
    """The value that they give it; None where it is not a part."""


class Part(NamedTuple):
    """A part of a request that something may not go with."""

    name: str
    asked: Asked
    apart: tuple[str, ...] = ()
    """Other parts that it does not go with."""
    because: str = ""
    instead: Any = None
    """A value of the option that goes with everything."""


def says(option: str, *values: Any) -> Asked:
    """By the value of an option, where it is one of these, or any."""

    def value(config: FitConfig, _: Ratings | None) -> Any:
        found = getattr(config, option)
        return found if not values or found in values else None

    return Asked(option, value)


def of_ratings(option: str, value: Callable[[Ratings], Any]) -> Asked:
    """By ratings, which are known once they have been read."""
    return Asked(option, lambda _, ratings: None if ratings is None else value(ratings))


_ERRORS = ("sandwich", "opg", "conditional")

PARTS = (
    Part("link without peaks", says("link", "log", "cauchit"), ("method",)),
    Part("hl", says("method", "hl"), ("anchors",)),
    Part(
        "anchors",
        Asked("anchors", lambda config, _: None if config.anchors is None else WITHOUT),
        ("covariates",),
    ),
    Part("covariates", Asked("covariates", lambda config, _: None if config.covariates is None else WITHOUT)),
    Part("probit", says("model", "probit")),
    Part("method", says("method", "laplace", "hl"), (), ", which takes each student at one ability", "mml"),
    Part("link", says("link")),
    Part("log link", says("link", "log"), (), ", whose probabilities have a corner", "cloglog"),
    Part("cauchit", says("link", "cauchit")),
    Part("covariance", says("covariance", "expected", *_ERRORS), (), "", "observed"),
    Part("scores' covariance", says("covariance", *_ERRORS), (), "", "observed"),
    Part("panel", says("prior", "panel")),
    Part("perfect reference", says("reference", "perfect")),
    Part(
        "trusted",
        Asked("trusted", lambda config, at: WITHOUT if config.trusted or (at and at.trusted) else None),
    ),
)


def refuse_clashes(parts: Iterable[Part], config: FitConfig, ratings: Ratings | None = None) -> None:
    """Raise where parts of a request do not go together; what ratings name is known once they have been read."""
    there = {
        part.name: (part, Option(part.asked.option, value))
        for part in parts
        if (value := part.asked.value(config, ratings)) is not None
    }
    for part, asked in there.values():
        for other, found in (there[name] for name in part.apart if name in there):
            instead = Option(other.asked.option, other.instead)
            raise OptionError(
                Message(asked, " does not go with ", found, other.because),
                "leave out one of them" if other.instead is None else Message("use ", instead),
                value=asked.value if found.value is WITHOUT else found.value,
                option=found.name,
            )


@dataclass(frozen=True, slots=True)
class Options:
    """A user's choices about a facets model."""

    spec: "Spec"
    link: Link
    scale: str = "rating scale"
    """How ordered scores get their thresholds: `rating scale`, `partial credit` or `graded`; no matter with two
    categories. Marks on a `continuous` scale have none."""
    item_slopes: bool = False
    covariates: Array | None = None
    """(raters, columns), a column of ones first: slopes and severities are explained by them."""
    halo: HaloKind = "none"
    """Whether the scores of a reading share more than ability: in logits, as much by every rater (`common`) or not
    (`rater`), or on the scale of ability."""
    smooth: bool = False
    """Whether the shape of the students' distribution is estimated, or taken for normal."""
    pieces: bool = False
    """Whether a student's pieces of work differ."""
    interactions: tuple[str, ...] = ()
    """Facets that raters interact with, `item` among them."""
    groups: GroupMeansKind = "none"
    """Whether groups of students have means, and by what."""
    fair: Fair = "within"
    """Whether abilities rest on what a student's group says."""
    rater_thresholds: Literal["none", "drawn", "free"] = "none"
    """Whether raters have thresholds of their own around those of all, from a distribution or each by itself."""
    own_noise: bool = False
    """Whether raters' marks have noise of their own around what is usual."""
    draws: Mask | None = None
    """(raters,): whose answers to the same question share more than ability; None: nobody's."""
    population: bool = False
    """Whether students are of another population than the one that the scale was made for."""
    known_slope: float | None = None
    """Slope of known answers, where the ratings have some."""
    biased: bool = False
    """Whether raters share a second ability."""
    marks: "Marks | None" = None
    """The scale of marks, where it is continuous and that of an earlier fit; else it is that of the ratings."""


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """All that terms are made from."""

    rows: "Contexts"
    """Those of ratings, or any others."""
    response: "Response"
    options: Options
    known_highest: Indices | None = None
    """(items,): the highest score of each, as far as it is known beside the rows."""
    ratings: Ratings | None = None
    """Those that the rows are of, if any."""


CLEAR = 0.001
"""From this p-value down a term is added, or missed."""
NEAR = 0.01
"""From this p-value of the score test down, the likelihood ratio decides: it takes another fit."""
PROMISING = 0.05
"""From this p-value down, something may be wrong that another term would look like."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A term that a model may have, and how to find out whether these ratings show it."""

    name: str
    options: Mapping[str, Any]
    """Options that ask for it."""
    applies: Callable[[Ratings, FitConfig], bool]
    """Whether the ratings could show it, and nothing was said about it."""
    term: str = ""
    """The term of the model whose score is tested, or the name of its spread."""
    seen: str = ""
    """A description of what the ratings show where it is tested; {p} stands for the p-value."""
    missed: str = ""
    """The harm that leaving it out does; of a term with a spread, what a spread of 0 means."""
    keep: Option | None = None
    """How to say that it is not wanted."""
    order: int = 0
    """Candidates are tested, and told, in this order."""
    spread: str = ""
    """Words for a term with a spread, {size} or {spread}. It is in the model from the start, since its spread says how
    much of it there is."""
    needs: tuple[str, ...] = ()
    """Names of candidates beside which alone it is added, as far as the ratings could show them."""
    last: bool = False
    """Whether it is tested only where nothing else is wrong: whatever is looks like it. With a spread, whether it joins
    the model after all tests."""
    by_score: float = 0.0
    """From this p-value of the score test down it is taken in without a likelihood ratio: the fit estimates how much of
    it there is, so that little is lost where there is none."""
    there: Callable[[FitConfig], bool] = lambda _: False
    """Whether a request has it by name."""
    possible: Callable[[Ratings], bool] = lambda _: True
    """Whether ratings could show it."""


def unsaid(config: FitConfig, *options: str) -> bool:
    """Whether a request says nothing about these."""
    return all(getattr(config, option) is None for option in options)
