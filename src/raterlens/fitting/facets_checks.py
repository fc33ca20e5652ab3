"""Checks of a facets request before any work: which options go together, and with which scores."""

from collections.abc import Iterable
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
from raterlens.models.registry import MODELS, FacetsSpec, facets_spec
from raterlens.models.term import Contexts
from raterlens.models.terms.rater_interactions import ITEM, Interaction
from raterlens.models.terms.shared_bias import ENOUGH_KNOWN
from raterlens.ratings.coded import Facet, Ratings
from raterlens.ratings.design import components
from raterlens.ratings.groupings import inconsistent_raters, one_each, read_once
from raterlens.ratings.packed import StoredRatings


def refuse_together(asked: Option, others: Iterable[tuple[Option, bool]]) -> None:
    """Raise where one of the others is given, each with whether it is."""
    for other, given in others:
        if given:
            raise OptionError(
                Message(asked, " does not go with ", other),
                "leave out one of them",
                value=asked.value if other.value is None else other.value,
                option=other.name,
            )


def with_scale(config: FitConfig, ratings: Ratings) -> FitConfig:
    """The request with the scale that so many different scores ask for."""
    takes = isinstance(MODELS.get(config.model_name), FacetsSpec) and config.model_name != "probit"
    if config.scale is not None or not ratings.on_fine_scale or not takes:
        return config
    return config.changed(scale="continuous")


def check_marks(ratings: Ratings, config: FitConfig) -> None:
    """Raise on what does not go with marks on a continuous scale."""
    if config.scale != "continuous":
        return
    asked = Option("scale", "continuous")
    refuse_together(
        asked,
        (
            (Option("model", config.model), config.model_name == "probit"),
            (Option("method", config.method), config.method != "mml"),
            (Option("link", config.link), config.link is not None),
            (Option("halo", config.halo), config.halo not in (None, "none")),
            (Option("covariates"), config.covariates is not None),
            (Option("anchors"), config.anchors is not None),
            (Option("trusted"), config.trusted is not None),
            (Option("known"), ratings.known is not None),
            (Option("piece"), ratings.piece is not None),
            (Option("repeats", "draws"), ratings.draw is not None),
            (Option("reference", config.reference), config.reference == PERFECT),
        ),
    )


def check_interactions(ratings: Ratings, config: FitConfig) -> None:
    """Raise where the ratings cannot show the interactions that are asked for, and on what does not go with them."""
    if config.interactions is None:
        return
    names = [ITEM, *(facet.name for facet in ratings.facets)]
    for facet in facets_of(config.interactions):
        choose("facet in interactions", facet, names, option="interactions")
    refuse_together(
        Option("interactions", config.interactions),
        (
            (Option("known"), ratings.known is not None),
            (Option("trusted"), config.trusted is not None or bool(ratings.trusted)),
            (Option("piece"), ratings.piece is not None),
        ),
    )
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


def piece_effect(ratings: Ratings, config: FitConfig) -> bool:
    """Whether pieces differ in the model: wherever they are named and that can be told. Raises where a student has one
    piece only, and on options that do not go with it."""
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
    if read_once(ratings):
        return False
    refuse_together(
        Option("piece", ratings.piece.name),
        (
            (Option("method", config.method), config.method != "mml"),
            (Option("link", config.link), config.link == "log"),
            (Option("covariance", config.covariance), config.covariance != OBSERVED),
            (Option("ability", config.ability), config.ability == "smooth"),
            (Option("known"), ratings.known is not None),
            (Option("trusted"), config.trusted is not None),
        ),
    )
    return True


def check_impressions(ratings: Ratings, config: FitConfig) -> None:
    """Raise on what does not go with halo on the ability scale, which takes the place of pieces of work."""
    if config.halo != "ability":
        return
    if isinstance(ratings, StoredRatings):
        raise OptionError(
            Message(Option("halo", "ability"), " with packed ratings, which are not read at once"),
            Message("use ", Option("halo", "common"), ", or read the table itself"),
        )
    refuse_together(
        Option("halo", "ability"),
        (
            (Option("piece"), ratings.piece is not None),
            (Option("group"), ratings.group is not None),
            (Option("draw"), ratings.draw is not None),
            (Option("covariance", config.covariance), config.covariance != OBSERVED),
            (Option("ability", config.ability), config.ability == "smooth"),
        ),
    )


