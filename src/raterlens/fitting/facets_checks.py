"""Checks of a facets request before any work: which options go together, and with which scores."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from raterlens.base.arrays import Mask
from raterlens.base.errors import InputError, OptionError, choose
from raterlens.base.text import Message, Option, counted, listed
from raterlens.capability.links import get_link
from raterlens.capability.yardstick import ABSOLUTE, PERFECT, Yardstick
from raterlens.config import FitConfig, GroupMeansKind
from raterlens.config.fit_config import facets_of
from raterlens.config.limits import INTERACTION_CELLS
from raterlens.inference.covariance import EXPECTED, OBSERVED, check_kind
from raterlens.likelihood.cells import readings_in
from raterlens.models.build import Options
from raterlens.models.registry import MODELS
from raterlens.models.term import Contexts
from raterlens.models.terms.rater_interactions import ITEM, Interaction
from raterlens.models.terms.shared_bias import ENOUGH_KNOWN
from raterlens.ratings.coded import Facet, Ratings
from raterlens.ratings.design import components
from raterlens.ratings.groupings import inconsistent_raters, one_each, read_once
from raterlens.ratings.packed import StoredRatings

APART: Mapping[str, tuple[str, ...]] = {
    "link without peaks": ("method",),
    "hl": ("anchors",),
    "anchors": ("covariates",),
    "marks": (
        *("probit", "method", "link", "halo", "covariates", "anchors", "trusted", "known", "piece", "draw"),
        "perfect reference",
    ),
    "halo": ("method", "log link", "scores' covariance", "known"),
    "impressions": ("piece", "group", "draw", "covariance", "smooth"),
    "smooth": ("method", "log link", "scores' covariance"),
    "known": ("method", "log link"),
    "interactions": ("method", "log link", "covariance", "known", "trusted", "piece"),
    "pieces": ("method", "log link", "covariance", "smooth", "known", "trusted"),
    "group": ("method", "log link", "smooth", "piece", "trusted", "shared"),
    "draws": ("shared",),
    "shared": (
        *("method", "covariance", "panel", "halo", "smooth", "anchors", "covariates", "item slopes"),
        *("log link", "cauchit"),
    ),
}
"""Parts of a request that do not go together: each with the others, which are said to be at odds with it."""
_BECAUSE = {
    "method": ", which takes each student at one ability",
    "log link": ", whose probabilities have a corner",
}
_INSTEAD = {
    "method": Option("method", "mml"),
    "log link": Option("link", "cloglog"),
    "covariance": Option("covariance", OBSERVED),
    "scores' covariance": Option("covariance", OBSERVED),
}


def given(config: FitConfig, ratings: Ratings | None = None) -> dict[str, Option]:
    """The parts of a request, and what its ratings name, that something may not go with."""
    link = config.link or MODELS[config.model_name].links[0]
    parts = [
        ("probit", Option("model", config.model), config.model_name == "probit"),
        ("method", Option("method", config.method), config.method != "mml"),
        ("hl", Option("method", config.method), config.method == "hl"),
        ("link", Option("link", link), config.link is not None),
        ("log link", Option("link", link), link == "log"),
        ("cauchit", Option("link", link), link == "cauchit"),
        ("link without peaks", Option("link", link), link in ("log", "cauchit")),
        ("covariance", Option("covariance", config.covariance), config.covariance != OBSERVED),
        (
            "scores' covariance",
            Option("covariance", config.covariance),
            config.covariance not in (OBSERVED, EXPECTED),
        ),
        ("marks", Option("scale", config.scale), config.scale == "continuous"),
        ("halo", Option("halo", config.halo), config.halo not in (None, "none")),
        ("impressions", Option("halo", config.halo), config.halo == "ability"),
        ("smooth", Option("ability", config.ability), config.ability == "smooth"),
        ("interactions", Option("interactions", config.interactions), config.interactions is not None),
        ("item slopes", Option("item_slopes", config.item_slopes), config.item_slopes),
        ("panel", Option("prior", config.prior), config.prior == "panel"),
        ("shared", Option("shared", config.shared), config.shared == "yes"),
        ("perfect reference", Option("reference", config.reference), config.reference == PERFECT),
        ("anchors", Option("anchors"), config.anchors is not None),
        ("covariates", Option("covariates"), config.covariates is not None),
        ("trusted", Option("trusted"), bool(config.trusted or (ratings is not None and ratings.trusted))),
    ]
    if ratings is not None:
        piece = None if ratings.piece is None else ratings.piece.name
        group = None if ratings.group is None else ratings.group.name
        differing = ratings.draw is not None and bool(inconsistent_raters(ratings).any())
        parts += [
            ("known", Option("known"), ratings.known is not None),
            ("piece", Option("piece", piece), piece is not None),
            ("pieces", Option("piece", piece), piece is not None and not read_once(ratings)),
            ("group", Option("group", group), group is not None),
            ("draw", Option("repeats", "draws"), ratings.draw is not None),
            ("draws", Option("repeats", "draws"), differing),
        ]
    return {name: option for name, option, there in parts if there}


def refuse_clashes(config: FitConfig, ratings: Ratings | None = None) -> None:
    """Raise where parts of a request do not go together; what ratings name is known once they have been read."""
    parts = given(config, ratings)
    for name, others in APART.items():
        for other in others:
            if name in parts and other in parts:
                asked, found = parts[name], parts[other]
                instead = _INSTEAD.get(other)
                raise OptionError(
                    Message(asked, " does not go with ", found, _BECAUSE.get(other, "")),
                    "leave out one of them" if instead is None else Message("use ", instead),
                    value=asked.value if found.value is None else found.value,
                    option=found.name,
                )


def with_scale(config: FitConfig, ratings: Ratings) -> FitConfig:
    """The request with the scale that so many different scores ask for."""
    spec = MODELS.get(config.model_name)
    if config.scale is not None or not ratings.on_fine_scale or spec is None or not spec.ordered:
        return config
    return config.changed(scale="continuous")


def check_interactions(ratings: Ratings, config: FitConfig) -> None:
    """Raise where the ratings cannot show the interactions that are asked for."""
    if config.interactions is None:
        return
    names = [ITEM, *(facet.name for facet in ratings.facets)]
    for facet in facets_of(config.interactions):
        choose("facet in interactions", facet, names, option="interactions")
    if config.covariates is not None and config.prior != "panel":
        raise OptionError(
            Message(
                Option("interactions", config.interactions),
                " with ",
                Option("covariates"),
                ", which take the place of the raters' own severities: what a rater adds on all items alike would be "
                "taken for interactions",
            ),
            Message(
                "use ",
                Option("prior", "panel"),
                ", under which raters keep their own, or leave out one of them",
            ),
            option="covariates",
        )
    contexts = Contexts.of(ratings)
    terms = [Interaction.of(contexts, facet) for facet in facets_of(config.interactions)]
    cells = sum(term.size for term in terms)
    if cells > INTERACTION_CELLS:
        raise InputError(
            f"{cells:,} interactions are more than the {INTERACTION_CELLS:,} that are estimated together",
            "fit without them: fit.diagnose(ratings) tests each rater on every item",
            value=cells,
            option="interactions",
        )
    for term in terms:
        _check_told(contexts, term)


def _check_told(contexts: Contexts, term: Interaction) -> None:
    """Cells have to be more than raters and levels explain, and ratings more than cells."""
    given = np.bincount(term.cells(contexts), contexts.given.sum(axis=1), term.size)
    raters, levels = len(np.unique(term.rater)), len(np.unique(term.level))
    place = np.unique(term.level, return_inverse=True)[1] + contexts.n_raters
    idle = contexts.n_raters - raters
    groups = components(contexts.n_raters + levels, term.rater, place)[0] - idle
    noun = "item" if term.facet == ITEM else f"level of {term.facet}"
    plural = "items" if term.facet == ITEM else f"levels of {term.facet}"
    if term.size <= raters + levels - groups:
        why = (
            f"{counted(raters, 'rater')} on {levels} {noun if levels == 1 else plural}, {term.size} "
            "combinations of which occur, tell no interaction from severities and difficulties"
        )
    elif given.max() < 2:
        why = f"no rater has two ratings on any {noun}, so an interaction cannot be told from chance"
    else:
        return
    raise InputError(
        Message(Option("interactions", f"rater:{term.facet}"), f": {why}"),
        "leave it out; it takes raters who each rate several students on several of them",
    )


ONCE = Message(
    "each piece is read by one rater, so what differs between a student's pieces cannot be told from what raters see "
    "in them: no piece effect is estimated. Have some pieces read by a second rater; ",
    Option("halo", "common"),
    " allows for both together, as a reading effect",
)


def piece_effect(ratings: Ratings) -> bool:
    """Whether pieces differ in the model: wherever they are named and that can be told. Raises where a student has one
    piece only."""
    if ratings.piece is None:
        return False
    named = repr(ratings.piece.name)
    if one_each(ratings):
        raise InputError(
            f"every student has one piece of work only (column {named}), so what a piece is like cannot be told from "
            "what its student can do",
            Message("leave out ", Option("piece")),
            value=ratings.piece.name,
        )
    return not read_once(ratings)


def group_means(ratings: Ratings, config: FitConfig) -> GroupMeansKind:
    """By what groups of students have means: each its own wherever groups are named. Raises where there is one only."""
    if ratings.group is None:
        if config.group_means == "linear" or config.fair == "across":
            asked = Option("fair", "across") if config.fair == "across" else Option("group_means", "linear")
            raise OptionError(
                Message(asked, " without groups of students"),
                Message("name their column with ", Option("group")),
                option="group_means",
            )
        return "none"
    name = ratings.group.name
    if len(ratings.group.labels) < 2:
        raise InputError(
            f"all students are of one group (column {name!r}), which has nothing to be compared with",
            Message("leave out ", Option("group")),
            value=name,
        )
    if config.group_means == "linear":
        _check_numbers(ratings.group)
    return config.group_means or "each"


def _check_numbers(group: Facet) -> None:
    numbers = group.labels.cast(pl.Float64, strict=False)
    if strange := group.labels.filter(~numbers.is_finite().fill_null(value=False)).to_list():
        raise InputError(
            Message(
                Option("group_means", "linear"),
                f": {group.name!r} has {listed(strange)}, which are no numbers",
            ),
            Message("correct them, or use ", Option("group_means", "each")),
            value=strange,
            option="group_means",
        )


def drawing_raters(ratings: Ratings, config: FitConfig) -> Mask | None:
    """(raters,): whose answers to the same question differ, and share the rater's reading of it; None where there are
    none, or where the method or the link cannot tell."""
    some = inconsistent_raters(ratings)
    told = config.method == "mml" and config.link != "log"
    return some if told and some.any() else None


FEWEST, FEWEST_SHARING = 5, 3
"""Raters, and raters who are not trusted, below which nothing tells what they share from what each sees."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    what: str
    remedy: str
    option: str


