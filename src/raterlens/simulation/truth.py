"""The truth behind simulated ratings, as a fit reports it."""

from dataclasses import dataclass, field

import numpy as np

from raterlens import capability
from raterlens.base.arrays import Array
from raterlens.capability.curves import curve_of
from raterlens.capability.links import get_link
from raterlens.capability.population import Normal

LATENT_CLASS = ("hrm", "dawid-skene")
"""Models in which every student-item has a true category."""


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """Parameters of a simulation; difficulties and thresholds sum to 0, and severities too where a fit centres them."""

    model: str
    link: str
    slope: Array
    """Per rater: a = ρ σ (TFM, GMF), 1 / noise (probit), how far apart the rater sees the categories (HRM,
    Dawid-Skene)."""
    severity: Array
    """Per rater: η, centred (TFM, GMF); threshold / noise (probit); the criterion (HRM, Dawid-Skene)."""
    difficulty: Array
    """δ, per item."""
    alpha: float
    ability: Array
    """θ, per student, as drawn or given: standardised only as far as the draw is."""
    thresholds: Array | None = None
    """τ of ordered scores, (1, steps) or (items, steps), each row of mean 0; None for pass/fail ratings."""
    scale: str = "rating scale"
    spread: float = np.nan
    """HRM: how strongly the true category follows ability; 0 for Dawid-Skene, where it does not."""
    halo: Array = field(default_factory=lambda: np.zeros(1))
    """τ, per rater: the spread of what all scores of a reading share besides ability."""

    @property
    def sigma(self) -> float:
        """The largest slope, the yardstick of ρ and κ (HRM: the spread of its second level)."""
        return self.spread if self.model in LATENT_CLASS else float(np.abs(self.slope).max())

    @property
    def rho(self) -> Array:
        """Discrimination relative to the yardstick: the best rater (TFM, GMF), or one without noise (probit).

        With true categories it is the capability at the best criterion, half-way between the categories.
        """
        if self.model in LATENT_CLASS:
            return capability.hrm(criterion=self.slope / 2, slope=self.slope, link=self.link)
        if self.model == "probit":
            return np.asarray(self.slope / np.sqrt(1 + self.slope**2))
        largest = np.abs(self.slope).max()
        return self.slope / largest if largest > 0 else np.zeros_like(self.slope)

    @property
    def kappa(self) -> Array:
        """κ-bar of every rater over standard normal abilities; 0 for all if no slope is above 0."""
        if self.model in LATENT_CLASS:
            return capability.hrm(criterion=self.severity, slope=self.slope, link=self.link)
        if self.sigma == 0:
            return np.zeros_like(self.slope)
        if self.thresholds is not None or self.halo.any():
            curve = curve_of(get_link(self.link), self.thresholds, graded=self.scale == "graded")
            students = Normal()
            most = students.densest if self.model == "probit" else students.best(curve, np.array(self.sigma))
            return students.rate(curve, self.slope, self.severity, self.halo**2) / most
        if self.model == "probit":
            return capability.probit(noise=1 / self.slope, threshold=self.severity / self.slope)
        return capability.gmf(rho=self.rho, eta=self.severity, sigma=self.sigma, link=self.link)