def group_means(ratings: Ratings, config: FitConfig) -> GroupMeansKind:
    """By what groups of students have means: each its own wherever groups are named. Raises on options that do not go
    with it, and where there is a single group."""
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
    refuse_together(
        Option("group", name),
        (
            (Option("method", config.method), config.method != "mml"),
            (Option("link", config.link), config.link == "log"),
            (Option("ability", config.ability), config.ability == "smooth"),
            (Option("piece"), ratings.piece is not None),
            (Option("trusted"), config.trusted is not None),
            (Option("shared", config.shared), config.shared == "yes"),
        ),
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
    none, or where the method or the link cannot tell. Raises where something is asked for that does not go with it."""
    some = inconsistent_raters(ratings)
    if not some.any():
        return None
    asked = Option("repeats", "draws")
    refuse_together(asked, ((Option("shared", config.shared), config.shared == "yes"),))
    return some if config.method == "mml" and config.link != "log" else None


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
    clashes = _clashes(config)
    if config.shared == "yes":
        refuse_together(Option("shared", "yes"), clashes)
    if any(given for _, given in clashes):
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


def _clashes(config: FitConfig) -> list[tuple[Option, bool]]:
    """Options that do not go with a shared dimension, each with whether it is given."""
    return [
        (Option("method", config.method), config.method != "mml"),
        (Option("covariance", config.covariance), config.covariance != "observed"),
        (Option("prior", config.prior), config.prior == "panel"),
        (Option("halo", config.halo), config.halo not in (None, "none")),
        (Option("ability", config.ability), config.ability not in (None, "normal")),
        (Option("anchors"), config.anchors is not None),
        (Option("covariates"), config.covariates is not None),
        (Option("item_slopes", config.item_slopes), config.item_slopes),
        (Option("link", config.link), config.link in ("log", "cauchit")),
    ]


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
    spec, method = facets_spec(config.model_name), config.method
    link = config.link or spec.links[0]
    if method != "mml" and link in _WHY_MML:
        raise OptionError(
            f"link {link!r} with method {method!r}: {_WHY_MML[link]}",
            Message(
                "use ",
                Option("method", "mml"),
                *((", or ", Option("link", "cloglog")) if link == "log" else ()),
            ),
            value=method,
        )
    if config.anchors is not None and method == "hl":
        raise OptionError(
            "method 'hl' rescales all slopes and cannot hold any",
            Message("use ", Option("method", "mml"), " with anchors"),
            option="anchors",
        )
    if config.covariates is not None and config.anchors is not None:
        raise OptionError(
            "both covariates and anchors are given, but explained raters have no parameters of their own to hold",
            "leave one of them out",
            option="covariates",
        )
    if config.halo not in (None, "none"):
        _check_quadrature(config, link, Option("halo", config.halo), "knows no reading effect")
    if config.ability == "smooth":
        _check_quadrature(config, link, Option("ability", config.ability), "takes abilities for normal")
    if config.interactions is not None:
        asked = Option("interactions", config.interactions)
        _check_quadrature(config, link, asked, "knows no interactions", (OBSERVED,))
    check_kind(config.covariance, method, get_link(link))


def _check_quadrature(
    config: FitConfig, link: str, asked: Option, why: str, kinds: tuple[str, ...] = (OBSERVED, EXPECTED)
) -> None:
    """Raise where what is asked for needs another method, link or covariance, whatever the ratings."""
    for option, value, wrong, because, instead in (
        ("method", config.method, config.method != "mml", f"which {why}", "mml"),
        ("link", link, link == "log", "whose probabilities have a corner", "cloglog"),
    ):
        if wrong:
            raise OptionError(
                Message(asked, f" with {option} {value!r}, {because}"),
                Message("use ", Option(option, instead)),
                value=value,
            )
    if config.covariance not in kinds:
        raise OptionError(
            Message(Option("covariance", config.covariance), " with ", asked),
            Message("use ", Option("covariance", OBSERVED)),
        )


def check_readings(ratings: Ratings, halo: str | None) -> None:
    """Raise where what a reading's scores share cannot be told from what each is, or from ability."""
    if halo in (None, "none"):
        return
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
    if config.method != "mml":
        raise OptionError(
            f"known answers with method {config.method!r}, which takes ratings only",
            Message("use ", Option("method", "mml"), ", or read without ", Option("known")),
            value=config.method,
        )
    if config.link == "log":
        raise OptionError(
            "known answers with link 'log', whose pass rate does not level off",
            Message("use ", Option("link", "cloglog"), ", or read without ", Option("known")),
            value=config.link,
        )
    if config.halo not in (None, "none"):
        raise OptionError(
            Message(Option("halo", config.halo), " with known answers, which are no readings"),
            Message("leave out ", Option("halo"), ", or read without ", Option("known")),
        )


_WHY_MML = {
    "log": "its probabilities have a corner where they reach 1, which no single most probable ability stands for",
    "cauchit": "its posteriors can have several peaks, so a single most probable ability does not stand for them",
}


def model_options(config: FitConfig) -> Options:
    """The model with its link and scale."""
    spec = facets_spec(config.model_name)
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
