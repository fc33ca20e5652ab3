"""A latent class model (hierarchical raters, Dawid-Skene) on ratings: estimate, covariance, and what is found."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from raterlens.capability.yardstick import ABSOLUTE, NOISELESS, Yardstick
from raterlens.config import FitConfig
from raterlens.models.registry import latent_class_spec
from raterlens.pipeline.steps import Found, Run
from raterlens.ratings.coded import Ratings
from raterlens.ratings.design import examine
from raterlens.result.latent_class import latent_class_tables

if TYPE_CHECKING:
    from raterlens.estimation.latent_class_fit import LatentClassFit


@dataclass(frozen=True, slots=True, eq=False)
class LatentClassTask:
    """A latent class model and its ratings, both checked."""

    config: FitConfig
    run: Run
    ratings: Ratings

    @staticmethod
    def of(ratings: Ratings, config: FitConfig, run: Run) -> "LatentClassTask":
        return LatentClassTask(config, run, ratings)

    def estimate(self) -> "LatentClassFit":
        from raterlens.estimation.latent_class_fit import fit_latent_class  # other models do without

        config = self.config
        return fit_latent_class(
            self.ratings,
            link=config.link or "logit",
            rasch=latent_class_spec(config.model).ability,
            starts=config.starts,
            seed=config.seed,
            standard_errors=config.standard_errors,
            max_iterations=config.max_iterations,
            on_progress=self.run.progress,
        )

    def covariance(self, estimate: "LatentClassFit") -> None:
        """Part of the estimate."""

    def found(self, estimate: "LatentClassFit", covariance: None) -> Found:
        return Found(
            link=estimate.link,
            loglik=estimate.loglik,
            sigma=estimate.sigma,
            sigma_se=estimate.sigma_se,
            alpha=estimate.alpha,
            n_parameters=estimate.n_parameters,
            optimiser=estimate.record,
            warnings=(*examine(self.ratings).warnings, *estimate.warnings),
            tables=latent_class_tables(self.ratings, estimate),
            yardstick=Yardstick(NOISELESS, origin=ABSOLUTE),
        )
