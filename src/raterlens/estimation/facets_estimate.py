"""An estimation of a facets model: what it is given, and what it ends in."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raterlens.base.arrays import Array, Mask
from raterlens.capability.links import Link
from raterlens.capability.yardstick import LARGEST_SLOPE
from raterlens.estimation.checkpoint import Checkpoint
from raterlens.estimation.optimiser import Estimate, Search, Space
from raterlens.estimation.shared_ratio import SharedTest
from raterlens.likelihood.marginal import FacetsMarginal
from raterlens.likelihood.panel_prior import PanelPosterior, PanelPrior, Spread
from raterlens.models.facets import FacetsModel
from raterlens.ratings.coded import Ratings

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True, slots=True, eq=False)
class Maximum:
    """Where climbs ended, and how many did."""

    objective: float
    parameters: Array
    found: int


@dataclass(frozen=True, slots=True)
class FacetsEstimate(Estimate[FacetsMarginal]):
    """Estimates of a facets model."""

    at_limit: Mask
    """Parameters that ran as far as they may; before centring, which moves slopes where items have theirs."""
    posterior: PanelPosterior | None = None
    """Over the spreads of the prior, on small panels."""
    shared: SharedTest | None = None
    """Whether raters share a second ability, where that was looked for."""
    spreads: tuple[Spread, ...] = ()
    """Findings about each interaction term, if the model has any."""
    maxima: tuple[Maximum, ...] = ()
    """The best and others that other starts led to, where there may be several."""

    @property
    def model(self) -> FacetsModel:
        return self.problem.model

    @property
    def raters_at_limit(self) -> Mask:
        """(raters,): whose slope or severity ran as far as it may."""
        model, n = self.model, self.model.n_raters
        slope, severity = (self.at_limit[model.blocks[name]] for name in ("slope", "severity"))
        if len(slope) < n:
            slope = np.abs(model.slope(self.parameters[model.blocks["slope"]])) >= LARGEST_SLOPE
        return np.asarray(slope | (severity if len(severity) == n else False))


@dataclass(frozen=True, slots=True)
class Where:
    """Where an estimation is carried out, and kept against interruption."""

    checkpoint: Checkpoint | None = None
    client: "Client | None" = None


@dataclass(frozen=True, slots=True)
class Known:
    """Knowledge of the parameters before the ratings are seen; NaN where there is none."""

    held: Array | None = None
    """Values of parameters that are not to be estimated."""
    begin: Array | None = None
    """Values to begin from."""
    allow_reversed: bool = False
    """Slopes may be negative."""
    prior: PanelPrior | None = None
    """Prior of raters in general; with it, slopes may be negative."""


@dataclass(frozen=True, slots=True)
class Task:
    """An estimation, all set."""

    ratings: Ratings
    link: Link
    problem: FacetsMarginal
    start: Array
    space: Space
    held: Mask
    search: Search
