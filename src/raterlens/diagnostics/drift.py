"""Drift: when each rater changed, each rater by period, changes since an earlier fit, and alarms during the marking."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special

from raterlens.base.arrays import NORMAL_95, Array, Indices
from raterlens.base.text import counted, shortened
from raterlens.diagnostics.rater_effects import LEVEL, adjusted, common, two_sided, unit_of
from raterlens.diagnostics.residuals import Residuals, residuals
from raterlens.inference.result import Result
from raterlens.ratings.coded import Ratings
from raterlens.ratings.groupings import moment_words, order_of_two, time_of

if TYPE_CHECKING:
    from raterlens.config import FitOptions
    from raterlens.fitting.fit import Fit


# -------------------------------------------------------------------------------------------------------- change


# Change: has a rater's severity or discrimination changed over time, since when, by how much, and how surely?
#
# At each moment that a change could have come, the score of "severity (or slope) differs from here on" is compared with
# its standard deviation; what the rater's severity and slope as a whole have absorbed is taken out, and a change of
# severity out of that of slope. Weighted by that deviation, these scores are a Brownian bridge along time where nothing
# changes: the largest excursion is the test (Kolmogorov's distribution, exact as ratings grow and cautious before).
#
# Their squares are twice the log-likelihood that a change at each moment would gain. The likeliest moment gains most,
# and the moments whose gain is at most 7.35 below are a 95 % confidence set: the true one falls short by twice the
# maximum of W(s) - |s| / 2, W a two-sided Wiener process, which stays below x with probability (1 - exp(-x / 2))²
# (Siegmund 1988). What a steady trend would gain tells a sudden change from a gradual one.

STEPS = 100
"""A rater's ratings in time go into this many steps, between which a change could have come."""
SUDDEN, GRADUAL, UNCLEAR = "sudden", "gradual", "unclear"

# Of time, in each of which students may differ from those of others.
_STRETCHES = 20
# Ten or so ratings of middling work. With less, one rating alone would decide.
_LEAST_INFORMATION = 2.0
# Share of a rater's information on either side of a change: with less, single ratings decide.
_EDGE = 0.05
# Gain that moments of the confidence set may lack: 7.35.
_WITHIN = float(-2 * np.log(1 - np.sqrt(0.95)))
# A step has the choice of moments: only from this lead over a trend on is a change called sudden. In simulations of
# either (1.5 logits at once, 2.5 bit by bit, 500 ratings) one in twenty is taken for the other.
_LEAD = 5.0


def change(found: Residuals, time: NDArray[np.integer], labels: pl.Series) -> pl.DataFrame:
    """A row per rater: what changed of severity, and (columns `slope_...`) of discrimination.

    `since`, with the 95 % confidence interval `since_low` to `since_high`: the first time after the change. `shift`:
    how much more severe since, in the units of the predictor. `course`: whether severity changed all at once.
    `slope_before` and `slope_after`: discrimination relative to the typical rater's (the panel's median), and
    `slope_shift` their difference.
    """
    ratings, n = found.ratings, found.ratings.n_raters
    order, cell = _timeline(ratings.rater, n, time, len(labels))
    severity, sharpness = _paths(found, cell, *in_common(found, time, len(labels)))
    typical = float(np.median(found.model.slopes))
    typical = typical if typical > 0 else np.nan
    own, slope = found.model.slopes / typical, sharpness.found(typical)
    before = sharpness.share[np.arange(n), slope["since"]]
    slope |= {"before": own - (1 - before) * slope["shift"], "after": own + before * slope["shift"]}
    # Each rater's first rating after a step.
    until = np.cumsum(np.bincount(cell, minlength=n * STEPS))
    columns: dict[str, object] = {"rater": ratings.raters, "n": np.bincount(ratings.rater, minlength=n)}
    for prefix, values in (("", severity.found()), ("slope_", slope)):
        known = np.isfinite(values["p"])
        for name, value in values.items():
            columns[prefix + name] = value
            if name.startswith("since"):
                first = order[np.minimum(until[np.arange(n) * STEPS + value], len(order) - 1)]
                place = pl.Series(np.where(known, time[first], -1))
                columns[prefix + name] = labels.gather(place.replace(-1, None))
        if not prefix:
            columns["course"] = severity.course()
    return pl.DataFrame(columns)


