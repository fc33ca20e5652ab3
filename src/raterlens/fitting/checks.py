"""Requests for fits: completed by what the ratings say, and checked before any work."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from raterlens.base.errors import InputError, OptionError, choose
from raterlens.base.processes import check_client
from raterlens.base.text import Message, Option
from raterlens.capability.links import get_link
from raterlens.capability.population import Histogram, Normal
from raterlens.capability.yardstick import ABSOLUTE, PERFECT, STANDARD, Yardstick
from raterlens.config import Anchors, EarlierScale, FitConfig
from raterlens.inference.covariance import check_kind
from raterlens.inference.result import Result
from raterlens.models.anchors import anchors_from
from raterlens.models.build import EVERY_PART, KINDS
from raterlens.models.covariates import covariate_columns
from raterlens.models.registry import COMMON, MODELS
from raterlens.models.requested import Options, refuse_clashes
from raterlens.models.terms.shared_bias import obstacle
from raterlens.ratings.coded import Ratings
from raterlens.ratings.groupings import with_sets_of_raters
from raterlens.ratings.packed import StoredRatings

if TYPE_CHECKING:
    from distributed import Client

    from raterlens.estimation.optimiser import OnProgress
    from raterlens.fitting.assumptions import Trial


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """How a fit is carried out: nothing here changes what it finds, so none of it is kept with the fit."""

    progress: "OnProgress | None" = None
    checkpoint: Path | str | None = None
    resume: bool = False
    client: "Client | None" = None
    start: "Result | Trial | None" = None
    """An earlier fit to begin from."""
    dense_parameters: int = 5_000
    """Up to that many, covariances are computed in full, which takes 200 MB and seconds; beyond, by raters' blocks."""
    on_stage: Callable[[str], None] | None = None
    """Told what comes next: "fitting", "standard errors", "testing assumptions"."""

    keep_checkpoint: bool = False
    """Leave the checkpoint to the caller, who removes it once the results are written."""

    def enter(self, stage: str) -> None:
        if self.on_stage is not None:
            self.on_stage(stage)

    def check(self, config: "FitConfig", *, by_parts: bool) -> None:
        """Refuse what the fit cannot do.

        `by_parts`: the fit goes over parts of the students, as clusters and checkpoints need.
        """
        for option, wanted, remedy in (
            ("start", hasattr(self.start, "calibration"), "give a fit, from rl.fit or rl.load"),
            ("progress", callable(self.progress), "give a function of one argument"),
            ("checkpoint", isinstance(self.checkpoint, str | Path), "give the path of a file"),
        ):
            value = getattr(self, option)
            if value is not None and not wanted:
                raise OptionError(Message(Option(option, value)), remedy)
        if self.checkpoint is None and self.resume:
            raise OptionError(
                "resume is given without a checkpoint to go on from",
                Message("name it with ", Option("checkpoint")),
                option="resume",
            )
        if self.client is not None:
            check_client(self.client)
        for what, option, given in (
            ("a cluster", "client", self.client is not None),
            ("a checkpoint", "checkpoint", self.checkpoint is not None),
        ):
            if given and not by_parts:
                raise OptionError(
                    f"{what} goes with method 'mml' of the facets models, not with model {config.model!r} by "
                    f"{config.method!r}",
                    "leave it out",
                    option=option,
                )


