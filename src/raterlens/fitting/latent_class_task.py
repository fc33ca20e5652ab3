"""A latent class model (hierarchical raters, Dawid-Skene) on ratings: estimate, covariance, and what is found."""

from dataclasses import dataclass

import numpy as np

from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option
from raterlens.capability.links import get_link
from raterlens.capability.yardstick import ABSOLUTE, PERFECT, Yardstick
from raterlens.config import FitConfig
from raterlens.estimation.facets_estimate import Covariance
from raterlens.estimation.latent_estimate import (
    LatentClassEstimate,
    estimate_latent_class,
    with_correlated_draws,
)
from raterlens.estimation.optimiser import Search
from raterlens.fitting.steps import Found, Run
from raterlens.inference.latent_class import (
    LatentClassErrors,
    latent_class_covariance,
    latent_class_tables,
    latent_class_warnings,
)
from raterlens.models.registry import MODELS
from raterlens.models.signal_detection import LatentClassModel
from raterlens.ratings.coded import Ratings
from raterlens.ratings.design import check_design


@dataclass(frozen=True, slots=True, eq=False)
class LatentClassTask:
    """A latent class model and its ratings, both checked."""

    config: FitConfig
    run: Run
    ratings: Ratings
    model: LatentClassModel

    @staticmethod
    def of(ratings: Ratings, config: FitConfig, run: Run) -> "LatentClassTask":
        spec = MODELS[config.model_name]
        _check(ratings, ability=spec.ability)
        link = get_link(config.link or spec.links[0])
        model = LatentClassModel(ratings.n_raters, ratings.n_items, link, spec.ability, config.allow_reversed)
        return LatentClassTask(config, run, ratings, model)

    @property
    def needs_covariance(self) -> bool:
        return False

    def estimate(self) -> LatentClassEstimate:
        search = Search(self.config.max_iterations, self.run.progress)
        draws = self.ratings.draw is not None
        found = estimate_latent_class(
            self.ratings,
            self.model,
            search,
            starts=self.config.starts,
            seed=self.config.seed,
            correlation=1.0 if draws else None,
        )
        return with_correlated_draws(found, self.ratings, search) if draws else found

    def covariance(self, estimate: LatentClassEstimate) -> Covariance | None:
        return latent_class_covariance(estimate)

    def found(self, estimate: LatentClassEstimate, covariance: Covariance | None) -> Found:
        errors = LatentClassErrors.of(estimate, covariance)
        return Found(
            link=self.model.link.name,
            loglik=estimate.loglik,
            sigma=float(estimate.of("sigma").sum()),  # 0 without ability
            sigma_se=errors.sigma,
            alpha=float(-estimate.of("difficulty").mean()),
            n_parameters=self.model.blocks.size,
            optimiser=estimate.record,
            warnings=(
                *check_design(self.ratings),
                *latent_class_warnings(self.ratings, estimate, errors),
            ),
            tables=latent_class_tables(self.ratings, estimate, errors),
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