def trusted_raters(ratings: Ratings, config: FitConfig) -> Mask:
    """(raters,)"""
    return np.asarray(ratings.raters.cast(pl.String).is_in(list(config.trusted or ())).to_numpy())


def wants_shared(ratings: Ratings, config: FitConfig) -> bool:
    """Whether a shared dimension is to be tried; raises where it is asked for and cannot be had."""
    if (
        ratings.group is not None
        or inconsistent_raters(ratings).any()
        or config.shared == "no"
        or (config.shared == "auto" and ratings.known is None and not config.trusted)
    ):
        return False
    if any(part in given(config) for part in APART["shared"]):
        return False
    found = _of_ratings(ratings, config)
    if found is not None and config.shared == "yes":
        raise OptionError(
            Message(Option("shared", "yes"), f": {found.what}"),
            found.remedy,
            option=found.option,
        )
    return found is None


def untested_bias(ratings: Ratings, config: FitConfig) -> Message | None:
    """Caution where raters or known answers are too few to test whether raters share a bias."""
    if config.shared != "auto" or (ratings.known is None and not config.trusted):
        return None
    found = _of_ratings(ratings, config)
    if found is None:
        return None
    return Message(
        "raters who share a bias outvote what is known and look better than they are, and whether they do is not "
        f"tested: {found.what}; ",
        found.remedy,
    )


