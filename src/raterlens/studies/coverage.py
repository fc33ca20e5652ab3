"""Do intervals hold? Coverage and width of every interval of kappa, and the bias of every estimator.

Ratings are drawn from a model with known capability, fitted, and each 95 % interval is asked whether it has the
truth in it. Raters at a bound are told apart: those estimated at 0, and the truly best, with a rho of 1.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special, stats

from raterlens import capability
from raterlens.fitting import fit
from raterlens.ratings.coded import Ratings
from raterlens.result.record import Fit
from raterlens.simulation import published as paper
from raterlens.simulation.example import load_example
from raterlens.simulation.simulate import Simulated, simulate
from raterlens.simulation.truth import Truth
from raterlens.studies.coverage_page import (
    BOOTSTRAPS,
    CORRECTED,
    DEFAULT,
    LOGIT,
    PROFILE,
    SANDWICH,
    SHRUNK,
    WALD,
    page,
)
from raterlens.studies.study import Results, Study, Task
from raterlens.types import Array
from raterlens.uncertainty.bootstrap import bootstrap
from raterlens.uncertainty.profile import Profiler

_NORMAL = float(stats.norm.ppf(0.975))
_DEVIANCE = float(stats.chi2.ppf(0.95, 1))
# Profiles and bootstraps are many fits each: every so many replications.
PROFILED, WITH_ENDS, BOOTSTRAPPED = 5, 50, 50
REPLICATES = 200
EVERYWHERE = 200
"""Replications with all designs; the others have the two main ones, whose coverage is to be known more closely."""
ABILITIES = (-1.0, 0.0, 1.0)
AT_ZERO, BEST, INSIDE = "estimated at 0", "truly best", "inside"


@dataclass(frozen=True, slots=True)
class Condition:
    """A design with its truth, and the model fitted to it."""

    design: str
    model: str
    draw: Callable[[list[int]], Simulated]
    main: bool = False
    """In every replication, with profiles and bootstraps."""
    options: dict[str, Any] = field(default_factory=dict)


# --------------------------------------------------------------------------------------------- designs


def _writing(seed: list[int]) -> Simulated:
    """The bundled example's design and the values behind it."""
    example = _example()
    rho, eta = (np.array([row[column] for row in paper.WRITING_TABLE]) for column in (4, 5))
    return simulate(
        design=(example.student, example.raters.gather(example.rater), example.items.gather(example.item)),
        slope=rho * paper.WRITING_SIGMA,
        severity=eta,
        difficulty=[paper.WRITING_DELTA[item] for item in example.items],
        alpha=paper.WRITING_ALPHA,
        seed=seed,
    )


@cache
def _example() -> Ratings:
    return load_example()


def _study1(seed: list[int], severity: Array = paper.ETA, ability: Array | None = None) -> Simulated:
    """Study 1 with students drawn anew, as standard errors suppose, unless abilities are given."""
    return simulate(
        students=paper.STUDENTS,
        raters=paper.RATERS,
        items=paper.ITEMS,
        slope=paper.SIGMA * paper.RHO,
        severity=severity,
        difficulty=paper.DELTA,
        alpha=paper.ALPHA,
        ability=ability,
        seed=seed,
    )


def _fixed(seed: list[int]) -> Simulated:
    return _study1(seed, ability=paper.ABILITY)


def _shuffled(seed: list[int]) -> Simulated:
    """Severity says nothing about discrimination, where in Study 1 it says everything."""
    return _study1(seed, severity=paper.ETA[np.random.default_rng(5).permutation(paper.RATERS)])


_SLOPES: Array = np.array([0.6, 1.0, 1.4, 1.8, 1.6, 1.4, 1.0, 0.6])


def _small(model: str, students: int) -> Callable[[list[int]], Simulated]:
    """Eight raters, four a student, four items."""

    def draw(seed: list[int]) -> Simulated:
        level = np.linspace(-0.7, 0.7, 8)
        raters: dict[str, dict[str, Any]] = {
            "gmf": {"slope": _SLOPES, "severity": level},
            "tfm": {"slope": 1.3, "severity": level},
            "probit": {"noise": 1.5 / _SLOPES, "threshold": level},
        }
        difficulty = np.linspace(-0.6, 0.6, 4)
        return simulate(
            students=students,
            raters=8,
            items=4,
            raters_per_student=4,
            model=model,
            difficulty=difficulty,
            **raters[model],
            seed=seed,
        )

    return draw


CONDITIONS = (
    Condition("writing", "gmf", _writing, main=True),
    Condition("study 1", "gmf", _study1, main=True),
    Condition("study 1, the paper's abilities", "gmf", _fixed),
    Condition("study 1, severity shuffled", "gmf", _shuffled),
    *(
        Condition(f"8 raters, {students} students", model, _small(model, students))
        for model in ("gmf", "tfm", "probit")
        for students in (100, 400)
    ),
)


# ----------------------------------------------------------------------------------------- replications


def replicate(task: Task, conditions: tuple[Condition, ...] = CONDITIONS) -> pl.DataFrame:
    frames: list[pl.DataFrame] = []
    for number, condition in enumerate(conditions):
        if not condition.main and task.index >= EVERYWHERE:
            continue
        made = condition.draw([*task.entropy, number])
        found = fit(made.ratings, model=condition.model)
        rows = [*_quick(made, found), *(_slow(made, found, task) if condition.main else ())]
        frames += [
            frame.select(
                pl.lit(condition.design).alias("design"), pl.lit(condition.model).alias("model"), pl.all()
            )
            for frame in rows
        ]
    return pl.concat(frames)


