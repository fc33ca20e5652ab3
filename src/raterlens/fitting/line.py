"""The straight line of a fit: check the request, bind it to ratings, estimate, tabulate. Every fit is made here."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np
import polars as pl

from raterlens.base.arrays import limit_blas_threads
from raterlens.base.errors import OptionError, choose
from raterlens.base.text import Message, Option
from raterlens.capability.population import Histogram, Normal
from raterlens.capability.yardstick import PERFECT, STANDARD
from raterlens.config import Anchors, EarlierScale, FitConfig
from raterlens.fitting.facets_checks import check_together, with_scale
from raterlens.fitting.facets_task import FacetsTask
from raterlens.fitting.steps import Run, Task
from raterlens.inference.result import Result
from raterlens.kernels.library import missed
from raterlens.models.anchors import anchors_from
from raterlens.models.covariates import covariate_columns
from raterlens.models.registry import COMMON, MODELS
from raterlens.ratings.coded import Ratings
from raterlens.ratings.groupings import with_sets_of_raters
from raterlens.ratings.packed import StoredRatings


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


def carry_out(config: FitConfig, ratings: Ratings, run: Run) -> Result:
    """Fit the ratings as requested."""
    config, ratings = checked(config, ratings, run)
    with limit_blas_threads(ratings):
        task = _task(ratings, config, run)
        run.enter("fitting")
        estimate = task.estimate()
        wanted = config.standard_errors or task.needs_covariance
        run.enter("standard errors")
        covariance = task.covariance(estimate) if wanted else None
        found = task.found(estimate, covariance)
    own = {field.name: getattr(found, field.name) for field in fields(found)}
    return Result(
        **own | {"warnings": (*found.warnings, *missed(ratings.n_ratings))},
        config=config,
        n_ratings=ratings.n_ratings,
        n_students=ratings.n_students,
        n_raters=ratings.n_raters,
        n_items=ratings.n_items,
        notes=ratings.notes,
        backend=ratings.backend,
    )


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
    """Refuse what can be refused before the ratings are read."""
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
        raise OptionError(
            Message(f"model {spec.name!r} takes no ", *_or(Option(name) for name in strange)),
            Message("leave it out, or use ", Option("model", "gmf")),
            option=strange[0],
        )
    run.check(config, by_parts=config.method == "mml" and not spec.true_category)
    check_together(config)


def _or(options: Iterable[Option]) -> Iterator[str | Option]:
    for place, option in enumerate(options):
        yield from (" or ", option) if place else (option,)


def _task(ratings: Ratings, config: FitConfig, run: Run) -> Task:
    if not MODELS[config.model_name].true_category:
        return FacetsTask.of(ratings, config, run)
    from raterlens.fitting.latent_class_task import LatentClassTask  # most fits do without

    return LatentClassTask.of(ratings, config, run)
