"""Do intervals cover? Coverage and width of every interval of kappa, and the bias of every estimator.

Ratings are drawn from a model with known capability and fitted; a 95 % interval covers if it contains the truth.
Raters at a bound are kept apart: those estimated at 0, and the truly best, whose rho is 1.
"""

import numpy as np
import polars as pl
from scipy import special, stats

from raterlens import capability
from raterlens.base.records import dataclass
from raterlens.base.types import Array, Mask
from raterlens.config import FitConfig
from raterlens.facade import Fit, fitted
from raterlens.inference.profile import Profiler
from raterlens.simulation.simulate import Simulated
from raterlens.simulation.truth import Truth
from raterlens.studies.bootstrap_intervals import bias_corrected, kappas, percentile
from raterlens.studies.calibration_designs import CONDITIONS, Condition
from raterlens.studies.calibration_figure import draw
from raterlens.studies.calibration_page import (
    BOOTSTRAPS,
    CORRECTED,
    DEFAULT,
    INSIDE,
    LOGIT,
    PROFILE,
    SAMPLED,
    SANDWICH,
    WALD,
    page,
)
from raterlens.studies.study import Results, Study, Task

_NORMAL = float(stats.norm.ppf(0.975))
_DEVIANCE = float(stats.chi2.ppf(0.95, 1))
# Profiles and bootstraps take many fits each, so only every so many replications have them.
PROFILED, WITH_ENDS, BOOTSTRAPPED = 5, 50, 50
REPLICATES = 200
EVERYWHERE = 200
"""Replications with all designs; the rest have only the two main ones, to pin down their coverage."""
ABILITIES = (-1.0, 0.0, 1.0)
AT_ZERO, BEST = "estimated at 0", "truly best"


@dataclass(frozen=True, slots=True)
class Intervals:
    """What one method says about every rater."""

    method: str
    estimate: Array
    low: Array
    high: Array
    covered: Mask | None = None
    """Where it is known without the ends."""
    quantity: str = "kappa"
    truth: Array | None = None
    """Of the quantity; None for kappa, which the simulation knows."""


# ----------------------------------------------------------------------------------------- replications


def replicate(task: Task, conditions: tuple[Condition, ...] = CONDITIONS) -> pl.DataFrame:
    frames: list[pl.DataFrame] = []
    for number, condition in enumerate(conditions):
        if not condition.main and task.index >= EVERYWHERE:
            continue
        made = condition.simulate([*task.entropy, number])
        config = FitConfig(model=condition.model, prior="none")
        found = fitted(made.ratings, config)
        intervals = [
            *_quick(made, found, config),
            *(_slow(made, found, task) if condition.main else ()),
        ]
        labels = {"design": pl.lit(condition.design), "model": pl.lit(condition.model)}
        frames += [_rows(made, found, each).select(pl.all(), **labels) for each in intervals]
    return pl.concat(frames).select("design", "model", pl.exclude("design", "model"))


def _quick(made: Simulated, found: Fit, config: FitConfig) -> list[Intervals]:
    """What takes a fit or two."""
    raters = found.table("raters")
    kappa, se = raters["kappa"].to_numpy(), raters["kappa_se"].to_numpy()
    tables = {
        DEFAULT: raters,
        SANDWICH: found.refit(made.ratings, covariance="sandwich", start=found).table("raters"),
        SAMPLED: found.refit(made.ratings, prior="panel").table("raters"),
    }
    if found.model == "gmf":
        tables[CORRECTED] = found.capability(reference="max corrected")
    intervals = [Intervals(name, *_columns(table)) for name, table in tables.items()]
    intervals.append(Intervals(WALD, kappa, kappa - _NORMAL * se, kappa + _NORMAL * se))
    inside = np.clip(kappa, 1e-6, 1 - 1e-6)
    reach = _NORMAL * se / (inside * (1 - inside))
    ends = (special.expit(special.logit(inside) - reach), special.expit(special.logit(inside) + reach))
    intervals.append(Intervals(LOGIT, kappa, *ends))
    if found.model == "gmf":
        curves = found.capability(theta=list(ABILITIES))
        for theta in ABILITIES:
            columns = _columns(curves.filter(pl.col("theta") == theta))
            truth = _capability_at(made.truth, theta)
            intervals.append(Intervals(DEFAULT, *columns, quantity=f"kappa({theta:g})", truth=truth))
    return intervals


def _slow(made: Simulated, found: Fit, task: Task) -> list[Intervals]:
    """What takes many fits."""
    kappa = found.table("raters")["kappa"].to_numpy()
    intervals = []
    if task.index % PROFILED == 0:
        low, high, covered = _profiled(made, found, ends=task.index % WITH_ENDS == 0)
        intervals.append(Intervals(PROFILE, kappa, low, high, covered))
    if task.index % BOOTSTRAPPED == 0:
        for kind in ("students", "parametric"):
            again = found.bootstrap(
                made.ratings, replicates=REPLICATES, kind=kind, seed=task.index, workers=1
            )
            drawn = kappas(again)
            plain = np.array([percentile(one) for one in drawn])
            shifted = np.array([bias_corrected(*one) for one in zip(drawn, kappa, strict=True)])
            for name, ends in zip(BOOTSTRAPS[kind], (plain, shifted), strict=True):
                intervals.append(Intervals(name, kappa, *ends.T))
    return intervals


