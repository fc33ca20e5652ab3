"""During the marking: what has changed since an earlier fit, and drift alarms, valid however often one looks."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.base.arrays import NORMAL_95, Array, Indices
from raterlens.base.text import counted, shortened
from raterlens.diagnostics.drift import in_common, stretches
from raterlens.diagnostics.rater_effects import LEVEL, adjusted, two_sided
from raterlens.diagnostics.residuals import Residuals, residuals
from raterlens.diagnostics.what_if import unit_of
from raterlens.inference.result import Result
from raterlens.ratings.coded import Ratings
from raterlens.ratings.groupings import moment_words, time_of

# --------------------------------------------------------------------------------------------------- earlier fit


COMPARED = {
    "sharpness": "sharpness",
    "standard": "passes",
    "kappa": "kappa",
    "severity": "eta",
    "discrimination": "rho",
}
"""Measures in which two runs are compared, with their columns."""

_SAME = 1e-6
_CHANGED = {
    "rater": pl.String, "measure": pl.String, "before": pl.Float64, "now": pl.Float64, "clear": pl.Boolean
}  # fmt: skip


def changes(now: Result, then: Result, measures: tuple[str, ...]) -> pl.DataFrame:
    """A row per rater of both fits and measure: rater, measure, before, now, clear.

    A change is clear where chance is ruled out among all raters (Benjamini-Hochberg, 5 %). The ratings of the two runs
    are taken for independent, unless those of the earlier one are part of the later one's (`nested`). Severity,
    discrimination and standard are each run's own, relative to its average rater or its yardstick; sharpness is not.
    """
    one, two = (fit.table("raters").with_columns(pl.col("rater").cast(pl.String)) for fit in (then, now))
    two = two.join(one.select("rater"), on="rater", how="semi", maintain_order="left")
    one = two.select("rater").join(one, on="rater", how="left", maintain_order="left")
    part = nested(now, then)
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


def nested(now: Result, then: Result) -> bool:
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
    """Standard errors, or what symmetric intervals say they are."""
    known = {
        name: raters[name].cast(pl.Float64).to_numpy()
        for name in raters.columns
        if name.startswith(f"{column}_")
    }
    if f"{column}_se" in known:
        return known[f"{column}_se"]
    nothing = np.full(raters.height, np.nan)
    width = known.get(f"{column}_high", nothing) - known.get(f"{column}_low", nothing)
    return np.asarray(width / (2 * NORMAL_95))


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
_ALARMS = {
    "evidence": pl.Float64,
    "alarm": pl.Boolean,
    "shift": pl.Float64,
    "shift_se": pl.Float64,
    "since": pl.UInt32,
    "noticed": pl.UInt32,
}


class Earlier(NamedTuple):
    """A rater's severity in an earlier, independent fit, less the one now, and its variance."""

    apart: float
    variance: float


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """One rater's readings in the order of time, those of the same time together."""

    score: Array
    information: Array
    time: Indices


def streams(found: Residuals, time: NDArray[np.integer], n_times: int) -> list[Stream]:
    """The stream of every rater. A reading has the time of its last rating."""
    pairs, stretch = found.pairs, stretches(time, n_times)
    level, scale = in_common(found, stretch)[:, stretch]
    theta, slope = found.theta, found.model.slopes[found.ratings.rater]
    score = pairs.sums(found.score - found.information * slope * (level + scale * theta))
    information = pairs.sums(found.information) - found.lost
    # Where ratings vary more than the model says (a halo, say), what is seen counts.
    information = information / max(1.0, float(np.sum(score**2) / max(np.sum(information), 1e-12)))
    moment = np.zeros(len(pairs), np.int64)
    np.maximum.at(moment, pairs.of_rating, time)
    order = np.lexsort((moment, pairs.rater))
    ends = np.cumsum(np.bincount(pairs.rater, minlength=found.ratings.n_raters))[:-1]
    parts = (np.split(values[order], ends) for values in (score, information, moment))
    return [_tied(*one) for one in zip(*parts, strict=True)]


