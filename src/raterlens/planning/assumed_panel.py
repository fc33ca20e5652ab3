"""The panel that a plan assumes, and what one reading by it tells at each ability."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.random import default_rng
from scipy import linalg, special

from raterlens.base.arrays import Array, Indices
from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option
from raterlens.likelihood.nodes import Nodes
from raterlens.models.marks import Marks
from raterlens.models.terms.noise import OWN_NOISE, log_noise
from raterlens.models.terms.thresholds import RATER_THRESHOLD

if TYPE_CHECKING:
    from raterlens.inference.result import Result


# ------------------------------------------------------------------------------------------------- assumed panel


DEFINITIVE_SLOPE = 6.0
"""Slope of a definitive mark, seen as a rater's: almost without noise."""
_NOT_PLANNED = {
    "item_slope": "item slopes",
    "halo": "halo",
    "bias": "a shared bias",
    "population": "anchors that set the scale",
    "facet ": "further facets",
    "interaction ": "interactions",
}
"""Effects, by how their names begin, that a plan does not reckon with."""
# Thresholds of ordered scores lie between minus this and this, in logits.
_WIDEST = 1.5
# Of the mean abilities of groups.
_LEVELS = 9


OUT_OF_100 = Marks.of(101, 1.0)
"""The scale of marks that are planned without an earlier fit."""


@dataclass(frozen=True)
class Spreads:
    """How much raters and items differ, in logits or in marks, where no fit says it."""

    slope: float = 1.5
    slope_spread: float = 0.4
    severity_spread: float = 0.7
    difficulty_spread: float = 1.0
    threshold_spread: float = 0.0
    """Spread of each rater's own thresholds around those of all."""
    group_spread: float = 0.7
    """Spread of mean abilities of groups of students."""
    noise: float = 7.5
    """Usual standard deviation of a rater's marks around what it expects of a student."""
    noise_spread: float = 0.2
    """Spread of its logarithm."""

    @staticmethod
    def of(marks: bool, given: Mapping[str, float | None]) -> "Spreads":
        """Those that were given; of marks out of 100, the others are ten times as large as logits."""
        usual = Spreads(15.0, 4.0, 7.0, 10.0) if marks else Spreads()
        return replace(usual, **{name: value for name, value in given.items() if value is not None})

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            above = name in ("slope", "noise")
            if not np.isfinite(value) or value < 0 or (above and value == 0):
                remedy = "give a number above 0" if above else "give a number of at least 0"
                raise OptionError(Message(Option(name, value)), remedy)