def _profiled(made: Simulated, found: Fit, *, ends: bool) -> tuple[Array, Array, Mask]:
    """Lower and upper ends (ten constrained fits per rater, only where asked for), and whether the deviance of the
    truth is below the threshold (one)."""
    profiler, truth = Profiler.of(found, made.ratings), made.truth.kappa
    n, raters = len(truth), found.table("raters")
    low, high = np.full(n, np.nan), np.full(n, np.nan)
    covered = np.empty(n, dtype=bool)
    for r in range(n):
        profile = profiler.profile(r)
        one_sided = raters["kappa"][r] == 0
        threshold = float(stats.chi2.ppf(0.9, 1)) if one_sided else _DEVIANCE
        covered[r] = profile.deviance(float(truth[r]))[0] <= threshold
        if ends:
            guess = raters.select("kappa_low", "kappa_high").row(r)
            interval = profile.interval(threshold, guess, (0.0, 1.0))
            low[r], high[r] = interval.low, interval.high
    return low, high, covered


def _columns(table: pl.DataFrame) -> tuple[Array, Array, Array]:
    low, high = table["kappa_low"].to_numpy(), table["kappa_high"].to_numpy()
    return table["kappa"].to_numpy(), low, high


def _rows(made: Simulated, found: Fit, given: Intervals) -> pl.DataFrame:
    """A row per rater: does the interval cover?"""
    true = made.truth.kappa if given.truth is None else given.truth
    covered = given.covered
    if covered is None:  # ends at a bound are exact only up to rounding
        covered = (given.low <= true + 1e-9) & (true - 1e-9 <= given.high)
    return pl.DataFrame(
        {
            "method": pl.repeat(given.method, len(true), dtype=pl.String, eager=True),
            "quantity": pl.repeat(given.quantity, len(true), dtype=pl.String, eager=True),
            "rater": made.ratings.raters.cast(pl.String),
            "group": _groups(made.truth, found),
            "truth": true,
            "estimate": given.estimate,
            "low": given.low,
            "high": given.high,
            "held": covered,
        }
    )


def _groups(truth: Truth, found: Fit) -> list[str]:
    """The bound, if any, that a rater is at; the truly best only where raters differ in discrimination."""
    zero = (found.table("raters")["kappa"] == 0).to_numpy()
    best = (truth.rho == 1) & (np.ptp(truth.slope) > 0) & (found.model == "gmf")
    return list(np.where(zero, AT_ZERO, np.where(best, BEST, INSIDE)))


def _capability_at(truth: Truth, theta: float) -> Array:
    return capability.gmf(rho=truth.rho, eta=truth.severity, sigma=truth.sigma, theta=theta)


# --------------------------------------------------------------------------------------------- results


def coverage(rows: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Share of intervals that cover, with its Monte-Carlo standard error, and their mean width.

    Replications are independent; raters within a replication are not.
    """
    miss_low = (pl.col("low") > pl.col("truth")) & ~pl.col("held")
    once = rows.group_by(*by, "replication").agg(
        pl.col("held").mean().alias("share"),
        pl.len().alias("n"),
        pl.col("truth").mean(),
        (pl.col("high") - pl.col("low")).fill_nan(None).mean().alias("width"),
        miss_low.mean().alias("too_high"),
    )
    weight = pl.col("n") / pl.col("n").sum()
    mean = (pl.col("share") * weight).sum()
    return (
        once.group_by(*by)
        .agg(
            pl.len().alias("replications"),
            pl.col("n").sum().alias("intervals"),
            pl.col("truth").mean(),
            mean.alias("coverage"),
            ((weight**2 * (pl.col("share") - mean) ** 2).sum().sqrt()).alias("coverage_se"),
            pl.col("width").mean(),
            (pl.col("too_high") * weight).sum().alias("too_high"),
        )
        .sort(*by)
    )


def estimators(rows: pl.DataFrame) -> pl.DataFrame:
    """Mean absolute bias and mean RMSE over raters, of every estimator."""
    error = pl.col("estimate") - pl.col("truth")
    return (
        rows.filter(
            pl.col("quantity") == "kappa",
            pl.col("method").is_in([DEFAULT, CORRECTED, SAMPLED]),
        )
        .group_by("design", "model", "method", "rater")
        .agg(
            pl.len().alias("replications"),
            error.mean().alias("bias"),
            (error**2).mean().sqrt().alias("rmse"),
            (error.std() / pl.len().sqrt()).alias("bias_se"),
        )
        .group_by("design", "model", "method")
        .agg(
            pl.col("replications").max(),
            pl.col("bias").abs().mean().alias("absolute_bias"),
            pl.col("bias").mean(),
            pl.col("bias_se").mean(),
            pl.col("rmse").mean(),
        )
        .sort("design", "model", "method")
    )


def summarise(rows: pl.DataFrame) -> Results:
    kappa = rows.filter(pl.col("quantity") == "kappa")
    tables = {
        "coverage": coverage(kappa, ["design", "model", "method", "group"]),
        "overall": coverage(kappa, ["design", "model", "method"]),
        "raters": coverage(kappa.filter(pl.col("method") == DEFAULT), ["design", "model", "rater"]),
        "curves": coverage(
            rows.filter(pl.col("quantity") != "kappa"), ["design", "model", "quantity", "group"]
        ),
        "estimators": estimators(rows),
    }
    return Results(page(tables), tables)


STUDY = Study("calibration", "Do intervals cover?", 1000, replicate, summarise, draw)
