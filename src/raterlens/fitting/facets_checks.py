"""Checks of a facets request before any work: which options go together, and with which scores."""

import numpy as np

from raterlens.base.arrays import Mask
from raterlens.base.errors import InputError, OptionError
from raterlens.base.text import Message, Option
from raterlens.capability.links import get_link
from raterlens.capability.yardstick import ABSOLUTE, PERFECT, Yardstick
from raterlens.config import FitConfig
from raterlens.inference.covariance import check_kind
from raterlens.models.build import EVERY_PART, KINDS
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options, refuse_clashes
from raterlens.models.terms.shared_bias import obstacle
from raterlens.ratings.coded import Ratings
from raterlens.ratings.groupings import inconsistent_raters


def with_scale(config: FitConfig, ratings: Ratings) -> FitConfig:
    """The request with the scale that so many different scores ask for."""
    spec = MODELS.get(config.model_name)
    if config.scale is not None or not ratings.on_fine_scale or spec is None or not spec.ordered:
        return config
    return config.changed(scale="continuous")


def drawing_raters(ratings: Ratings, config: FitConfig) -> Mask | None:
    """(raters,): whose answers to the same question differ, and share the rater's reading of it; None where there are
    none, or where the method or the link cannot tell."""
    some = inconsistent_raters(ratings)
    told = config.method == "mml" and config.link != "log"
    return some if told and some.any() else None


def wants_shared(ratings: Ratings, config: FitConfig) -> bool:
    """Whether a shared dimension is to be tried: where it is asked for, or can be had and known answers or trusted
    raters would show it."""
    told = ratings.known is not None or config.trusted
    if config.shared != "auto" or not told or obstacle(ratings, config) is not None:
        return config.shared == "yes"
    try:
        refuse_clashes(EVERY_PART, config.changed(shared="yes"), ratings)
    except OptionError:
        return False
    return True


def check_terms(ratings: Ratings, config: FitConfig) -> None:
    """Raise on parts of a request that do not go together, and on terms that these ratings cannot show."""
    refuse_clashes(EVERY_PART, config, ratings)
    for kind in KINDS:
        kind.check(ratings, config)


def check_together(config: FitConfig) -> None:
    """Raise on options that do not go together, whatever the ratings."""
    refuse_clashes(EVERY_PART, config)
    link = config.link or MODELS[config.model_name].links[0]
    check_kind(config.covariance, config.method, get_link(link))


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