def _quick(made: Simulated, found: Fit) -> list[pl.DataFrame]:
    """What a fit or two give."""
    truth, raters = made.truth, found.table("raters")
    kappa, se = raters["kappa"].to_numpy(), raters["kappa_se"].to_numpy()
    tables = {
        DEFAULT: raters,
        SANDWICH: fit(made.ratings, model=found.model, covariance="sandwich", start=found).table("raters"),
        SHRUNK: found.capability(shrink=True),
    }
    if found.model == "gmf":
        tables[CORRECTED] = found.capability(reference="max corrected")
    rows = [_rows(made, found, name, *_columns(table)) for name, table in tables.items()]
    rows.append(_rows(made, found, WALD, kappa, kappa - _NORMAL * se, kappa + _NORMAL * se))
    inside = np.clip(kappa, 1e-6, 1 - 1e-6)
    reach = _NORMAL * se / (inside * (1 - inside))
    ends = (special.expit(special.logit(inside) - reach), special.expit(special.logit(inside) + reach))
    rows.append(_rows(made, found, LOGIT, kappa, *ends))
    if found.model == "gmf":
        curves = found.capability(theta=list(ABILITIES))
        for theta in ABILITIES:
            at = curves.filter(pl.col("theta") == theta)
            rows.append(
                _rows(
                    made, found, DEFAULT, *_columns(at), quantity=f"kappa({theta:g})", truth=_at(truth, theta)
                )
            )
    return rows


def _slow(made: Simulated, found: Fit, task: Task) -> list[pl.DataFrame]:
    """What takes many fits."""
    kappa = found.table("raters")["kappa"].to_numpy()
    frames = []
    if task.index % PROFILED == 0:
        low, high, held = _profiled(made, found, ends=task.index % WITH_ENDS == 0)
        frames.append(_rows(made, found, PROFILE, kappa, low, high, held=held))
    if task.index % BOOTSTRAPPED == 0:
        for kind in ("students", "parametric"):
            drawn = bootstrap(
                found, made.ratings, replicates=REPLICATES, kind=kind, seed=task.index, workers=1
            ).raters()
            for name, columns in BOOTSTRAPS[kind].items():
                low, high = (drawn[column].to_numpy() for column in columns)
                frames.append(_rows(made, found, name, kappa, low, high))
    return frames


def _profiled(made: Simulated, found: Fit, *, ends: bool) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Whether the truth has a deviance below the threshold, which needs one constrained fit; and the ends, which need
    ten."""
    profiler, truth = Profiler.of(found, made.ratings), made.truth.kappa
    n, raters = len(truth), found.table("raters")
    low, high = np.full(n, np.nan), np.full(n, np.nan)
    held = np.empty(n, dtype=bool)
    for r in range(n):
        profile = profiler.profile(r)
        one_sided = raters["kappa"][r] == 0
        threshold = float(stats.chi2.ppf(0.9, 1)) if one_sided else _DEVIANCE
        held[r] = profile.deviance(float(truth[r]))[0] <= threshold
        if ends:
            guess = raters.select("kappa_low", "kappa_high").row(r)
            interval = profile.interval(threshold, guess, (0.0, 1.0))
            low[r], high[r] = interval.low, interval.high
    return low, high, held


def _columns(table: pl.DataFrame) -> tuple[Array, Array, Array]:
    low, high = table["kappa_low"].to_numpy(), table["kappa_high"].to_numpy()
    return table["kappa"].to_numpy(), low, high


def _rows(
    made: Simulated,
    found: Fit,
    method: str,
    estimate: Array,
    low: Array,
    high: Array,
    *,
    held: NDArray[np.bool_] | None = None,
    quantity: str = "kappa",
    truth: Array | None = None,
) -> pl.DataFrame:
    true = made.truth.kappa if truth is None else truth
    # Ends at a bound are found to rounding only.
    covered = (low <= true + 1e-9) & (true - 1e-9 <= high) if held is None else held
    return pl.DataFrame(
        {
            "method": pl.repeat(method, len(true), dtype=pl.String, eager=True),
            "quantity": pl.repeat(quantity, len(true), dtype=pl.String, eager=True),
            "rater": made.ratings.raters.cast(pl.String),
            "group": _groups(made.truth, found),
            "truth": true,
            "estimate": estimate,
            "low": low,
            "high": high,
            "held": covered,
        }
    )


def _groups(truth: Truth, found: Fit) -> list[str]:
    """Which bound, if any, a rater is at; the true best only where raters differ in discrimination."""
    zero = (found.table("raters")["kappa"] == 0).to_numpy()
    best = (truth.rho == 1) & (np.ptp(truth.slope) > 0) & (found.model == "gmf")
    return list(np.where(zero, AT_ZERO, np.where(best, BEST, INSIDE)))


def _at(truth: Truth, theta: float) -> Array:
    return capability.gmf(rho=truth.rho, eta=truth.severity, sigma=truth.sigma, theta=theta)


# --------------------------------------------------------------------------------------------- results


def coverage(rows: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Share of intervals that hold, with the standard error that chance in the replications gives it, and width.

    Raters of a replication share its luck: replications are what is independent.
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
            pl.col("method").is_in([DEFAULT, CORRECTED, SHRUNK]),
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


STUDY = Study("calibration", "Do intervals hold?", 1000, replicate, summarise)