@dataclass(frozen=True, slots=True, eq=False)
class AssumedPanel:
    """Log P(y) = y (a_r t - b_r - delta_i) - sum of the first y thresholds, up to a constant: adjacent categories; or
    y ~ N(a_r t - b_r - delta_i, noise_r^2) for marks, in units of the model."""

    slope: Array
    severity: Array
    difficulty: Array
    thresholds: Array | None
    """(1 or items, categories - 1); None for pass and fail."""
    common_slope: bool = False
    """All raters share one slope, which is then one parameter (TFM)."""
    own: Array | None = None
    """(raters, categories - 1): how far each rater's thresholds are from those of all; of marks (raters, 1), the
    logarithm of its noise."""
    own_spread: float = 0.0
    """Standard deviation of these."""
    marks: Marks | None = None
    """The scale of marks, where they are continuous."""
    means: Array = field(default_factory=lambda: np.zeros(0))
    """Mean abilities of groups of students, which are parameters; none where students are not in groups."""

    @property
    def n_raters(self) -> int:
        return len(self.slope)

    @property
    def n_items(self) -> int:
        return len(self.difficulty)

    @property
    def steps(self) -> int:
        return 1 if self.thresholds is None else self.thresholds.shape[1]

    @property
    def n_shared(self) -> int:
        """Parameters that no rater has alone: difficulties and thresholds."""
        return self.n_items + (0 if self.thresholds is None else self.thresholds.size)

    @property
    def contrasts(self) -> Array:
        """(categories - 1, parameters of each rater): of its own thresholds; of marks, one for its noise."""
        if self.marks is not None:
            return np.ones((1, 1))
        return np.zeros((self.steps, 0)) if self.own is None else linalg.helmert(self.steps).T

    @property
    def mark_precision(self) -> Array:
        """(raters,): one over the variance of a mark around what the rater expects."""
        assert self.own is not None
        return np.exp(-2 * self.own[:, 0])

    @property
    def size(self) -> int:
        """Parameters."""
        return len(self.known)

    def at(self, block: str) -> Indices:
        """Places of the parameters that all share, of raters' own thresholds or noise, or of the means of groups."""
        first = 2 * self.n_raters
        ends = first + np.cumsum([0, self.n_shared, self.n_raters * self.contrasts.shape[1], len(self.means)])
        place = ("shared", "own", "group").index(block)
        return np.arange(ends[place], ends[place + 1])

    @property
    def known(self) -> Array:
        """(parameters, parameters): information before any marks, which is that of drawn thresholds, or of noise drawn
        around what is usual."""
        own = self.at("own")
        size = int(2 * self.n_raters + self.n_shared + len(own) + len(self.means))
        around = np.eye(len(own)) - (0.0 if self.marks is None else 1 / self.n_raters)
        known = np.zeros((size, size))
        known[own[:, None], own] = around / max(self.own_spread, 1e-3) ** 2
        return known

    def with_definitive(self) -> "AssumedPanel":
        """With one rater more, who gives the definitive marks of seeded scripts."""
        return replace(
            self,
            slope=np.append(self.slope, DEFINITIVE_SLOPE),
            severity=np.append(self.severity, self.severity.mean()),
            own=None if self.own is None else np.append(self.own, np.zeros((1, self.steps)), axis=0),
        )


def stated(
    spreads: Spreads, n_raters: int, n_items: int, categories: int, seed: int, marks: Marks | None = None
) -> AssumedPanel:
    """Raters at the quantiles of normal distributions: a typical panel, not one that chance made. Slopes and severities
    are paired at random, and no slope is below a tenth of the usual one."""
    random = default_rng([seed, 1])
    order, own = random.permutation(n_raters), None
    if spreads.threshold_spread and categories > 2:
        own = spreads.threshold_spread * random.standard_normal((n_raters, categories - 1))
        own -= own.mean(axis=1, keepdims=True)
    slope = spreads.slope + spreads.slope_spread * _quantiles(n_raters)
    unit = 1.0 if marks is None else marks.unit
    panel = AssumedPanel(
        np.maximum(slope, 0.1 * spreads.slope) / unit,
        spreads.severity_spread * _quantiles(n_raters)[order] / unit,
        spreads.difficulty_spread * _quantiles(n_items) / unit,
        None if categories == 2 else np.linspace(-_WIDEST, _WIDEST, categories - 1)[None],
        own=own,
        own_spread=spreads.threshold_spread,
    )
    if marks is None:
        return panel
    noise = np.log(spreads.noise / unit) + spreads.noise_spread * random.permutation(_quantiles(n_raters))
    return replace(panel, own=noise[:, None], own_spread=spreads.noise_spread, marks=marks)


def means_of_groups(spreads: Spreads, number: int, seed: int) -> Array:
    """At the quantiles of a normal distribution: of few levels, as each takes tables of its own."""
    levels = spreads.group_spread * _quantiles(min(number, _LEVELS))
    return levels[default_rng([seed, 2]).permutation(number) % len(levels)]