def _tied(score: Array, information: Array, time: Indices) -> Stream:
    """Sums over readings of the same time."""
    first = np.flatnonzero(np.append(True, np.diff(time) != 0))
    return Stream(np.add.reduceat(score, first), np.add.reduceat(information, first), time[first])


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
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
    # Several moments may fall on the same reading: it has the weight of all.
    ends = np.append(0, block[start])
    own = np.array([weight[low:high].sum() for low, high in pairwise(ends)])
    before_u, before_v = np.append(0.0, u[start]), np.append(0.0, v[start])
    own = np.append(0.0, own)
    if earlier is not None and earlier.variance > 0:
        # Scores are in minus severity.
        before_u, before_v = before_u - earlier.apart / earlier.variance, before_v + 1 / earlier.variance
        own = np.append(_SINCE_BASELINE, (1 - _SINCE_BASELINE) * own[1:])
    since = np.append(0, until[start] + 1)
    seen_u, seen_v = np.append(0.0, u[start]), np.append(0.0, v[start])
    return _mixed((u, v, until), (before_u, before_v, seen_u, seen_v, own, since))


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


def _mixed(looks: tuple[Array, Array, Indices], starts: tuple[Array, ...]) -> Evidence:
    u, v, until = looks
    before_u, before_v, seen_u, seen_v, own, since = starts
    after_v = v[:, None] - seen_v
    possible = (after_v >= _LEAST) & (own > 0) & (before_v >= _LEAST)
    after = np.where(possible, after_v, 1.0)
    before = np.where(before_v > 0, before_v, 1.0)
    gap = (u[:, None] - seen_u) / after - before_u / before
    variance = 1 / after + 1 / before
    ratio = np.zeros_like(gap)
    for size, weight in CHANGES.items():
        for d in (size, -size):
            ratio += weight / 2 * np.exp(np.minimum((d * gap - d**2 / 2) / variance, _LARGEST))
    each = own * np.where(possible, ratio, 1.0)
    # What has not begun yet counts as 1 each.
    begun = own.sum()
    value = each.sum(axis=1) + max(0.0, 1.0 - begun)
    best = np.argmax(np.where(possible, each, -1.0), axis=1)
    rows = np.arange(len(u))
    return Evidence(
        value, until, since[best].astype(np.int64), -gap[rows, best], np.sqrt(variance)[rows, best]
    )


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
    every = streams(found, time, len(labels))
    known = [None if earlier is None else earlier.get(label) for label in raters]
    rows = [_row(*one, threshold(len(raters))) for one in zip(every, known, strict=True)]
    table = pl.DataFrame(rows, schema=_ALARMS)
    readings = np.bincount(found.pairs.rater, minlength=len(raters))
    return (
        pl.DataFrame({"rater": raters, "readings": readings})
        .hstack(table)
        .with_columns(
            labels.gather(table["since"]).alias("since"), labels.gather(table["noticed"]).alias("noticed")
        )
    )


def _row(stream: Stream, earlier: Earlier | None, needed: float) -> dict[str, Any]:
    found = evidence(stream, earlier)
    if not len(found.value):
        return {"evidence": 1.0, "alarm": False}
    at = int(np.argmax(found.value))
    due = np.flatnonzero(found.value >= needed)
    since = min(int(found.since[at]), len(stream.time) - 1)
    return {
        "evidence": float(found.value[at]),
        "alarm": bool(len(due)),
        "shift": float(found.shift[at]),
        "shift_se": float(found.error[at]),
        "since": int(stream.time[since]),
        "noticed": int(stream.time[found.until[due[0]]]) if len(due) else None,
    }


# ---------------------------------------------------------------------------------------------------- monitoring


_MONITORED = ("standard", "sharpness")


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

    def warnings(self) -> tuple[str, ...]:
        """Each alarm in one sentence."""
        if self.alarms is None:
            return ()
        found = []
        for row in self.alarms.filter("alarm").sort("evidence", descending=True).iter_rows(named=True):
            way = "more severe" if row["shift"] > 0 else "more lenient"
            low, high = (abs(row["shift"]) + side * NORMAL_95 * row["shift_se"] for side in (-1, 1))
            found.append(
                f"drift alarm: {shortened(row['rater'])} is {abs(row['shift']):.2f} {self.unit} {way} since "
                f"{self.since(row['since'])} (95 % interval {low:.2f} to {high:.2f}). Next: review what was marked "
                "since then, and talk to the rater before more is marked"
            )
        if len(found) > 1:
            found.append(
                "A drifting rater can make others who mark the same students appear to drift the opposite way. Resolve "
                "the first alarm, then fit again"
            )
        return tuple(found)

    def since(self, moment: Any) -> str:
        """When a change began, in words."""
        return moment_words(moment) if self.timed else "the previous fit"

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
    together = previous is not None and nested(fit, previous)
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
