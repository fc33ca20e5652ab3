"""Drift: when each rater changed, and each rater by period."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special

from raterlens.base.arrays import NORMAL_95, Array, Indices
from raterlens.diagnostics.rater_effects import adjusted, common
from raterlens.diagnostics.residuals import Residuals
from raterlens.ratings.coded import Ratings
from raterlens.ratings.groupings import order_of_two

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
    line = _timeline(ratings.rater, n, time, len(labels))
    stretch = stretches(time, len(labels))
    severity, sharpness = _paths(found, line, stretch, in_common(found, stretch))
    typical = float(np.median(found.model.slopes))
    slope = sharpness.found(typical if typical > 0 else np.nan)
    own = found.model.slopes / typical if typical > 0 else np.full(n, np.nan)
    before = sharpness.share[np.arange(n), slope["since"]]
    slope |= {
        "before": own - (1 - before) * slope["shift"],
        "after": own + before * slope["shift"],
    }
    columns: dict[str, object] = {"rater": ratings.raters, "n": np.bincount(ratings.rater, minlength=n)}
    for prefix, values in (("", severity.found()), ("slope_", slope)):
        known = np.isfinite(values["p"])
        for name, value in values.items():
            columns[prefix + name] = value
            if name.startswith("since"):
                place = pl.Series(np.where(known, time[line.after(value)], -1))
                columns[prefix + name] = labels.gather(place.replace(-1, None))
        if not prefix:
            columns["course"] = severity.course()
    return pl.DataFrame(columns)


@dataclass(frozen=True, slots=True, eq=False)
class _Timeline:
    """Ratings in the order of rater and time."""

    order: Indices
    cell: Indices
    """(ratings,) rater x STEPS + step, in the order of the ratings"""

    def after(self, step: Indices) -> Indices:
        """(raters,) each rater's first rating after a step"""
        size = len(step) * STEPS
        place = np.cumsum(np.bincount(self.cell, minlength=size))[np.arange(len(step)) * STEPS + step]
        return np.asarray(self.order[np.minimum(place, len(self.order) - 1)])


def _timeline(rater: NDArray[np.integer], n: int, time: NDArray[np.integer], n_times: int) -> _Timeline:
    order = order_of_two(rater, n, time, n_times)
    count = np.bincount(rater, minlength=n)
    first = np.cumsum(count) - count
    cell = np.empty(len(order), np.int64)
    whose, moment = rater[order].astype(np.int64), time[order]
    # Between equal times the order is arbitrary: they are of one step.
    new = np.append(True, (np.diff(whose) != 0) | (np.diff(moment) != 0))
    place = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    cell[order] = whose * STEPS + (place - first[whose]) * STEPS // count[whose]
    return _Timeline(order, cell)


@dataclass(frozen=True, slots=True, eq=False)
class _Path:
    """One parameter along time; (raters, steps)."""

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


def _sums(found: Residuals, cell: Indices, size: int, stretch: Indices, common: Array) -> Array:
    """(5, size): of the ratings in each cell the information, with ability and with its square, and the scores in
    severity and slope, without what raters have `common` in a stretch of time: a shift and a stretch of abilities."""
    info, theta = found.information, found.theta
    level, scale = common[:, stretch]
    taken = info * found.model.slopes[found.ratings.rater] * (level + scale * theta)
    parts = info, info * theta, info * theta**2, found.score - taken, found.tilt - theta * taken
    return np.stack([np.bincount(cell, part, size) for part in parts])


def stretches(time: NDArray[np.integer], n_times: int) -> Indices:
    """(ratings,) of time, each with about as many ratings"""
    count = np.bincount(time, minlength=n_times)
    return np.asarray(((np.cumsum(count) - count) * _STRETCHES // len(time))[time])


def in_common(found: Residuals, stretch: Indices) -> Array:
    """(2, stretches): what holds for all raters at a time. Students who come in later may be abler, or differ more,
    than those before, which is no rater's change: in each stretch of time abilities may be shifted and stretched as
    most raters see them."""
    n = found.ratings.n_raters
    cell, size = found.ratings.rater.astype(np.int64) * _STRETCHES + stretch, n * _STRETCHES
    sums = _sums(found, cell, size, stretch, np.zeros((2, _STRETCHES)))
    # A shift of abilities acts through the rater's slope.
    slope, of_level = np.repeat(found.model.slopes, _STRETCHES), np.arange(size) % _STRETCHES
    a, b, c = sums[:3] * slope**2
    score, tilt = sums[3:] * slope
    every = np.maximum(np.bincount(of_level, a, _STRETCHES), 1e-12)
    middle = np.bincount(of_level, b, _STRETCHES) / every
    at = middle[of_level]
    shift = common(score, a, of_level, _STRETCHES)
    scale = common(tilt - at * score, c - 2 * at * b + at**2 * a, of_level, _STRETCHES)
    return np.stack([shift - scale * middle, scale])


def _paths(found: Residuals, line: _Timeline, stretch: Indices, common: Array) -> Iterator[_Path]:
    """Severity, and slope with changes of severity taken out."""
    n = found.ratings.n_raters
    of_step = _sums(found, line.cell, n * STEPS, stretch, common).reshape(5, n, STEPS)
    a, b, c, u, v = np.cumsum(of_step, axis=2)
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


# --------------------------------------------------------------------------------------------------------- drift


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
    return (
        value,
        se,
        (value - NORMAL_95 * se).alias(f"{name}_low"),
        (value + NORMAL_95 * se).alias(f"{name}_high"),
    )
