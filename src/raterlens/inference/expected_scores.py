"""Expected scores of any rater and of the average one, and the raw and fair results of students."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy import sparse

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.base.threads import in_blocks
from raterlens.capability.population import AbilityShape
from raterlens.estimation.scoring import level_places, places_of
from raterlens.inference.measurement import variance_between
from raterlens.likelihood.nodes import Nodes
from raterlens.models.calibration import Calibration
from raterlens.models.term import Contexts
from raterlens.ratings.coded import Ratings

if TYPE_CHECKING:
    from raterlens.inference.result import Result


# ----------------------------------------------------------------------------------------------- expected scores


# Expected scores of each rater: probabilities of the scores over students and items, and for single ratings.
#
# A state is what a rating judges: an ability on an item, or in latent class models a true category of an item.

_ABILITIES = Nodes.equally_spaced(-4.0, 4.0, 0.4)
# Larger panels and item banks are represented by some of them, evenly spread over severity and difficulty.
MOST_RATERS, MOST_ITEMS = 400, 30
_BLOCK = 2**14
"""Ratings at a time: a dozen numbers of each stay in the cache of a core."""
_STEP = 1e-3
"""In severity, for its effect on scores"""
_ONE = np.zeros(1, dtype=np.int64)
"""The average rater, of whom there is one."""


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """Every rater's probabilities of the scores in every state."""

    probabilities: Array
    """(raters, categories, states); states are items within abilities (or true categories)"""
    average: Array
    """(categories, states): the average rater's"""
    ability_weights: Array
    n_items: int
    average_scores: Array
    """(raters of the fit,): mean score that an average student can expect, as the file counts; of pass and fail, the
    share of passes"""

    @property
    def categories(self) -> int:
        return int(self.probabilities.shape[1])

    @property
    def weights(self) -> Array:
        """(states,)"""
        return np.asarray(np.repeat(self.ability_weights, self.n_items) / self.n_items)

    def alike(self) -> "Panel":
        """A panel of two average raters."""
        return replace(self, probabilities=np.stack([self.average] * 2))

    def over_items(self, values: Array) -> Array:
        """(raters, states) -> (raters, abilities)"""
        return np.asarray(values.reshape(len(values), -1, self.n_items).mean(axis=2))


def panel_of(fit: "Result") -> Panel:
    known = fit.calibration
    return _latent_panel(fit) if known is None else _facets_panel(known)


# ------------------------------------------------------------------------------------------------ facets models


def _facets_panel(known: Calibration) -> Panel:
    chosen = spread_over(known.effects["severity"], MOST_RATERS)
    items = spread_over(known.effects["difficulty"], MOST_ITEMS)
    mean, sd = known.population
    theta, average = mean + sd * _ABILITIES.points, known.average()
    # States have items innermost.
    p, q = (
        np.moveaxis(_chances(one, raters, items, theta), 0, -1).reshape(len(raters), len(known.scores), -1)
        for one, raters in ((known, chosen), (average, _ONE))
    )
    weights = np.exp(_ABILITIES.log_weights)
    if known.shape is not None:
        weights = weights * np.exp(AbilityShape.of(*known.shape.tolist()).log_ratio(_ABILITIES.points))
    scores = rater_scores(known)
    if len(known.values) == 2:
        scores = (scores - known.values[0]) / np.ptp(known.values)
    return Panel(p, q[0], weights / weights.sum(), len(items), scores)


def average_scores(known: Calibration, theta: Array) -> Array:
    """(abilities,): the mean score, as the file counts, that students of these abilities can expect from the average
    rater, over all items."""
    return np.asarray(_over_items(known.average(), theta)[0])


def rater_scores(known: Calibration) -> Array:
    """(raters,): the mean score, as the file counts, that an average student can expect from each, over all items."""
    mean = known.population[0]
    return _over_items(known, np.array([mean]))[:, 0]


def marks_less(known: Calibration) -> Array:
    """(raters,): how much less an average student can expect from each than from the average rater, as the file
    counts."""
    return np.asarray(rater_scores(known.average()) - rater_scores(known))


