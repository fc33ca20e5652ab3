"""How each model scores a plan: one draw per rating."""

from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import special

from raterlens.base.arrays import Array
from raterlens.capability.links import get_link
from raterlens.ratings.groupings import readings_of
from raterlens.simulation.designs import Plan
from raterlens.simulation.truth import Truth

Scores = NDArray[np.int16]


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