def estimated(fit: "Result", raters: pl.Series | None = None) -> AssumedPanel:
    """The raters of an earlier fit as it found them, or others: those whom it does not know are its median rater."""
    known = fit.calibration
    if known is None or known.link != "logit":
        raise _no_plan(f"of model {fit.model!r} with link {fit.link!r}")
    for start, name in _NOT_PLANNED.items():
        if any(effect.startswith(start) for effect in known.effects):
            raise _no_plan(f"with {name}")
    if known.scale == "graded" or known.covariates:
        raise _no_plan(f"with {'covariates' if known.covariates else 'graded scores'}")
    thresholds = known.effects.get("threshold")
    if thresholds is not None and not np.isfinite(thresholds).all():
        raise _no_plan("whose items have different highest scores")
    labels = known.labels["rater"].cast(pl.String)
    slope, severity = (known.effects[name] for name in ("slope", "severity"))
    place = {label: code for code, label in enumerate(labels)}
    at = np.array([place.get(label, -1) for label in (labels if raters is None else raters.cast(pl.String))])
    panel = AssumedPanel(
        np.where(at < 0, np.median(slope), slope[at]),
        np.where(at < 0, np.median(severity), severity[at]),
        np.asarray(known.effects["difficulty"]),
        thresholds,
        known.model == "tfm",
    )
    own, usual, term = known.effects.get(RATER_THRESHOLD), 0.0, RATER_THRESHOLD
    if known.marks is not None:
        noise = log_noise(known.effects)
        own, usual, term = noise[:, None], float(np.median(noise)), OWN_NOISE
    if own is not None and (known.marks is not None or own.any()):
        rows = np.where(at[:, None] < 0, usual, own[at])
        panel = replace(panel, own=rows, own_spread=_spread(fit, term), marks=known.marks)
    return panel


def _no_plan(which: str) -> OptionError:
    remedy = "give one of 'gmf' or 'tfm' with link 'logit' and no more than that, or state spreads"
    return OptionError(f"a plan cannot rest on a fit {which}", remedy, option="fit")


def _spread(fit: "Result", term: str) -> float:
    """0 where raters are not told apart."""
    found = fit.table("spreads").filter(term=term)["spread"]
    return float(found.item()) if found.len() else 0.0


def _quantiles(n: int) -> Array:
    """n values that stand for a standard normal distribution, with its spread."""
    values = special.ndtri((np.arange(n) + 0.5) / n)
    return np.asarray(values / values.std() if n > 1 else values)


# ------------------------------------------------------------------------------------------------ reading tables


@dataclass(frozen=True, slots=True, eq=False)
class ReadingTables:
    """Q ability nodes; S + 1 sums that a reading can have; shared parameters are difficulties, then thresholds."""

    nodes: Nodes
    log_chance: Array
    """(raters, S + 1, Q): of each sum of scores"""
    log_partition: Array
    """(raters, Q): log P(sum) = sum a t - this, but for what does not depend on t"""
    score: Array
    """(raters, Q): expected sum of scores"""
    variance: Array
    """(raters, Q): of the sum of scores"""
    shared: Array
    """(raters, shared, Q): what the shared parameters' scores lose at each ability"""
    own: Array
    """(raters, contrasts, Q): the same of raters' own thresholds"""
    complete: Array
    """(raters, m, m) with m = 2 + shared + contrasts: information of a reading were ability known, averaged over
    abilities, in slope, severity, the shared parameters and the rater's own thresholds"""


def reading_tables(panel: AssumedPanel, nodes: Nodes) -> ReadingTables:
    """Tables of every rater of the panel."""
    t, weight = nodes.points, np.exp(nodes.log_weights)
    partition, chance, at_least = _scores(panel, t)
    score = at_least.sum(axis=2)
    shared = score
    if panel.thresholds is not None:
        own = at_least.reshape(panel.n_raters, -1, len(t))
        beyond = own if len(panel.thresholds) > 1 else at_least.sum(axis=1)
        shared = np.concatenate([score, beyond], axis=1)
    return ReadingTables(
        nodes,
        _log_chance_of_sums(chance),
        partition.sum(axis=1),
        score.sum(axis=1),
        _variance(at_least),
        shared,
        np.einsum("jc,rijq->rcq", panel.contrasts, at_least),
        _complete(panel, at_least, t, weight),
    )


