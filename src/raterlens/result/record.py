"""What a fit found: data only. `raterlens.facade.Fit` adds what can be done with it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from raterlens.base.errors import OptionError, choose
from raterlens.capability.yardstick import Yardstick
from raterlens.config import FitConfig
from raterlens.estimation.optimiser import Optimiser
from raterlens.models.calibration import Calibration
from raterlens.ratings.backend import Backend, as_came


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Result:
    """Estimates with their uncertainty, as dataframes of the kind that came in."""

    config: FitConfig
    """What was asked."""
    link: str
    loglik: float
    """Marginal log-likelihood at the estimates (its Laplace approximation for method `laplace`)."""
    sigma: float
    """Slope of the yardstick: how strongly the most discriminating rater responds to ability."""
    sigma_se: float
    alpha: float
    """Predictor of an average student, rater and item (0 where severity is absolute)."""
    n_parameters: int
    n_ratings: int
    n_students: int
    n_raters: int
    n_items: int
    optimiser: Optimiser
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    tables: Mapping[str, pl.DataFrame]
    backend: Backend = "polars"
    yardstick: Yardstick = field(default_factory=Yardstick)
    """What rho and kappa are relative to."""
    calibration: Calibration | None = None
    """What the model was estimated to be; None for models that are not facets models."""

    @property
    def model(self) -> str:
        return self.config.model

    @property
    def method(self) -> str:
        return self.config.method

    @property
    def covariance(self) -> str:
        """Where standard errors come from."""
        return self.config.covariance

    @property
    def converged(self) -> bool:
        return self.optimiser.converged

    def settled(self) -> dict[str, Any]:
        """Options that say what this fit found out, for fits that are not to find it out again."""
        if "shared" not in self.tables:
            return {}
        return {"shared": "yes" if self.tables["shared"]["found"][0] else "no"}

    @property
    def aic(self) -> float:
        return 2 * self.n_parameters - 2 * self.loglik

    @property
    def bic(self) -> float:
        """With the number of students: they, not single ratings, are independent."""
        return float(np.log(self.n_students)) * self.n_parameters - 2 * self.loglik

    @property
    def raters(self) -> Any:
        return as_came(self.tables["raters"], self.backend)

    @property
    def items(self) -> Any:
        return as_came(self.tables["items"], self.backend)

    @property
    def students(self) -> Any:
        return as_came(self.tables["students"], self.backend)

    @property
    def pieces(self) -> Any:
        """What each piece of work is worth, on the scale of ability, where pieces were told apart
        (`rl.read(..., piece=)`): student, piece, n, mean_score, quality, quality_se."""
        return as_came(self.table("pieces"), self.backend)

    @property
    def interactions(self) -> Any:
        """How much more severe than usual each rater is on each item, or level of a further facet, where these are
        terms of the model (`rl.fit(..., interactions=)`): rater, facet, level, n, mean_score, severity, severity_se.
        `table("interaction spreads")` has how much they vary, with a test."""
        return as_came(self.table("interactions"), self.backend)

    def table(self, name: str) -> pl.DataFrame:
        """`raters`, `items`, `students` and what else the model has (`thresholds`, `facets`, `covariates`) as a
        polars DataFrame, whatever kind came in."""
        return self.tables[choose("table", name, self.tables)]

    def calibrated(self, otherwise: str) -> Calibration:
        """What the model was estimated to be; an error that says what does not work where there is nothing."""
        if self.calibration is None:
            raise OptionError(
                f"model {self.model!r} has no slopes and severities: {otherwise}",
                "fit 'gmf' or 'tfm'",
                option="model",
            )
        return self.calibration
