"""Expected scores of any rater and of the average one, and the raw and fair results of students."""

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.base.threads import in_blocks
from raterlens.capability.curves import Curve
from raterlens.capability.population import AbilityShape, over_readings
from raterlens.estimation.scoring import level_places, places_of
from raterlens.likelihood.nodes import Nodes
from raterlens.models.calibration import Calibration
from raterlens.models.registry import facets_spec
from raterlens.models.terms.rater_interactions import ITEM, block_of, interacting_facets
from raterlens.models.terms.rater_thresholds import RATER_THRESHOLD
from raterlens.models.terms.shape import SHAPE
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
    """(raters of the fit,): share of the highest score that an average student can expect"""

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


@dataclass(frozen=True, slots=True, eq=False)
class RaterEffects:
    """Slopes, severities and variances of the reading effect: of some raters, or of the average one."""

    slope: Array
    severity: Array
    halo: Array
    who: NDArray[np.integer] | None = None
    """Which raters these are, where they use the scale in their own ways; None of the average one."""

    def of(self, which: NDArray[np.integer]) -> "RaterEffects":
        """Those of some raters."""
        who = None if self.who is None else self.who[which]
        return RaterEffects(self.slope[which], self.severity[which], self.halo[which], who)

    def in_columns(self) -> "RaterEffects":
        """With an axis for abilities."""
        return replace(
            self, slope=self.slope[:, None], severity=self.severity[:, None], halo=self.halo[:, None]
        )


def rater_effects(known: Calibration) -> tuple[RaterEffects, RaterEffects]:
    """All raters; and the average of those who count in the average severity."""
    slope, severity = known.effects["slope"], known.effects["severity"]
    aside = known.panel().aside
    kept = ~aside if not aside.all() else np.ones_like(aside)
    halo = known.halo_of(slope)
    halo = np.zeros_like(slope) if halo is None else halo
    own = RATER_THRESHOLD in known.effects or known.marks is not None
    who = np.arange(len(slope)) if own else None
    return RaterEffects(slope, severity, halo, who), RaterEffects(
        *(each[kept].mean(keepdims=True) for each in (slope, severity, halo))
    )


def predictor_at(
    known: Calibration, raters: RaterEffects, item: NDArray[np.integer] | int, theta: Array
) -> Array:
    """S without further facets, which average to 0 and are the same for every rater."""
    difficulty = known.effects["difficulty"][item]
    stretch = np.exp(known.effects["item_slope"][item]) if known.item_slopes else 1.0
    weight = raters.slope if facets_spec(known.model).difficulty_on_ability_scale else 1.0
    return np.asarray(raters.slope * stretch * theta - raters.severity - weight * difficulty)


def _facets_panel(known: Calibration) -> Panel:
    every, average = rater_effects(known)
    chosen = spread_over(every.severity, MOST_RATERS)
    some, one = every.of(chosen).in_columns(), average.in_columns()
    items = spread_over(known.effects["difficulty"], MOST_ITEMS)
    mean, sd = known.effects.get("population", (0.0, 1.0))
    theta = mean + sd * _ABILITIES.points
    found, of_average = [], []
    for item in items:
        s, of_one = (predictor_at(known, raters, int(item), theta) for raters in (some, one))
        found.append(category_probabilities(known, int(item), s, some.halo, some.who))
        of_average.append(category_probabilities(known, int(item), of_one, one.halo)[0])
    # (raters, categories, abilities, items) -> states with items innermost
    p = np.stack(found, axis=-1).reshape(len(chosen), -1, len(theta) * len(items))
    q = np.stack(of_average, axis=-1).reshape(p.shape[1], -1)
    weights = np.exp(_ABILITIES.log_weights)
    if SHAPE in known.effects:
        weights = weights * np.exp(
            AbilityShape.of(*known.effects[SHAPE].tolist()).log_ratio(_ABILITIES.points)
        )
    lowest, *_, highest = known.values
    shares = (rater_scores(known, every) - lowest) / (highest - lowest)
    return Panel(p, q, weights / weights.sum(), len(items), shares)


def average_scores(known: Calibration, theta: Array) -> Array:
    """(abilities,): the mean score, as the file counts, that students of these abilities can expect from the average
    rater, over all items."""
    return _over_items(known, rater_effects(known)[1], theta)


def rater_scores(known: Calibration, raters: RaterEffects) -> Array:
    """(raters,): the mean score, as the file counts, that an average student can expect from each, over all items."""
    mean = float(known.effects.get("population", (0.0, 1.0))[0])
    return _over_items(known, raters.in_columns(), np.array([mean])).reshape(-1)