def sum_variance(panel: AssumedPanel, t: Array) -> Array:
    """(raters, abilities): of the sum of scores."""
    return _variance(_scores(panel, t)[2])


def _scores(panel: AssumedPanel, t: Array) -> tuple[Array, Array, Array]:
    """Log partition (raters, items, Q), the chance of each category, and that of each step or more."""
    base = panel.slope[:, None] * t - panel.severity[:, None]
    logits = base[:, None] - panel.difficulty[:, None]  # (raters, items, Q)
    tau = np.zeros((1, 1)) if panel.thresholds is None else panel.thresholds
    tau = np.broadcast_to(tau, (panel.n_items, panel.steps)) + (
        0.0 if panel.own is None else panel.own[:, None]
    )
    steps = np.cumsum(logits[:, :, None] - tau[..., None], axis=2)
    steps = np.concatenate([np.zeros_like(steps[:, :, :1]), steps], axis=2)
    partition = np.logaddexp.reduce(steps, axis=2)
    chance = np.exp(steps - partition[:, :, None])
    return partition, chance, np.cumsum(chance[:, :, ::-1], axis=2)[:, :, ::-1][:, :, 1:]


def _variance(at_least: Array) -> Array:
    """E y^2 = sum_j (2 j - 1) P(y >= j)"""
    squared = np.einsum("j,rijq->riq", 2 * np.arange(at_least.shape[2]) + 1.0, at_least)
    return np.asarray((squared - at_least.sum(axis=2) ** 2).sum(axis=1))


def _log_chance_of_sums(chance: Array) -> Array:
    total = chance[:, 0]
    for item in range(1, chance.shape[1]):
        wider = np.zeros((len(total), total.shape[1] + chance.shape[2] - 1, total.shape[2]))
        for score in range(chance.shape[2]):
            wider[:, score : score + total.shape[1]] += total * chance[:, item, score][:, None]
        total = wider
    return np.asarray(np.log(np.maximum(total, 1e-300)))


def _complete(panel: AssumedPanel, at_least: Array, t: Array, weight: Array) -> Array:
    """Scores of each item's steps x are B x, B = t (slope), -1 (severity and its difficulty), -e_j (thresholds).

    The steps' covariance is Cov(1[y >= j], 1[y >= k]) = P(y >= max(j, k)) - P(y >= j) P(y >= k).
    """
    steps, items = panel.steps, panel.n_items
    larger = np.maximum.outer(np.arange(steps), np.arange(steps))

    def moment_of(power: int) -> Array:
        """(raters, items, steps, steps): the covariance times a power of ability, averaged over abilities."""
        weighted = at_least * (weight * t**power)
        return np.asarray(weighted.sum(axis=-1)[..., larger] - weighted @ at_least.swapaxes(-1, -2))

    size = 2 + panel.n_shared + panel.contrasts.shape[1]
    found = np.zeros((panel.n_raters, size, size))
    constant, linear = np.zeros((items, size, steps)), np.zeros((items, size, steps))
    linear[:, 0] = 1.0
    constant[:, 1] = -1.0
    constant[:, 2 + panel.n_shared :] = -panel.contrasts.T
    for item in range(items):
        constant[item, 2 + item] = -1.0
        if panel.thresholds is not None:
            first = 2 + items + (item * steps if len(panel.thresholds) > 1 else 0)
            constant[item, first : first + steps] = -np.eye(steps)
    powers, levers = [moment_of(power) for power in (0, 1, 2)], (constant, linear)
    for (i, left), (j, right) in product(enumerate(levers), repeat=2):
        found += np.einsum("ipj,rijk,isk->rps", left, powers[i + j], right, optimize=True)
    return found