def _timeline(
    rater: NDArray[np.integer], n: int, time: NDArray[np.integer], n_times: int
) -> tuple[Indices, Indices]:
    """Ratings in the order of rater and time; and, in their own order, rater x STEPS + step of each."""
    order = order_of_two(rater, n, time, n_times)
    count = np.bincount(rater, minlength=n)
    first = np.cumsum(count) - count
    cell = np.empty(len(order), np.int64)
    whose, moment = rater[order].astype(np.int64), time[order]
    # Between equal times the order is arbitrary: they are of one step.
    new = np.append(True, (np.diff(whose) != 0) | (np.diff(moment) != 0))
    place = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    cell[order] = whose * STEPS + (place - first[whose]) * STEPS // count[whose]
    return order, cell


@dataclass(frozen=True, slots=True, eq=False)
class _Path:
    """One parameter along time; (raters, steps) where nothing else is said."""

    score: Array
    """Score of a rise of the parameter after each step"""
    information: Array
    """Its information if abilities were known; 0 where a change cannot be seen"""
    share: Array
    """Share of all information, up to each step"""
    total: Array
    """(raters,) information of the whole, were abilities known"""
    model: Array
    """(raters,) the same with abilities unknown"""
    variance: Array
    """(raters,) of the score of the whole"""

    def gain(self) -> Array:
        """Twice the log-likelihood that a change after each step would gain; -inf where it cannot be told."""
        unit = self.variance / np.maximum(self.total, 1e-12)
        possible = self.information > 1e-9 * self.total[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(possible, self.score**2 / (self.information * unit[:, None]), -np.inf)

    def found(self, unit: float = 1.0) -> dict[str, Any]:
        """By name, sizes divided by `unit`; moments as steps."""
        gain = self.gain()
        best = gain.max(axis=1)
        known = (self.model >= _LEAST_INFORMATION) & np.isfinite(best)
        bridge = np.maximum(gain, 0.0) * np.maximum(self.share * (1 - self.share), 0.0)
        p = np.where(known, special.kolmogorov(np.sqrt(bridge.max(axis=1))), np.nan)
        at = np.argmax(gain, axis=1)
        likely = gain >= (best - _WITHIN)[:, None]
        score, information = (values[np.arange(len(at)), at] for values in (self.score, self.information))
        scale = np.maximum(self.total, 1e-12)
        with np.errstate(invalid="ignore", divide="ignore"):
            shift = np.where(known, score / (information * self.model / scale), np.nan)
            se = np.where(known, np.sqrt(self.variance * scale / information) / self.model, np.nan)
        return {
            "since": at,
            "since_low": np.argmax(likely, axis=1),
            "since_high": STEPS - 1 - np.argmax(likely[:, ::-1], axis=1),
            "shift": shift / unit,
            "shift_se": se / unit,
            "p": p,
            "p_adjusted": adjusted(p),
        }

    def course(self) -> list[str]:
        """(raters,) sudden, gradual or unclear: the gain of the best step beside that of a steady trend."""
        before = np.concatenate([np.zeros_like(self.share[:, :1]), self.share[:, :-1]], axis=1)
        u, weight = (self.share + before) / 2, self.share - before
        mean = np.sum(weight * u, axis=1, keepdims=True)
        spread = np.sum(weight * (u - mean) ** 2, axis=1) * self.variance
        # A trend is a sum of small steps.
        score = np.sum(self.score[:, :-1] * np.diff(u, axis=1), axis=1)
        lead = self.gain().max(axis=1) - score**2 / np.maximum(spread, 1e-12)
        return [SUDDEN if one > _LEAD else GRADUAL if one < 0 else UNCLEAR for one in lead]


def in_common(found: Residuals, time: NDArray[np.integer], n_times: int) -> tuple[Array, Array]:
    """(ratings,) twice: score and tilt of each rating without what holds for all raters at a time. Students who come in
    later may be abler, or differ more, than those before, which is no rater's change: in each stretch of time, with
    about as many ratings, abilities may be shifted and stretched as most raters see them."""
    n, info, theta = found.ratings.n_raters, found.information, found.theta
    count = np.bincount(time, minlength=n_times)
    stretch = ((np.cumsum(count) - count) * _STRETCHES // len(time))[time]
    cell, size = found.ratings.rater.astype(np.int64) * _STRETCHES + stretch, n * _STRETCHES
    # A shift of abilities acts through the rater's slope.
    slope, of_level = np.repeat(found.model.slopes, _STRETCHES), np.arange(size) % _STRETCHES
    a, b, c = (np.bincount(cell, info * theta**power, size) * slope**2 for power in range(3))
    score, tilt = (np.bincount(cell, values, size) * slope for values in (found.score, found.tilt))
    every = np.maximum(np.bincount(of_level, a, _STRETCHES), 1e-12)
    middle = np.bincount(of_level, b, _STRETCHES) / every
    at = middle[of_level]
    shift = common(score, a, of_level, _STRETCHES)
    scale = common(tilt - at * score, c - 2 * at * b + at**2 * a, of_level, _STRETCHES)
    level = shift - scale * middle
    taken = info * found.model.slopes[found.ratings.rater] * (level[stretch] + scale[stretch] * theta)
    return found.score - taken, found.tilt - theta * taken


def _paths(found: Residuals, cell: Indices, score: Array, tilt: Array) -> Iterator[_Path]:
    """Severity, and slope with changes of severity taken out."""
    n, info, theta = found.ratings.n_raters, found.information, found.theta
    a, b, c, u, v = (
        np.cumsum(np.bincount(cell, values, n * STEPS).astype(float).reshape(n, STEPS), axis=1)
        for values in (info, info * theta, info * theta**2, score, tilt)
    )
    a_all = np.maximum(a[:, -1:], 1e-12)
    # Sums of information (1, away; away, away²) and of scores; at the end b is 0, as abilities are centred.
    centre = b[:, -1:] / a_all
    b, c, v = b - centre * a, c - 2 * centre * b + centre**2 * a, v - centre * u
    c_all = np.maximum(c[:, -1:], 1e-12)
    u_all, v_all = u[:, -1:], v[:, -1:]
    u, v = u - a / a_all * u_all - b / c_all * v_all, v - b / a_all * u_all - c / c_all * v_all
    own, both, slope = (
        a - a**2 / a_all - b**2 / c_all,
        b - a * b / a_all - b * c / c_all,
        c - b**2 / a_all - c**2 / c_all,
    )
    inner = (np.abs(a / a_all - 0.5) < 0.5 - _EDGE) & (np.abs(c / c_all - 0.5) < 0.5 - _EDGE)
    inner &= own > 1e-9 * a_all
    lever = np.where(inner, both / np.where(inner, own, 1.0), 0.0)

    pairs, lost = found.pairs, found.lost
    centre_of_pair = centre[pairs.rater, 0]
    beyond = (found.ability_of_pair - centre_of_pair) ** 2
    tilt = found.tilt_of_pair - centre_of_pair * found.score_of_pair
    for score, information, done, missing, of_pair in (
        (u, own, a, lost, found.score_of_pair),
        (lever * u - v, slope - lever * both, c, lost * beyond, tilt),
    ):
        total = done[:, -1]
        model = np.maximum(total - np.bincount(pairs.rater, missing, n), 0.0)
        # Where ratings vary more than the model says (a halo, say), what is seen over students counts.
        variance = np.maximum(model, np.bincount(pairs.rater, of_pair**2, n))
        share = done / np.maximum(total, 1e-12)[:, None]
        yield _Path(score, np.where(inner, information, 0.0), share, total, model, variance)


# ------------------------------------------------------------------------------------------------------- periods


@dataclass(frozen=True, slots=True, eq=False)
class Periods:
    """A fit, its ratings, and the period of each of them."""

    fit: "Fit"
    ratings: Ratings
    period: NDArray[np.int32]
    names: pl.Series

    def fitted(self, only: Sequence[str] | None = None) -> pl.DataFrame:
        """A row for every rater and period: n, rho, eta and kappa with standard errors and 95 % intervals.

        The ratings are fitted again with each rater's periods as raters of their own, items (and facets and
        thresholds) held at the fit's estimates, so that all numbers are on its scale; error rates of latent class
        models need none. Where `only` names raters, the others are held at the fit's estimates, too: thousands of
        raters in periods would take minutes.
        """
        fit, ratings, n = self.fit, self.ratings, len(self.names)
        names = ratings.raters.cast(pl.String)
        followed = np.ones(len(names), bool) if only is None else names.is_in(list(only)).to_numpy()
        periods = np.where(followed[ratings.rater], self.period, 0)
        kept, place = np.unique(ratings.rater.astype(np.int64) * n + periods, return_inverse=True)
        rater, period = ratings.raters.gather(kept // n), self.names.gather(kept % n)
        rows = followed[kept // n]
        labels = pl.Series(
            "rater",
            [f"{r} in {p}" if own else str(r) for r, p, own in zip(rater, period, rows, strict=True)],
        )
        periods_as_raters = replace(ratings, rater=place.astype(np.int32), raters=labels)
        table = fit.refit(periods_as_raters, **self._held()).table("raters")
        return (
            pl.DataFrame({"rater": rater, "period": period})
            .hstack(table.select("n", *_with_interval("rho"), *_with_interval("eta"), "^kappa.*$"))
            .with_columns(pl.col("rho_low").clip(lower_bound=0.0))
            .filter(pl.Series(rows))
        )

    def _held(self) -> "FitOptions":
        """Options that keep the numbers on the scale of the whole: its yardstick, and all else that was estimated.
        Intervals are wanted even where the fit did without, and some of its covariances are not offered here."""
        fit = self.fit
        errors: FitOptions = {"standard_errors": True, "covariance": "observed"}
        if fit.calibration is None:
            return errors
        # Method `hl` can hold nothing. The yardstick is that of the anchoring fit, who may not be a rater here.
        method = "laplace" if fit.method == "laplace" else "mml"
        scale: FitOptions = {"population": fit.yardstick.population, "origin": -fit.alpha}
        unset: FitOptions = {"reference": None, "prior": None, "covariates": None}
        return {**errors, **scale, **unset, "method": method, "anchors": fit}


def _with_interval(name: str) -> tuple[pl.Expr, ...]:
    value, se = pl.col(name), pl.col(f"{name}_se")
    ends = (("low", -NORMAL_95), ("high", NORMAL_95))
    return value, se, *((value + times * se).alias(f"{name}_{end}") for end, times in ends)


# --------------------------------------------------------------------------------------------------- earlier fit


COMPARED = {"sharpness": "sharpness", "standard": "passes", "kappa": "kappa"}
COMPARED |= {"severity": "eta", "discrimination": "rho"}
"""Measures in which two runs are compared, with their columns."""

_SAME = 1e-6
_NUMBERS = {"before": pl.Float64, "now": pl.Float64, "clear": pl.Boolean}
_CHANGED = {"rater": pl.String, "measure": pl.String, **_NUMBERS}


def changes(now: Result, then: Result, measures: tuple[str, ...]) -> pl.DataFrame:
    """A row per rater of both fits and measure: rater, measure, before, now, clear.

    A change is clear where chance is ruled out among all raters (Benjamini-Hochberg, 5 %). The ratings of the two runs
    are taken for independent, unless those of the earlier one are part of the later one's (`extends`). Severity,
    discrimination and standard are each run's own, relative to its average rater or its yardstick; sharpness is not.
    """
    one, two = (fit.table("raters").with_columns(pl.col("rater").cast(pl.String)) for fit in (then, now))
    two = two.join(one.select("rater"), on="rater", how="semi", maintain_order="left")
    one = two.select("rater").join(one, on="rater", how="left", maintain_order="left")
    part = extends(now, then)
    more = np.maximum(two["n"].to_numpy() / one["n"].to_numpy() - 1, 0.0)
    found = [pl.DataFrame(schema=_CHANGED)]
    for measure in measures:
        column = COMPARED[measure]
        before, after = (run[column].cast(pl.Float64).to_numpy() for run in (one, two))
        errors = [_errors(run, column) for run in (one, two)]
        # From an estimate to one on the same ratings and more, the variance of the difference is what the variance has
        # lost; by the later error alone, as the difference of two estimated ones would waver.
        spread = errors[1] * np.sqrt(more) if part else np.hypot(*errors)
        z = np.divide(after - before, spread, out=np.full(len(spread), np.nan), where=spread > 0)
        columns = {"before": before, "now": after, "clear": adjusted(two_sided(z)) <= LEVEL}
        found.append(two.select("rater", pl.lit(measure).alias("measure")).with_columns(**columns))
    return pl.concat(found)


def extends(now: Result, then: Result) -> bool:
    """Whether the earlier fit was of the first of the later one's ratings: all its students and raters are here, and
    the ratings that they have more could make up the sums of their scores."""
    low, high = (0.0, 1.0) if now.calibration is None else now.calibration.values[[0, -1]].tolist()
    for role in ("student", "rater"):
        columns = (pl.col(role).cast(pl.String), "n", (pl.col("n") * pl.col("mean_score")).alias("total"))
        one, two = (fit.table(f"{role}s").select(columns) for fit in (then, now))
        both = one.join(two, on=role, suffix="_now")
        more = both.select(n=pl.col("n_now") - pl.col("n"), total=pl.col("total_now") - pl.col("total"))
        possible = pl.col("total").is_between(low * pl.col("n") - _SAME, high * pl.col("n") + _SAME)
        if both.height < one.height or not more.select((possible & (pl.col("n") >= 0)).all()).item():
            return False
    return True


def _errors(raters: pl.DataFrame, column: str) -> Array:
    """Standard errors, or what symmetric intervals say they are; NaN where there are neither."""
    if f"{column}_se" in raters.columns:
        return raters[f"{column}_se"].cast(pl.Float64).to_numpy()
    if f"{column}_high" not in raters.columns:
        return np.full(raters.height, np.nan)
    low, high = (raters[f"{column}_{end}"].cast(pl.Float64).to_numpy() for end in ("low", "high"))
    return np.asarray((high - low) / (2 * NORMAL_95))


def moved(measure: str, before: float, now: float, *, ordered: bool = False) -> str:
    """Word a change of one measure.

    Examples
    --------
    >>> moved("sharpness", 0.71, 0.52), moved("standard", 0.47, 0.52)
    ('sharpness 0.52 (before: 0.71)', 'passes 52 of 100 where the average rater passes 50 (before: 47)')
    """
    if measure != "standard":
        return f"{measure} {now:.2f} (before: {before:.2f})"
    of_100 = (
        f"gives the middle mark or more to {100 * now:.0f} of 100, the average rater to 50"
        if ordered
        else f"passes {100 * now:.0f} of 100 where the average rater passes 50"
    )
    return f"{of_100} (before: {100 * before:.0f})"


def in_words(found: pl.DataFrame, *, ordered: bool = False) -> list[str]:
    """Changes that chance does not explain: "AM: sharpness 0.52 (before: 0.71)"."""
    return [
        f"{row['rater']}: {moved(row['measure'], row['before'], row['now'], ordered=ordered)}"
        for row in found.filter("clear").iter_rows(named=True)
    ]


# -------------------------------------------------------------------------------------------------- drift alarms


# Drift alarms that stay valid however often one looks.
#
# For each rater the readings come in the order of time, each with its score u in (minus) severity and its information
# v. A change after reading j moves the mean of what follows: with U and V the sums of u and v, D = U_after / V_after -
# U_before / V_before has variance s² = 1 / V_before + 1 / V_after where nothing changes, whatever the rater's severity.
# The likelihood ratio of a change by d,
#
#     E_jk = exp((d D - d² / 2) / s²),   averaged over d = +-1 (weight 0.7) and +-0.5 logits (0.3),
#
# is a martingale in k of mean 1 where nothing changes, and so is its mixture over j with weights fixed beforehand.
# By Ville's inequality the mixture ever reaches R / 0.05 with a chance of at most 0.05 / R: over all R raters and the
# whole exam, however often anybody looks, a false alarm has a chance of at most 5 % (`RESERVE` makes use of what the
# inequality leaves). What all raters have in common at a
# time (abler students, say) is taken out first, as `drift.py` does.

ALARM_LEVEL = 0.05
"""Chance of any false alarm over a whole exam."""
CHANGES = {1.0: 0.7, 0.5: 0.3}
"""Sizes of changes that alarms are tuned to, in units of the predictor (logits), with their weights. Larger ones are
found sooner."""
RESERVE = 0.7
"""Evidence needed, as a share of what Ville's inequality asks. The inequality counts on evidence that just reaches the
line, for ever; in steps, and up to an exam's end, streams without drift reach it less often
(`benchmarks.truth.alarm_rates`)."""
# Information between two moments at which a change may begin: a dozen passes or fails of middling work. Evidence is
# looked at four times as often.
_BETWEEN, _LOOKS = 3.0, 6
# Moments this close up to so much information; from there to twice as much they are twice as far apart, and so on, and
# each such stretch has half the weight of the one before; the first has most.
_CLOSE, _FIRST = 150.0, 0.8
# With less information before or since a change, single ratings would decide.
_LEAST = 4.0
# Of a logarithm: beyond, evidence is beyond doubt.
_LARGEST = 500.0
# Weight of a change between an earlier fit and the first reading.
_SINCE_BASELINE = 0.1
_ALARMS = {"evidence": pl.Float64, "alarm": pl.Boolean, "shift": pl.Float64, "shift_se": pl.Float64}
_ALARMS |= {"since": pl.UInt32, "noticed": pl.UInt32}


class Earlier(NamedTuple):
    """A rater's severity in an earlier, independent fit, less the one now, and its variance."""

    apart: float
    variance: float


class Stream(NamedTuple):
    """One rater's readings in the order of time, those of the same time together."""

    score: Array
    information: Array
    time: Indices


def streams(found: Residuals, time: NDArray[np.integer], n_times: int) -> list[Stream]:
    """The stream of every rater. A reading has the time of its last rating."""
    pairs = found.pairs
    score = pairs.sums(in_common(found, time, n_times)[0])
    information = pairs.sums(found.information) - found.lost
    # Where ratings vary more than the model says (a halo, say), what is seen counts.
    information = information / max(1.0, float(np.sum(score**2) / max(np.sum(information), 1e-12)))
    moment = np.zeros(len(pairs), np.int64)
    np.maximum.at(moment, pairs.of_rating, time)
    order = np.lexsort((moment, pairs.rater))
    ends = np.cumsum(np.bincount(pairs.rater, minlength=found.ratings.n_raters))[:-1]
    every = []
    for some in np.split(order, ends):
        first = np.flatnonzero(np.append(True, np.diff(moment[some]) != 0))
        of_score, known = (np.add.reduceat(values[some], first) for values in (score, information))
        every.append(Stream(of_score, known, moment[some][first]))
    return every


class Evidence(NamedTuple):
    """The mixture over moments of change, at each look."""

    value: Array
    """(looks,)"""
    until: Indices
    """(looks,): readings (of distinct times) up to the look"""
    since: Indices
    """(looks,): the likeliest moment of change, as readings before it"""
    shift: Array
    """(looks,): how much more severe since"""
    error: Array


def evidence(stream: Stream, earlier: Earlier | None = None) -> Evidence:
    """Evidence of a change in a rater's severity."""
    total, known = np.cumsum(stream.score), np.cumsum(np.maximum(stream.information, 0.0))
    if not len(known) or known[-1] <= 0:
        nothing, nowhere = np.zeros(0), np.zeros(0, np.int64)
        return Evidence(nothing, nowhere, nowhere, nothing, nothing)
    moment, weight, look = _moments(float(known[-1]))
    step = np.searchsorted(look, known, side="right")
    until = np.flatnonzero(np.append(np.diff(step) > 0, True))
    u, v = total[until], known[until]
    block = np.searchsorted(moment, v, side="right")
    start = np.flatnonzero(np.diff(np.append(0, block)) > 0)
    # A change before the first reading, then those after each start: several moments may fall on the same reading,
    # which has the weight of all.
    ends = np.append(0, block[start])
    own = np.array([0.0, *(weight[low:high].sum() for low, high in pairwise(ends))])
    seen_u, seen_v, since = np.append(0.0, u[start]), np.append(0.0, v[start]), np.append(0, until[start] + 1)
    before_u, before_v = seen_u, seen_v
    if earlier is not None and earlier.variance > 0:
        # Scores are in minus severity.
        before_u, before_v = seen_u - earlier.apart / earlier.variance, seen_v + 1 / earlier.variance
        own = np.append(_SINCE_BASELINE, (1 - _SINCE_BASELINE) * own[1:])
    after_v = v[:, None] - seen_v
    possible = (after_v >= _LEAST) & (own > 0) & (before_v >= _LEAST)
    after, before = np.where(possible, after_v, 1.0), np.where(before_v > 0, before_v, 1.0)
    gap, variance = (u[:, None] - seen_u) / after - before_u / before, 1 / after + 1 / before
    ratio = np.zeros_like(gap)
    for size, share in CHANGES.items():
        for d in (size, -size):
            ratio += share / 2 * np.exp(np.minimum((d * gap - d**2 / 2) / variance, _LARGEST))
    each = own * np.where(possible, ratio, 1.0)
    # What has not begun yet counts as 1 each.
    value = each.sum(axis=1) + max(0.0, 1.0 - own.sum())
    best, rows = np.argmax(np.where(possible, each, -1.0), axis=1), np.arange(len(u))
    return Evidence(value, until, since[best], -gap[rows, best], np.sqrt(variance)[rows, best])


def _moments(most: float) -> tuple[Array, Array, Array]:
    """Up to so much information: when a change may begin, with what weight (all that may ever come sum to 1), and when
    evidence is looked at."""
    moments, weights, looks = [], [], []
    low, high, between, share = 0.0, _CLOSE, _BETWEEN, _FIRST
    while low < most:
        here = low + between * np.arange(1, round((high - low) / between) + 1)
        moments.append(here)
        weights.append(np.full(len(here), share / len(here)))
        looks.append(low + between / _LOOKS * np.arange(1, _LOOKS * len(here) + 1))
        low, high, between = high, 2 * high, 2 * between
        share = (1 - _FIRST) / 2 if len(moments) == 1 else share / 2
    return np.concatenate(moments), np.concatenate(weights), np.concatenate(looks)


def threshold(n_raters: int) -> float:
    """The evidence from which on a rater's alarm is due."""
    return RESERVE * n_raters / ALARM_LEVEL


def drift_alarms(
    found: Residuals,
    time: NDArray[np.integer],
    labels: pl.Series,
    *,
    earlier: Mapping[str, Earlier] | None = None,
) -> pl.DataFrame:
    """A row per rater: rater, readings, evidence (against no change; the largest so far), alarm, shift (how much more
    severe since) and shift_se, since (first time after the likeliest change), noticed (when the alarm was first
    due)."""
    raters = found.ratings.raters.cast(pl.String)
    rows: list[tuple[object, ...]] = []
    for rater, stream in zip(raters, streams(found, time, len(labels)), strict=True):
        seen = evidence(stream, None if earlier is None else earlier.get(rater))
        if not len(seen.value):
            rows.append((1.0, False, None, None, None, None))
            continue
        at = int(np.argmax(seen.value))
        due = np.flatnonzero(seen.value >= threshold(len(raters)))
        since = int(stream.time[min(int(seen.since[at]), len(stream.time) - 1)])
        noticed = int(stream.time[seen.until[due[0]]]) if len(due) else None
        size = float(seen.shift[at]), float(seen.error[at])
        rows.append((float(seen.value[at]), bool(len(due)), *size, since, noticed))
    table = pl.DataFrame(rows, schema=_ALARMS, orient="row")
    moments = (labels.gather(table[name]).alias(name) for name in ("since", "noticed"))
    readings = np.bincount(found.pairs.rater, minlength=len(raters))
    return pl.DataFrame({"rater": raters, "readings": readings}).hstack(table.with_columns(*moments))


# ---------------------------------------------------------------------------------------------------- monitoring


_MONITORED = ("standard", "sharpness")
REVIEW_SINCE = "review what was marked since then, and talk to the rater before more is marked"


def drifted(shift: float, se: float, unit: str, since: str) -> str:
    """Word a drift.

    Examples
    --------
    >>> drifted(-0.5, 0.1, "logits", "3 May")
    '0.50 logits more lenient since 3 May (95 % interval 0.30 to 0.70)'
    """
    low, high = (abs(shift) + side * NORMAL_95 * se for side in (-1, 1))
    way = "severe" if shift > 0 else "lenient"
    return f"{abs(shift):.2f} {unit} more {way} since {since} (95 % interval {low:.2f} to {high:.2f})"


@dataclass(frozen=True, slots=True, eq=False)
class Monitoring:
    """Drift of raters while marking runs."""

    changes: pl.DataFrame
    """rater, measure, before, now, clear: since the earlier fit; no rows without one"""
    alarms: pl.DataFrame | None
    """rater, readings, evidence, alarm, shift, shift_se, since, noticed; None where nothing tells earlier from later"""
    unit: str
    timed: bool
    ordered: bool = False
    """More scores than pass and fail"""

    def drifting(self) -> dict[str, str]:
        """Each rater with an alarm, those with most evidence first: how much, which way and since when."""
        if self.alarms is None:
            return {}
        rows = self.alarms.filter("alarm").sort("evidence", descending=True).iter_rows(named=True)
        since = "the previous fit"
        return {
            row["rater"]: drifted(
                row["shift"], row["shift_se"], self.unit, moment_words(row["since"]) if self.timed else since
            )
            for row in rows
        }

    def warnings(self) -> tuple[str, ...]:
        """Each alarm in one sentence."""
        found = [
            f"drift alarm: {shortened(rater)} is {size}. Next: {REVIEW_SINCE}"
            for rater, size in self.drifting().items()
        ]
        if len(found) > 1:
            found.append(
                "A drifting rater can make others who mark the same students appear to drift the opposite way. Resolve "
                "the first alarm, then fit again"
            )
        return tuple(found)

    def words(self) -> list[str]:
        """Sentences on what has changed, or that nothing has."""
        found = in_words(self.changes, ordered=self.ordered)
        if not found and self.changes.height:
            raters = counted(self.changes["rater"].n_unique(), "rater")
            found = [f"No rater's standard or sharpness has changed beyond chance ({raters} compared)."]
        if self.alarms is not None and not self.alarms["alarm"].any():
            found.append(
                f"No drift alarm ({counted(self.alarms.height, 'rater')}; valid however often you look)."
            )
        return [*found, *self.warnings()]


def monitor(
    fit: Result,
    ratings: Ratings | None,
    *,
    previous: Result | None = None,
    time: Any = None,
    passed: Residuals | None = None,
) -> Monitoring:
    """Compare with an earlier fit and, given the ratings, watch for drift.

    With a time, alarms are about a change at any time within the ratings. An earlier fit of other students adds what it
    knows of each rater's severity; without a time, it is what the ratings as a whole are compared with. One of the
    first of these very ratings adds nothing to them. `passed`: the residuals, where they were computed.
    """
    together = previous is not None and extends(fit, previous)
    found = changes(fit, previous, _MONITORED) if previous is not None else pl.DataFrame(schema=_CHANGED)
    earlier = None if previous is None or together else _earlier(fit, previous)
    alarms = None
    if ratings is not None and fit.calibration is not None and (time is not None or earlier):
        if time is None:
            moment, labels = np.zeros(ratings.n_ratings, np.int32), pl.Series("time", [0])
        else:
            moment, labels = time_of(time, ratings)
        alarms = drift_alarms(passed or residuals(fit, ratings), moment, labels, earlier=earlier)
        alarms = alarms.with_columns(pl.col("shift", "shift_se") * fit.calibration.unit)
    return Monitoring(found, alarms, unit_of(fit.link), time is not None, fit.ordered)


def _earlier(fit: Result, previous: Result) -> dict[str, Earlier]:
    """Severities of both fits, in units of the model, counted from those of the raters they share."""
    columns = ("rater", "eta", "eta_se")
    then, now = (
        {str(label): (eta, error) for label, eta, error in one.table("raters").select(columns).iter_rows()}
        for one in (previous, fit)
    )
    both = [label for label in now if label in then and np.isfinite(then[label][1] or np.nan)]
    if previous.link != fit.link or len(both) < 2:
        return {}
    apart = np.array([then[label][0] - now[label][0] for label in both])
    apart -= np.median(apart)
    unit = 1.0 if fit.calibration is None else fit.calibration.unit
    return {
        label: Earlier(float(gap) / unit, (then[label][1] / unit) ** 2)
        for label, gap in zip(both, apart, strict=True)
    }