def marks_less(known: Calibration) -> Array:
    """(raters,): how much less an average student can expect from each than from the average rater, as the file
    counts."""
    every, average = rater_effects(known)
    return np.asarray(rater_scores(known, average) - rater_scores(known, every))


def _over_items(known: Calibration, raters: RaterEffects, theta: Array) -> Array:
    """(raters x abilities, or what their shapes give): expected mean scores over all items."""
    items = range(len(known.labels["item"]))
    one = raters.slope.ndim == 1
    halo = raters.halo[:, None] if one else raters.halo
    total = 0.0
    for item in items:
        s = predictor_at(known, raters, item, theta)
        p = category_probabilities(known, item, s[None] if one else s, halo, raters.who)
        total = total + np.einsum("rkq,k->rq", p, known.values)
    found = np.asarray(total / len(items))
    return found[0] if one else found


def category_probabilities(
    known: Calibration, item: int, s: Array, halo: Array, who: NDArray[np.integer] | None = None
) -> Array:
    """(raters, categories, abilities): probabilities of the scores; `who`: of these raters, each as it uses the
    scale."""
    label = str(known.labels["item"][item])
    if who is None:
        return _by_curve(known, known.curve(label), s, halo)
    halo = np.broadcast_to(halo, (len(s), halo.shape[-1]))
    rows = [
        _by_curve(known, known.curve(label, int(rater)), s[[place]], halo[[place]])
        for place, rater in enumerate(who)
    ]
    return np.concatenate(rows)


def _by_curve(known: Calibration, curve: Curve, s: Array, halo: Array) -> Array:
    reached = over_readings(lambda shift: curve.cumulative(s + shift)[0], halo)  # (steps, raters, abilities)
    most = len(known.scores) - 1
    ends = np.concatenate(
        [np.ones((1, *s.shape)), reached, np.zeros((most + 1 - len(reached), *s.shape))]
    )  # an item may have fewer scores than the others
    return np.moveaxis(ends[:-1] - ends[1:], 0, 1)


def rater_shifts(
    known: Calibration, ratings: Ratings, theta: Array, every: RaterEffects, average: RaterEffects
) -> tuple[Array, Array]:
    """(ratings,) twice, counted in scores: how much higher the score is expected to be than from the average rater, and
    how much it falls as the rater's severity rises by 1. `theta`: of each student of the ratings."""
    rater = places_of(ratings.raters, known.labels["rater"], "raters")
    item = places_of(ratings.items, known.labels["item"], "items")
    further, own_severity = _further(known, ratings), _interactions(known, ratings)
    shift, fall = np.empty(ratings.n_ratings), np.empty(ratings.n_ratings)

    def block(rows: slice) -> None:
        who, what = rater[ratings.rater[rows]], item[ratings.item[rows]]
        ability, own = theta[ratings.student[rows]], every.of(who)
        added = sum((effect[codes[rows]] for effect, codes in further), start=0.0)
        own_added = sum((effect[who, codes[rows]] for effect, codes in own_severity), start=added)
        gets, less, would_get = (
            over_readings(
                partial(_shifted, known, what, raters.who, predictor_at(known, raters, what, ability) - off),
                raters.halo,
            )
            for raters, off in ((own, own_added), (own, own_added + _STEP), (average, added))
        )
        shift[rows], fall[rows] = gets - would_get, (gets - less) / _STEP

    in_blocks(block, ratings.n_ratings, _BLOCK)
    return shift, fall


_Effects = list[tuple[Array, NDArray[np.integer]]]
"""Effects of levels, and the level of each rating."""


def _further(known: Calibration, ratings: Ratings) -> _Effects:
    """Effects of further facets."""
    named = ((f"facet {facet.name}", facet) for facet in ratings.facets)
    return [
        (known.effects[name][places_of(facet.labels, known.labels[name], "levels")], facet.codes)
        for name, facet in named
        if name in known.labels
    ]


def _interactions(known: Calibration, ratings: Ratings) -> _Effects:
    """(raters, levels) each: what a rater adds to its severity on an item, or on levels of other facets."""
    levels = dict([(ITEM, ratings.item), *((one.name, one.codes) for one in ratings.facets)])
    return [
        (known.effects[block_of(facet)][:, level_places(known, ratings, facet)], levels[facet])
        for facet in interacting_facets(known.effects)
    ]


def _shifted(
    known: Calibration,
    item: NDArray[np.integer],
    who: NDArray[np.integer] | None,
    s: Array,
    shift: Array | float,
) -> Array:
    return _expected(known, item, who, s + shift)


