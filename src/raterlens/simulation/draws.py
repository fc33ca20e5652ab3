"""The truth behind simulated ratings, and how each model draws a score from it."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import special

from raterlens import capability
from raterlens.base.arrays import Array
from raterlens.capability.curves import curve_of
from raterlens.capability.links import get_link
from raterlens.capability.population import Normal
from raterlens.ratings.groupings import readings_of
from raterlens.simulation.designs import Plan

Scores = NDArray[np.int16]

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


def facets(plan: Plan, truth: Truth, random: Generator, impressions: Generator) -> Scores:
    """S = a_r θ_n − η_r − δ_i + α + τ_r u, passed with probability F(S); ordered where the truth has thresholds."""
    student, rater, item = plan.student.codes, plan.rater.codes, plan.item.codes
    predictor = truth.slope[rater]
    predictor *= truth.ability[student]
    predictor -= truth.severity[rater]
    predictor -= (truth.difficulty - truth.alpha)[item]
    predictor += _halo(plan, truth, impressions)
    if truth.thresholds is None:
        chance = np.exp(get_link(truth.link).log_pass(predictor))
        return (random.random(len(chance)) < chance).astype(np.int16)
    return _ordered(predictor, item, truth, random)


def _halo(plan: Plan, truth: Truth, random: Generator) -> Array:
    """(ratings,): the rater's impression of the reading, shared by all its scores."""
    if not truth.halo.any():
        return np.zeros(1)
    rater = plan.rater.codes
    reading, number = readings_of(plan.student.codes, rater, plan.item.codes)
    return np.asarray(truth.halo[rater] * random.standard_normal(number)[reading])


def _ordered(predictor: Array, item: NDArray[np.int32], truth: Truth, random: Generator) -> Scores:
    """Adjacent categories: log P(k) − log P(k − 1) = S − τ_k. Graded: P(score ≥ k) = F(S − τ_k)."""
    assert truth.thresholds is not None
    tau = np.broadcast_to(truth.thresholds, (len(truth.difficulty), truth.thresholds.shape[1]))[item]
    steps = predictor[:, None] - tau
    if truth.scale == "graded":
        at_least = np.exp(get_link(truth.link).log_pass(steps))
    else:
        logits = np.concatenate([np.zeros((len(steps), 1)), np.cumsum(steps, axis=1)], axis=1)
        at_least = 1 - np.cumsum(special.softmax(logits, axis=1), axis=1)[:, :-1]
    return np.asarray(np.sum(random.random((len(steps), 1)) < at_least, axis=1), np.int16)


def probit(plan: Plan, truth: Truth, random: Generator, impressions: Generator) -> Scores:
    """A pass where θ_n − δ_i + noise_r ε exceeds the rater's threshold: S = a_r (θ_n − δ_i) − η_r."""
    seen = truth.ability[plan.student.codes] - truth.difficulty[plan.item.codes]
    predictor = truth.slope[plan.rater.codes] * seen - truth.severity[plan.rater.codes]
    predictor += _halo(plan, truth, impressions)
    chance = np.exp(get_link("probit").log_pass(predictor))
    return (random.random(len(chance)) < chance).astype(np.int16)


def hierarchical(plan: Plan, truth: Truth, random: Generator, impressions: Generator) -> Scores:
    """A true category ξ per student and item, common to all raters: P(y = 1 | ξ) = 1 − F(c_r − a_r ξ)."""
    level = truth.spread * truth.ability[:, None] - truth.difficulty + truth.alpha
    category = random.random(level.shape) < special.expit(level)
    seen = category[plan.student.codes, plan.item.codes]
    criterion = truth.severity[plan.rater.codes] - truth.slope[plan.rater.codes] * seen
    chance = np.exp(get_link(truth.link).log_fail(criterion))
    return (random.random(len(chance)) < chance).astype(np.int16)


RESPONSES: dict[str, Callable[[Plan, Truth, Generator, Generator], Scores]] = {
    "gmf": facets,
    "tfm": facets,
    "probit": probit,
    "hrm": hierarchical,
    "dawid-skene": hierarchical,
}