def recorded(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as a request keeps them: an anchoring fit by what it holds, covariates by their columns."""
    found = dict(options)
    if isinstance(anchoring := found.get("anchors"), Result):
        found["anchors"] = _anchors_of(anchoring)
    if found.get("covariates") is not None:
        found["covariates"] = covariate_columns(found["covariates"])
    return found


def changed(config: FitConfig, changes: Mapping[str, Any], ratings: Ratings) -> FitConfig:
    """The request with some options changed, for other ratings: of the trusted raters, those who are among theirs."""
    found = config.changed(**recorded(changes))
    if found.trusted is None or "trusted" in changes:
        return found
    there = set(ratings.raters.cast(pl.String))
    return found.changed(trusted=[rater for rater in found.trusted if rater in there])


def _anchors_of(fit: Result) -> Anchors:
    if fit.calibration is None:
        raise OptionError(
            f"a fit of model {fit.model!r} cannot anchor another",
            "use 'gmf', 'tfm' or 'probit'",
            option="anchors",
        )
    sigma = None if fit.yardstick.reference == PERFECT else fit.sigma
    population, shape = fit.yardstick.population, fit.calibration.shape
    if population == STANDARD and shape is not None:
        population = Histogram.smooth(*shape.tolist()).text
    elif population == STANDARD and fit.calibration.piece_variance:
        population = Normal(0.0, float(np.sqrt(1 + fit.calibration.piece_variance))).text
    scale = EarlierScale(fit.calibration.scores, sigma, fit.alpha, population)
    return anchors_from(fit.calibration, scale)


def checked(config: FitConfig, ratings: Ratings, run: Run) -> tuple[FitConfig, Ratings]:
    """The request with what the ratings say themselves, and these as it takes them; raises on what cannot be done."""
    config = config.changed(model=config.model_name)
    if config.trusted is None and ratings.trusted:
        config = config.changed(trusted=ratings.trusted)
    config = with_scale(config, ratings)
    check(config, run)
    ratings.check_estimable()
    if config.repeats == "separate" and ratings.draw is not None:
        whole = ratings.in_memory() if isinstance(ratings, StoredRatings) else ratings
        ratings = replace(whole, draw=None)
    if config.group_means == "none":
        ratings = replace(ratings, group=None)
    elif config.group_means == "raters":
        ratings = with_sets_of_raters(ratings)
    return config, ratings


def check(config: FitConfig, run: Run) -> None:
    """Refuse what can be refused before the ratings are read, such as options that do not go together."""
    spec = MODELS[choose("model", config.model_name, MODELS)]
    for name, offered in (("method", spec.methods), ("link", spec.links)):
        value = getattr(config, name)
        if value is not None and value not in offered:
            raise OptionError(
                f"model {spec.name!r} takes {name} {' or '.join(repr(one) for one in offered)}, not {value!r}",
                Message("leave ", name, " out, or use ", Option("model", "gmf")),
                value=value,
                option=name,
            )
    if strange := [name for name in config.given() if name not in spec.takes | COMMON]:
        either = [part for name in strange for part in (" or ", Option(name))][1:]
        raise OptionError(
            Message(f"model {spec.name!r} takes no ", *either),
            Message("leave it out, or use ", Option("model", "gmf")),
            option=strange[0],
        )
    run.check(config, by_parts=config.method == "mml" and not spec.true_category)
    refuse_clashes(EVERY_PART, config)
    check_kind(config.covariance, config.method, get_link(config.link or spec.links[0]))


def with_scale(config: FitConfig, ratings: Ratings) -> FitConfig:
    """The request with the scale that so many different scores ask for."""
    spec = MODELS.get(config.model_name)
    if config.scale is not None or not ratings.on_fine_scale or spec is None or not spec.ordered:
        return config
    return config.changed(scale="continuous")


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
    others: tuple[str | Option, ...]
    if options.spec.name == "probit":
        wrong, others = "model 'probit' takes", (Option("model", "gmf"),)
    elif method != "mml":
        wrong, others = f"method {method!r} takes", (Option("method", "mml"),)
    elif link == "log":
        cloglog = (Option("link", "cloglog"), " with ", Option("scale", "graded"))
        wrong, others = "link 'log' takes", (Option("link", "logit"), ", or ", *cloglog)
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
        Message(*lowest_pass, ", or use ", *others),
        value=highest,
        option="cut",
    )


def default_yardstick(config: FitConfig, options: Options) -> Yardstick:
    """The yardstick where none is asked for: that of the anchoring fit, else the model's."""
    earlier = None if config.anchors is None else config.anchors.earlier
    if earlier is not None and earlier.sigma is not None:
        return Yardstick(earlier.sigma, earlier.population, -earlier.alpha)
    return Yardstick(PERFECT, origin=ABSOLUTE) if options.spec.absolute else Yardstick()