def _of_ratings(ratings: Ratings, config: FitConfig) -> Obstacle | None:
    trusted = trusted_raters(ratings, config)
    if ratings.known is None and not trusted.any():
        return Obstacle(
            "no answer is known and no rater trusted, so nothing tells what raters share from the truth",
            Message("give ", Option("known"), " or ", Option("trusted")),
            "known",
        )
    if config.shared == "auto" and not trusted.any() and len(ratings.known or ()) < ENOUGH_KNOWN:
        return Obstacle(
            f"{counted(len(ratings.known or ()), 'known answer')} may be taken for what raters share",
            f"look up {ENOUGH_KNOWN} answers or more",
            "known",
        )
    if isinstance(ratings, StoredRatings):
        return Obstacle("packed ratings are not read at once", "read the table itself", "shared")
    if ratings.n_raters < FEWEST or int((~trusted).sum()) < FEWEST_SHARING:
        return Obstacle(
            f"{counted(ratings.n_raters, 'rater')}, {int(trusted.sum())} of them trusted, are too few to tell what "
            "they share from what each sees",
            f"it takes {FEWEST} raters, {FEWEST_SHARING} of whom are not trusted",
            "trusted",
        )
    if ratings.known is None:
        by_trusted = np.zeros(ratings.n_students, dtype=bool)
        by_trusted[ratings.student[trusted[ratings.rater]]] = True
        if not by_trusted[ratings.student[~trusted[ratings.rater]]].any():
            return Obstacle(
                "the trusted raters and the others share no student",
                "have some students rated by both",
                "trusted",
            )
    return None


def check_together(config: FitConfig) -> None:
    """Raise on options that do not go together, whatever the ratings."""
    refuse_clashes(config)
    link = config.link or MODELS[config.model_name].links[0]
    check_kind(config.covariance, config.method, get_link(link))