def _over_items(known: Calibration, theta: Array) -> Array:
    """(raters, abilities): expected mean scores over all items."""
    n, n_items = len(known.effects["slope"]), len(known.labels["item"])
    found, size = np.zeros((n, len(theta))), max(1, _MOST_NUMBERS // (n * len(known.scores) * len(theta)))
    for first in range(0, n_items, size):
        items = np.arange(first, min(first + size, n_items))
        found += np.einsum("irkq,k->rq", _chances(known, np.arange(n), items, theta), known.values)
    return found / n_items


def _chances(known: Calibration, raters: Indices, items: Indices, theta: Array) -> Array:
    """(items, raters, categories, abilities): probabilities of the scores."""
    n, m = len(items), len(raters)
    found = known.rows(np.tile(raters, n), np.repeat(items, m)).chances(theta)
    return found.reshape(n, m, len(known.scores), -1)


def fitted_levels(
    known: Calibration, ratings: Ratings, contexts: Contexts
) -> tuple[Indices, Indices, dict[str, Indices]]:
    """Raters, items and levels of further facets of the contexts of ratings, by the codes of the fit."""

    def fitted(name: str, codes: Indices) -> Indices:
        return level_places(known, ratings, name).astype(np.int64)[codes]

    facets = {
        name: fitted(f"facet {name}", codes)
        for name, codes in zip(contexts.facet_sizes, contexts.facets, strict=True)
        if f"facet {name}" in known.labels
    }
    return fitted("rater", contexts.rater), fitted("item", contexts.item), facets


def rater_shifts(
    known: Calibration, ratings: Ratings, theta: Array, every: Calibration, average: Calibration
) -> tuple[Array, Array]:
    """(ratings,) twice, counted in scores: how much higher the score is expected to be than from the average rater, and
    how much it falls as the rater's severity rises by 1. `theta`: of each student of the ratings."""
    contexts = Contexts.of(ratings)
    of_each = contexts.places(ratings)
    rater, item, facets = fitted_levels(known, ratings, contexts)
    own, usual = every.rows(rater, item, facets), average.rows(np.zeros_like(rater), item, facets)
    shift, fall = np.empty(ratings.n_ratings), np.empty(ratings.n_ratings)

    def block(some: slice) -> None:
        row, ability = of_each[some], theta[ratings.student[some]]
        gets = own.mean_of(row, ability)
        shift[some] = gets - usual.mean_of(row, ability)
        fall[some] = (gets - own.mean_of(row, ability, _STEP)) / _STEP

    in_blocks(block, ratings.n_ratings, _BLOCK)
    return shift, fall


# ------------------------------------------------------------------------------------------- latent class models


def _latent_panel(fit: "Result") -> Panel:
    raters, prevalence = fit.table("raters"), fit.table("items")["prevalence"].to_numpy()
    passes = _passes(raters)
    chosen = spread_over(raters["eta"].to_numpy(), MOST_RATERS)
    p = np.stack([1 - passes[chosen], passes[chosen]], axis=1)  # (raters, scores, true categories)
    share = float(np.mean(prevalence))
    overall = passes @ np.array([1 - share, share])
    return Panel(p, p.mean(axis=0), np.array([1 - share, share]), 1, overall)


def category_shifts(fit: "Result", ratings: Ratings) -> Array:
    """(ratings,): how much likelier a pass is than from the average rater, given what the work deserves."""
    passes = _passes(fit.table("raters"))
    rater = places_of(ratings.raters, fit.table("raters")["rater"], "raters")
    truth = fit.table("truth").with_columns(pl.col("student", "item").cast(pl.String))
    keys = pl.DataFrame(
        {
            "student": ratings.students.cast(pl.String).gather(ratings.student),
            "item": ratings.items.cast(pl.String).gather(ratings.item),
        }
    )
    found = keys.join(truth, on=["student", "item"], how="left", maintain_order="left")
    deserved = found["probability"].to_numpy()
    off = passes - passes.mean(axis=0)
    own = off[rater[ratings.rater]]
    return np.asarray(own[:, 0] * (1 - deserved) + own[:, 1] * deserved)


def _passes(raters: pl.DataFrame) -> Array:
    """(raters, true categories): chance of a pass."""
    return np.stack([1 - raters["specificity"].to_numpy(), raters["sensitivity"].to_numpy()], axis=1)


def spread_over(values: Array, most: int) -> Indices:
    """Places of all values, or of this many evenly spread over their order."""
    if len(values) <= most:
        return np.arange(len(values))
    order = np.argsort(values, kind="stable")
    return np.sort(order[np.linspace(0, len(order) - 1, most).round().astype(int)])


# -------------------------------------------------------------------------------------------------- fair results


# Raw and fair results of students: the mean score as it stands, and with the raters' differences taken out.
#
# Were all ratings of a student given by the average rater, the mean score would move by what the model expects of the
# student's own raters less what it expects of the average one, both at the student's ability. The rest of the score,
# the student's own and luck, stays: raters who are alike change nobody's result.
#
# Estimated severities and slopes vary by chance even where raters are equal, and err together: the severity of a rater
# whose slope is too steep is too large as well. Both are drawn towards the average rater by T (T + V)^-1, V the
# covariance of their errors and T the variances between raters beyond these errors, unless the fit took raters for a
# sample already (`prior="panel"`).

DRAWS = 200
"""Panels drawn for the interval of the number of changed results."""
_MOST_NUMBERS = 2**22
"""Results that are drawn at a time"""
_ROUNDING = 1e-9
"""A mean score that misses a cut by less does so by rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class FairResults:
    """Raw and fair results of each student, on the scale of the file."""

    students: pl.Series
    n: Indices
    """Ratings of each"""
    step: float
    """Between neighbouring scores"""
    raw: Array
    fair: Array
    fair_se: Array
    per_severity: sparse.csr_array | None = None
    """(students, raters): how much a mean score falls as a rater's severity rises by 1"""
    severity_sd: Array | None = None
    """(raters,): how uncertain severities are, drawn towards the mean as they are"""

    def changed(self, cuts: Array) -> Mask:
        """(students,): whether raw and fair result lie on different sides of a cut.

        Fair results count in whole scores over all ratings of a student, as raw ones do: a result on the cut is not
        moved below it by a fraction of a score.
        """
        fair_passes = self.fair[:, None] >= self._needed(cuts)
        return np.asarray((fair_passes != self._passed(cuts)).any(axis=1))

    def changed_interval(self, cuts: Array) -> tuple[int, int] | None:
        """95 % interval of the number of changed results, from the uncertainty of severities; None where that is not
        known."""
        if self.per_severity is None or self.severity_sd is None:
            return None
        half = np.random.default_rng(0).standard_normal((len(self.severity_sd), DRAWS // 2))
        # Each with its opposite, and to raters in the order of what is known of them: neither turning scores round nor
        # another order of the raters changes the numbers.
        order = np.argsort(self.severity_sd, kind="stable")
        off = np.empty((len(order), DRAWS))
        off[order] = np.concatenate([half, -half], axis=1) * self.severity_sd[order, None]
        off -= off.mean(axis=0)  # severities count from the average rater's
        short, passed = self._needed(cuts) - self.fair[:, None], self._passed(cuts)
        # Only students whom some draw may carry across a cut have to be drawn.
        reach = abs(self.per_severity) @ np.abs(off).max(axis=1)
        near = np.flatnonzero((np.abs(short) <= reach[:, None]).any(axis=1))
        far = self.changed(cuts)
        far[near] = False
        found, size = np.full(DRAWS, np.count_nonzero(far)), max(_MOST_NUMBERS // DRAWS, 1)
        for first in range(0, len(near), size):
            some = near[first : first + size]
            beyond = (self.per_severity[some] @ off)[:, None] >= short[some, :, None]
            found += (beyond != passed[some, :, None]).any(axis=1).sum(axis=0)
        low, high = np.quantile(found, (0.025, 0.975)).round()
        return int(low), int(high)

    def _passed(self, cuts: Array) -> Mask:
        """(students, cuts): whether the raw result is on the cut or above it."""
        return np.asarray(self.raw[:, None] + _ROUNDING >= cuts)

    def _needed(self, cuts: Array) -> Array:
        """(students, cuts): the fair result from which on the nearest whole score is on the cut or above it."""
        unit = (self.step / self.n)[:, None]
        return np.asarray((np.ceil((cuts - _ROUNDING) / unit) - 0.5) * unit)


def fair_results(fit: "Result", ratings: Ratings) -> FairResults:
    """Results of the students of the fit."""
    if fit.calibration is None:
        shift = category_shifts(fit, ratings)
        return _with_shift(ratings, shift, np.full(ratings.n_students, np.nan))
    table = fit.table("students")
    place = places_of(ratings.students, table["student"], "students")
    theta, error = (table[name].cast(pl.Float64).to_numpy()[place] for name in ("theta", "theta_se"))
    return results_at(fit.calibration, ratings, theta, error)


def results_at(known: Calibration, ratings: Ratings, theta: Array, theta_se: Array) -> FairResults:
    """Results of students with these abilities and their errors."""
    every, average, sd = steadied(known)
    shift, fall = rater_shifts(known, ratings, theta, every, average)
    unit = known.score_step
    n, rater = ratings.tally("student").n, places_of(ratings.raters, known.labels["rater"], "raters")
    per_severity = sparse.csr_array(
        (unit * fall / n[ratings.student], (ratings.student, rater[ratings.rater])),
        shape=(ratings.n_students, len(sd)),
    )
    mean, width = known.population
    grid = np.linspace(mean - 8 * width, mean + 8 * width, 401)
    rise = np.interp(theta, grid, np.gradient(average_scores(known, grid), grid))
    found = _with_shift(ratings, unit * shift, np.abs(rise) * theta_se)
    return replace(found, per_severity=per_severity, severity_sd=sd)


def _with_shift(ratings: Ratings, shift: Array, error: Array) -> FairResults:
    n, raw = ratings.tally("student").n, ratings.mean_scores("student")
    moved = np.bincount(ratings.student, shift, ratings.n_students) / n
    return FairResults(ratings.students, n, ratings.score_step, raw, raw - moved, error)


def steadied(known: Calibration) -> tuple[Calibration, Calibration, Array]:
    """Raters' effects drawn towards the average rater as far as chance explains their differences; the average rater;
    and how uncertain the severities then are."""
    average, slope, severity = known.average(), known.effects["slope"], known.effects["severity"]
    n = len(slope)
    if known.covariance is None:
        return known, average, np.zeros(n)
    variance = np.asarray(known.covariance.diagonal(), np.float64)[: 2 * n].reshape(2, n).T
    estimated = np.isfinite(variance) & (variance > 0)
    if known.spread is not None or known.anchored:
        return known, average, np.sqrt(np.where(estimated, variance, 0.0))[:, 1]
    centre = np.array([np.arcsinh(average.effects["slope"][0]), average.effects["severity"][0]])
    # A slope that ran to its limit is not known: it is the average one, for the same ability at which half pass.
    ran = np.zeros(n, bool) if known.at_limit is None else known.at_limit
    moved = np.where(ran & (slope > 0), average.effects["slope"][0] / np.where(slope > 0, slope, 1.0), 1.0)
    severity, variance = severity * moved, variance * np.column_stack([np.ones(n), moved**2])
    estimated[:, 0] &= ~ran
    # Slopes on a scale on which steep ones are known about as well as others.
    rise = 1 / np.sqrt(1 + slope**2)
    error = np.zeros((n, 2, 2))
    error[:, 0, 0], error[:, 1, 1] = np.where(estimated, variance * rise[:, None] ** [2, 0], _UNKNOWN).T
    both = np.asarray(known.covariance.diagonal(n), np.float64)[:n] * rise
    error[:, 0, 1] = error[:, 1, 0] = np.where(estimated.all(axis=1), both, 0.0)
    values = np.column_stack([np.arcsinh(slope), severity])
    drawn, sd = _towards(values, error, centre, estimated & ~ran[:, None])
    effects = {**known.in_logits().effects, "slope": np.sinh(drawn[:, 0]), "severity": drawn[:, 1]}
    return replace(known, effects=effects, covariance=None), average, sd[:, 1]


_UNKNOWN = 1e9
"""Variance of what was not estimated."""


def _towards(values: Array, error: Array, centre: Array, usual: Mask) -> tuple[Array, Array]:
    """(raters, effects) drawn to the centre, and their standard deviations then; `error`: their covariances; `usual`:
    those by which it is judged how much raters differ."""
    own = np.diagonal(error, axis1=1, axis2=2)
    between = np.diag([variance_between(values[some, k], own[some, k]) for k, some in enumerate(usual.T)])
    share = between @ np.linalg.pinv(error + between, hermitian=True)
    left = np.diagonal(between - share @ between, axis1=1, axis2=2)
    return centre + np.einsum("rij,rj->ri", share, values - centre), np.sqrt(np.maximum(left, 0.0))
