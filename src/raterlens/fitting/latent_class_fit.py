"""A latent class model (hierarchical raters, Dawid-Skene) on ratings: estimate, covariance, tables."""

import numpy as np

from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option
from raterlens.capability.links import get_link
from raterlens.capability.yardstick import ABSOLUTE, PERFECT, Yardstick
from raterlens.config import FitConfig
from raterlens.estimation.latent_estimate import estimate_latent_class, with_correlated_draws
from raterlens.estimation.optimiser import Search
from raterlens.fitting.checks import Run
from raterlens.inference.latent_class import (
    LatentClassErrors,
    latent_class_covariance,
    latent_class_tables,
    latent_class_warnings,
)
from raterlens.inference.result import Result
from raterlens.models.registry import MODELS
from raterlens.models.signal_detection import LatentClassModel
from raterlens.ratings.coded import Ratings
from raterlens.ratings.design import check_design


def latent_class_result(ratings: Ratings, config: FitConfig, run: Run) -> Result:
    """Fit a latent class model as requested."""
    spec = MODELS[config.model_name]
    _check(ratings, ability=spec.ability)
    link = get_link(config.link or spec.links[0])
    model = LatentClassModel(ratings.n_raters, ratings.n_items, link, spec.ability, config.allow_reversed)
    search, draws = Search(config.max_iterations, run.progress), ratings.draw is not None
    run.enter("fitting")
    found = estimate_latent_class(
        ratings, model, search, starts=config.starts, seed=config.seed, correlation=1.0 if draws else None
    )
    if draws:
        found = with_correlated_draws(found, ratings, search)
    run.enter("standard errors")
    covariance = latent_class_covariance(found) if config.standard_errors else None
    errors = LatentClassErrors.of(found, covariance)
    return Result(
        config=config,
        link=link.name,
        loglik=found.loglik,
        sigma=float(found.of("sigma").sum()),  # 0 without ability
        sigma_se=errors.sigma,
        alpha=float(-found.of("difficulty").mean()),
        n_parameters=model.blocks.size,
        n_ratings=ratings.n_ratings,
        n_students=ratings.n_students,
        n_raters=ratings.n_raters,
        n_items=ratings.n_items,
        optimiser=found.record,
        warnings=(*check_design(ratings), *latent_class_warnings(ratings, found, errors)),
        notes=ratings.notes,
        tables=latent_class_tables(ratings, found, errors),
        backend=ratings.backend,
        yardstick=Yardstick(PERFECT, origin=ABSOLUTE),
    )


def _check(ratings: Ratings, *, ability: bool) -> None:
    if ratings.n_categories > 2:
        highest = int(ratings.score.max())
        raise InputError(
            f"scores go from {ratings.score.min()} to {highest}, but the true category of this model is pass (1) or "
            "fail (0)",
            Message("give the lowest passing score, for example ", Option("cut", highest)),
            value=highest,
        )
    _, n = np.unique(ratings.student.astype(np.int64) * ratings.n_items + ratings.item, return_counts=True)
    if not ability and n.max() == 1:
        raise InputError(
            "every student-item has a single rating, so nothing tells a rater's errors from the true category",
            Message(
                "have some student-items rated by two or more raters, or use a model with ability, ",
                Option("model", "hrm"),
                " or ",
                Option("model", "gmf"),
            ),
        )