def check_readings(ratings: Ratings, halo: str | None) -> None:
    """Raise where what a reading's scores share cannot be told from what each is, or from ability."""
    if halo in (None, "none"):
        return
    if halo == "ability" and isinstance(ratings, StoredRatings):
        raise OptionError(
            Message(Option("halo", halo), " with packed ratings, which are not read at once"),
            Message("use ", Option("halo", "common"), ", or read the table itself"),
            option="halo",
        )
    found = [readings_in(part) for part in ratings.parts()]
    if not any(readings.long for readings in found):
        why = (
            " needs readings of at least 2 items, and here no rater scores a student on more than one item: what the "
            "scores of a reading share cannot be seen in a single score"
        )
    elif not any(readings.second for readings in found):
        why = (
            " needs students with at least 2 readings, and here each has one: what its scores share cannot be told "
            "from ability"
        )
    else:
        return
    raise InputError(Message(Option("halo", halo), why), Message("leave out ", Option("halo")))


def check_known(ratings: Ratings, config: FitConfig) -> None:
    """Raise where trusted raters are not there, and where known answers go with something that cannot use them."""
    for rater in config.trusted or ():
        choose("rater", rater, ratings.raters.cast(pl.String), option="trusted")
    if ratings.known is None:
        return
    if strange := np.setdiff1d(ratings.known.answer, np.flatnonzero(ratings.score_counts)).tolist():
        raise InputError(
            f"the answer {listed(strange)} is known to be right for some, but nobody ever gave that score",
            Message("leave it blank, or combine scores, for example with ", Option("cut")),
            value=strange,
            option="known",
        )


def model_options(config: FitConfig) -> Options:
    """The model with its link and scale."""
    spec = MODELS[config.model_name]
    link = get_link(config.link or spec.links[0])
    return Options(
        spec,
        link,
        config.shared_scale,
        config.item_slopes,
        halo=config.halo or "none",
        smooth=config.ability == "smooth",
        interactions=facets_of(config.interactions),
        rater_thresholds=config.rater_thresholds,
    )


def known_scores(config: FitConfig, ratings: Ratings) -> tuple[int, ...]:
    """The scores that the model knows: those of the anchoring fit, or all that were given."""
    if config.anchors is not None and config.anchors.earlier is not None:
        return config.anchors.earlier.scores
    if config.scale == "continuous":
        return tuple(range(ratings.n_categories))
    if ratings.n_categories == 2:
        return (0, 1)
    given = tuple(int(score) for score in np.flatnonzero(ratings.score_counts))
    if len(given) < 2:  # where they are some of the raters or students; reading refuses it of all of them
        raise InputError(
            f"all {ratings.n_ratings:,} ratings are {given[0]}, so nothing can be estimated",
            "fit them with others",
            value=given[0],
            option="score",
        )
    return given


def check_scores(ratings: Ratings, n_categories: int, options: Options, method: str) -> None:
    """Raise where the scores are ordered, and the model, the method or the link takes pass or fail only."""
    if n_categories == 2 or options.scale == "continuous":
        return
    lowest, *_, highest = (int(score) for score in np.flatnonzero(ratings.score_counts))
    link = options.link.name
    lowest_pass = ("give the lowest passing score, for example ", Option("cut", highest))
    if options.spec.name == "probit":
        wrong, remedy = "model 'probit' takes", Message(*lowest_pass, ", or use ", Option("model", "gmf"))
    elif method != "mml":
        wrong, remedy = (
            f"method {method!r} takes",
            Message(*lowest_pass, ", or use ", Option("method", "mml")),
        )
    elif link == "log":
        others = (
            Option("link", "logit"),
            ", or ",
            Option("link", "cloglog"),
            " with ",
            Option("scale", "graded"),
        )
        wrong, remedy = "link 'log' takes", Message(*lowest_pass, ", or use ", *others)
    elif options.scale != "graded" and link != "logit":
        raise InputError(
            f"scores go from {lowest} to {highest}, and link {link!r} needs scale 'graded' for ordered scores",
            Message(
                "use ", Option("scale", "graded"), " or ", Option("link", "logit"), ", or ", *lowest_pass
            ),
            value=highest,
        )
    else:
        return
    raise InputError(
        f"scores go from {lowest} to {highest}, but {wrong} pass (1) or fail (0)",
        remedy,
        value=highest,
        option="cut",
    )


def default_yardstick(config: FitConfig, options: Options) -> Yardstick:
    """The yardstick where none is asked for: that of the anchoring fit, else the model's."""
    earlier = None if config.anchors is None else config.anchors.earlier
    if earlier is not None and earlier.sigma is not None:
        return Yardstick(earlier.sigma, earlier.population, -earlier.alpha)
    return Yardstick(PERFECT, origin=ABSOLUTE) if options.spec.absolute else Yardstick()
