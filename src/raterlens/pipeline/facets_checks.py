"""What a facets model is asked for, checked before any work: which options go together, and with which scores."""

import numpy as np
import polars as pl

from raterlens.base.errors import InputError, OptionError, choose
from raterlens.base.text import Message, Option, listed
from raterlens.capability.links import get_link
from raterlens.capability.yardstick import ABSOLUTE, PERFECT, Yardstick
from raterlens.config import FitConfig
from raterlens.config.interacting_facets import facets_of
from raterlens.engine.cells import readings_in
from raterlens.inference.covariance_kinds import EXPECTED, OBSERVED, check_kind
from raterlens.models.build import Options
from raterlens.models.registry import facets_spec
from raterlens.ratings.coded import Ratings


def check_together(config: FitConfig) -> None:
    """Raise on options that do not go together, whatever the ratings."""
    spec, method = facets_spec(config.model), config.method
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
            option="method",
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
                option=option,
            )
    if config.covariance not in kinds:
        raise OptionError(
            Message(Option("covariance", config.covariance), " with ", asked),
            Message("use ", Option("covariance", OBSERVED)),
            value=config.covariance,
            option="covariance",
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
    raise InputError(
        Message(Option("halo", halo), why), Message("leave out ", Option("halo")), value=halo, option="halo"
    )


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
            option="method",
        )
    if config.link == "log":
        raise OptionError(
            "known answers with link 'log', whose pass rate does not level off",
            Message("use ", Option("link", "cloglog"), ", or read without ", Option("known")),
            value=config.link,
            option="link",
        )
    if config.halo not in (None, "none"):
        raise OptionError(
            Message(Option("halo", config.halo), " with known answers, which are no readings"),
            Message("leave out ", Option("halo"), ", or read without ", Option("known")),
            value=config.halo,
            option="halo",
        )


_WHY_MML = {
    "log": "its probabilities have a corner where they reach 1, which no single most probable ability stands for",
    "cauchit": "its posteriors can have several peaks, so a single most probable ability does not stand for them",
}


def model_options(config: FitConfig) -> Options:
    """The model with its link and scale."""
    spec = facets_spec(config.model)
    link = get_link(config.link or spec.links[0])
    return Options(
        spec,
        link,
        config.scale,
        config.item_slopes,
        halo=config.halo or "none",
        smooth=config.ability == "smooth",
        interactions=facets_of(config.interactions),
    )


def known_scores(config: FitConfig, ratings: Ratings) -> tuple[int, ...]:
    """The scores that the model knows: those of the anchoring fit, or all that were given."""
    if config.anchors is not None and config.anchors.earlier is not None:
        return config.anchors.earlier.scores
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
    if n_categories == 2:
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
            option="scale",
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