def _expected(
    known: Calibration, item: NDArray[np.integer], who: NDArray[np.integer] | None, s: Array
) -> Array:
    """Expected scores, each item, or rater, by its own thresholds where it has any."""
    thresholds = known.effects.get("threshold")
    own_items = thresholds is not None and len(thresholds) > 1
    if not own_items and who is None:
        return known.curve().mean(s) * (len(known.scores) - 1)
    found = np.empty_like(s)
    place = np.zeros_like(item) if who is None else who
    for one, rater in np.unique(np.stack([item if own_items else np.zeros_like(item), place]), axis=1).T:
        rows = (place == rater) & ((item == one) if own_items else True)
        steps = len(known.scores) - 1
        if thresholds is not None and own_items:
            steps = int(np.isfinite(thresholds[one]).sum())
        label = str(known.labels["item"][int(one)]) if own_items else None
        found[rows] = known.curve(label, None if who is None else int(rater)).mean(s[rows]) * steps
    return found


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
# Estimated severities and slopes vary by chance even where raters are equal. Each is drawn towards the panel's mean by
# v / (v + se²), v the variance between raters beyond that of the errors (DerSimonian and Laird 1986), unless the fit
# took raters for a sample already (`prior="panel"`).

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
        return np.asarray(_grades(self.raw, cuts) != _grades(self._in_whole_scores(self.fair), cuts))

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
        found, size = np.zeros(DRAWS), max(_MOST_NUMBERS // DRAWS, 1)
        for first in range(0, len(self.raw), size):
            rows = slice(first, first + size)
            some = replace(self, raw=self.raw[rows], n=self.n[rows])
            fair = some._in_whole_scores(self.fair[rows, None] + self.per_severity[rows] @ off)
            found += (_grades(some.raw, cuts)[:, None] != _grades(fair, cuts)).sum(axis=0)
        low, high = np.quantile(found, (0.025, 0.975)).round()
        return int(low), int(high)

    def _in_whole_scores(self, fair: Array) -> Array:
        unit = self.step / self.n.reshape(-1, *[1] * (fair.ndim - 1))
        return np.asarray(np.round(fair / unit) * unit)


def _grades(mean: Array, cuts: Array) -> Indices:
    return np.searchsorted(cuts, np.asarray(mean) + _ROUNDING, side="right")


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
    mean, width = known.effects.get("population", (0.0, 1.0))
    grid = np.linspace(mean - 8 * width, mean + 8 * width, 401)
    rise = np.interp(theta, grid, np.gradient(average_scores(known, grid), grid))
    found = _with_shift(ratings, unit * shift, np.abs(rise) * theta_se)
    return replace(found, per_severity=per_severity, severity_sd=sd)


def _with_shift(ratings: Ratings, shift: Array, error: Array) -> FairResults:
    n, raw = ratings.tally("student").n, ratings.mean_scores("student")
    moved = np.bincount(ratings.student, shift, ratings.n_students) / n
    return FairResults(ratings.students, n, ratings.score_step, raw, raw - moved, error)


def steadied(known: Calibration) -> tuple[RaterEffects, RaterEffects, Array]:
    """Raters' effects drawn towards the average rater as far as chance explains their differences; the average rater;
    and how uncertain the severities then are."""
    every, average = rater_effects(known)
    n = len(every.slope)
    if known.covariance is None:
        return every, average, np.zeros(n)
    variance = np.asarray(known.covariance.diagonal(), np.float64)[: 2 * n]
    own = np.where(np.isfinite(variance) & (variance > 0), variance, np.inf)
    if known.spread is not None or known.anchored:
        return every, average, np.sqrt(np.where(np.isfinite(own[n:]), own[n:], 0.0))
    slope, _ = _towards(every.slope, own[:n], float(average.slope[0]))
    severity, sd = _towards(every.severity, own[n:], float(average.severity[0]))
    return replace(every, slope=slope, severity=severity), average, sd


def _towards(values: Array, variance: Array, centre: float) -> tuple[Array, Array]:
    """Values drawn to the centre, and their errors then."""
    weight = 1 / variance
    if np.count_nonzero(weight) < 2:
        return values, np.where(np.isfinite(variance), np.sqrt(variance), 0.0)
    mean = weight @ values / weight.sum()
    beyond = weight @ (values - mean) ** 2 - (np.count_nonzero(weight) - 1)
    between = max(beyond / (weight.sum() - weight @ weight / weight.sum()), 0.0)
    share = between / (between + variance)
    return centre + share * (values - centre), np.sqrt(between * (1 - share))
