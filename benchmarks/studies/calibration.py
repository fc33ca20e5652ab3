"""Do intervals cover? Coverage and width of every interval of kappa, and the bias of every estimator.

Ratings are drawn from a model with known capability and fitted; a 95 % interval covers if it contains the truth.
Raters at a bound are kept apart: those estimated at 0, and the truly best, whose rho is 1.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from scipy import special, stats

from benchmarks.studies import named_rows, opening
from raterlens import capability
from raterlens.base.arrays import Array, Mask
from raterlens.base.layers import Axis, Bars, Layer, Segments, Stroke
from raterlens.base.picture import Panel, Picture
from raterlens.base.text import number
from raterlens.config import FitConfig
from raterlens.fitting.fit import Fit, fitted
from raterlens.inference.profile import Profiler
from raterlens.inference.resampling import Bootstrap
from raterlens.simulation.simulate import Simulated, Truth, simulate
from raterlens.studies import paper
from raterlens.studies.paper import simulate_study1, simulate_writing
from raterlens.studies.study import Results, Study, Task, from_zero, rows_height, table, with_error
from raterlens.studies.study import page as joined

_TAILS = np.array([0.025, 0.975])


def kappas(again: Bootstrap) -> list[Array]:
    """Kappas of each rater, in the fit's order, in the replicates that had the rater."""
    labels = again.fit.table("raters")["rater"]
    each = (again.replicates.filter(pl.col("rater") == label) for label in labels)
    return [one["kappa"].drop_nulls().to_numpy() for one in each]


def percentile(drawn: Array) -> tuple[float, float]:
    """Quantiles of the replicates."""
    low, high = np.quantile(drawn, _TAILS)
    return float(low), float(high)


def bias_corrected(drawn: Array, estimate: float) -> tuple[float, float]:
    """Quantiles of the replicates, shifted by how many lie below the estimate."""
    below = np.mean(drawn < estimate) + np.mean(drawn == estimate) / 2
    shift = 2 * stats.norm.ppf(np.clip(below, 1 / len(drawn), 1 - 1 / len(drawn)))
    low, high = np.quantile(drawn, stats.norm.cdf(shift + stats.norm.ppf(_TAILS)))
    return float(low), float(high)


@dataclass(frozen=True, slots=True)
class Condition:
    """A design with its truth, and the model fitted to it."""

    design: str
    model: str
    simulate: Callable[[list[int]], Simulated]
    main: bool = False
    """In every replication, with profiles and bootstraps."""


def _paper_abilities(seed: list[int]) -> Simulated:
    return simulate_study1(seed, ability=paper.ABILITY)


def _shuffled(seed: list[int]) -> Simulated:
    """Severity says nothing about discrimination; in Study 1 it determines it."""
    order = np.random.default_rng(5).permutation(paper.RATERS)
    return simulate_study1(seed, severity=paper.ETA[order])


_SLOPES: Array = np.array([0.6, 1.0, 1.4, 1.8, 1.6, 1.4, 1.0, 0.6])


def _small(model: str, students: int) -> Callable[[list[int]], Simulated]:
    """Eight raters, four per student, four items."""
    level = np.linspace(-0.7, 0.7, 8)
    raters: dict[str, dict[str, Any]] = {
        "gmf": {"slope": _SLOPES, "severity": level},
        "tfm": {"slope": 1.3, "severity": level},
        "probit": {"noise": 1.5 / _SLOPES, "threshold": level},
    }

    def draw(seed: list[int]) -> Simulated:
        return simulate(
            students=students,
            raters=8,
            items=4,
            raters_per_student=4,
            model=model,
            difficulty=np.linspace(-0.6, 0.6, 4),
            **raters[model],
            seed=seed,
        )

    return draw


CONDITIONS = (
    Condition("writing", "gmf", simulate_writing, main=True),
    # Students drawn afresh, as standard errors assume.
    Condition("study 1", "gmf", simulate_study1, main=True),
    Condition("study 1, the paper's abilities", "gmf", _paper_abilities),
    Condition("study 1, severity shuffled", "gmf", _shuffled),
    *(
        Condition(f"8 raters, {students} students", model, _small(model, students))
        for model in ("gmf", "tfm", "probit")
        for students in (100, 400)
    ),
)


DEFAULT = "draws (the default)"
SANDWICH = "draws, sandwich covariance"
CORRECTED = "draws, corrected yardstick"
SAMPLED = "panel prior"
WALD = "Wald"
LOGIT = "Wald, logit scale"
PROFILE = "profile likelihood"
BOOTSTRAPS = {
    "students": ("bootstrap of students, percentile", "bootstrap of students, bias-corrected"),
    "parametric": ("parametric bootstrap, percentile", "parametric bootstrap, bias-corrected"),
}
"""Names of the intervals of each kind: quantiles of the replicates, and shifted ones."""

METHODS = (
    DEFAULT,
    PROFILE,
    SANDWICH,
    WALD,
    LOGIT,
    *BOOTSTRAPS["students"],
    *BOOTSTRAPS["parametric"],
    CORRECTED,
    SAMPLED,
)
INSIDE = "inside"
"""Raters away from any bound."""
_MAIN = ("writing", "study 1")


def page(tables: Mapping[str, pl.DataFrame]) -> str:
    overall = tables["overall"]
    replications = int(max(overall["replications"].to_list()))
    return joined(
        "# Calibration: do intervals cover?",
        opening("calibration", replications),
        "Nominal 95 % intervals of κ̄ on ratings with known truth. Coverage is the share of intervals that contain the "
        "truth, ± its Monte-Carlo standard error (replications are independent, raters within one are not); width is "
        "the mean width; *too high* is the share that lies above the truth. Profiles and bootstraps take many fits "
        "each, so they come from every fifth and every fiftieth replication; designs other than the paper's two come "
        "from the first 200.",
        "![Coverage and width of every interval](calibration.png)",
        "## Raters inside",
        "All raters but those at a bound: estimated at 0, or truly the most discriminating (ρ = 1).",
        _methods(tables["coverage"].filter(pl.col("group") == INSIDE)),
        "## Raters at a bound",
        _group_words(tables["coverage"]),
        "The truly best rater has ρ = 1, and by chance another is estimated above it in about half of the "
        "replications. Its interval then depends on how close the two are, and misses more often than the others. "
        "Raters estimated at 0 are by selection weak raters with bad luck, so fewer of their one-sided intervals reach "
        "the truth; over all replications weak raters are covered like the others (next table).",
        "## Every rater, default method",
        _raters(tables["raters"]),
        "## κ(θ)",
        "Pointwise intervals at three abilities, default method, raters inside.",
        _curves(tables["curves"].filter(pl.col("group") == INSIDE)),
        "## Bias and error of the estimators",
        "Mean over raters of the absolute bias, and of the RMSE, of κ̄. The panel prior takes raters for a sample of "
        'raters (see the study `priors`); `reference="max corrected"` subtracts from the largest slope what chance '
        "adds to it.",
        _estimators(tables["estimators"]),
        "The corrected yardstick lowers bias on every design, at the cost of a somewhat larger error.",
    )


def _design(row: Mapping[str, Any]) -> str:
    return f"{row['design']}, {row['model'].upper()}"


def _coverage(row: Mapping[str, Any]) -> str:
    """In percent, with its Monte-Carlo standard error."""
    return with_error(100 * row["coverage"], 100 * row["coverage_se"], 1)


def _methods(found: pl.DataFrame) -> str:
    rows = []
    for _, part in found.group_by("design", "model", maintain_order=True):
        have = part.rows_by_key("method", named=True, unique=True)
        rows += [
            [
                _design(have[method]),
                method,
                str(have[method]["replications"]),
                _coverage(have[method]),
                number(have[method]["width"], 3),
                number(100 * have[method]["too_high"], 1),
            ]
            for method in METHODS
            if method in have
        ]
    return table(["Design", "interval", "replications", "coverage, %", "width", "too high, %"], rows)


def _group_words(found: pl.DataFrame) -> str:
    rows = [
        [
            _design(row),
            row["group"],
            row["method"],
            f"{row['intervals']:,}",
            _coverage(row),
            number(row["width"], 3),
        ]
        for row in found.filter(pl.col("group") != INSIDE, pl.col("design").is_in(_MAIN)).iter_rows(
            named=True
        )
    ]
    return table(["Design", "raters", "interval", "intervals", "coverage, %", "width"], rows)


def _raters(found: pl.DataFrame) -> str:
    rows = [
        [
            _design(row),
            row["rater"],
            number(row["truth"], 3),
            _coverage(row),
            number(row["width"], 3),
            number(100 * row["too_high"], 1),
        ]
        for row in found.filter(pl.col("design").is_in(_MAIN)).iter_rows(named=True)
    ]
    return table(["Design", "rater", "true κ̄", "coverage, %", "width", "too high, %"], rows)


def _curves(found: pl.DataFrame) -> str:
    rows = [
        [
            _design(row),
            row["quantity"].replace("kappa", "κ"),
            _coverage(row),
            number(row["width"], 3),
        ]
        for row in found.iter_rows(named=True)
    ]
    return table(["Design", "at", "coverage, %", "width"], rows)


_ESTIMATORS = {DEFAULT: "plain", CORRECTED: "corrected yardstick", SAMPLED: "panel prior"}


def _estimators(found: pl.DataFrame) -> str:
    rows = []
    for _, part in found.group_by("design", "model", maintain_order=True):
        have = part.rows_by_key("method", named=True, unique=True)
        plain = have[DEFAULT]
        for method, name in _ESTIMATORS.items():
            if method not in have:
                continue
            own = have[method]
            rows.append(
                [
                    _design(own),
                    name,
                    str(own["replications"]),
                    number(own["absolute_bias"], 4),
                    f"{100 * (own['absolute_bias'] / plain['absolute_bias'] - 1):+.0f} %",
                    number(own["rmse"], 4),
                    f"{100 * (own['rmse'] / plain['rmse'] - 1):+.0f} %",
                ]
            )
    return table(
        ["Design", "estimator", "replications", "mean absolute bias", "change", "mean RMSE", "change"], rows
    )


_DESIGNS = {"writing": "Writing design", "study 1": "Study 1's design"}
_GOAL = (0.93, 0.97)


def calibration_data(results: Results) -> pl.DataFrame:
    """Data of raters inside: design, method, coverage with two standard errors each way, and width."""
    reach = 2 * pl.col("coverage_se")
    return (
        results.tables["coverage"]
        .filter(pl.col("group") == INSIDE, pl.col("design").is_in(list(_DESIGNS)))
        .select(
            pl.col("design").replace(_DESIGNS),
            "method",
            "coverage",
            low=(pl.col("coverage") - reach).clip(0, 1),
            high=(pl.col("coverage") + reach).clip(0, 1),
            width="width",
            default=pl.col("method") == DEFAULT,
        )
    )


def draw(results: Results) -> Picture:
    data = calibration_data(results)
    present = set(data["method"])
    order = [method for method in METHODS if method in present]
    least = min(0.85, float(data["low"].to_numpy().min()))
    coverage = Axis(least, 1.0, "Coverage of 95 % intervals", (4, 3), grid=True)
    width = from_zero(data["width"].drop_nulls(), "Mean width")
    panels: list[Panel] = []
    for design in _DESIGNS.values():
        rows = data.filter(design=design).with_columns(
            kind=pl.when("default").then(pl.lit(DEFAULT)).otherwise(pl.lit("other methods")),
        )
        if rows.height:
            left = named_rows(rows, ("method", "coverage", "kind"), coverage, order, title=design)
            right = named_rows(rows.drop_nulls("width"), ("method", "width", "kind"), width, order)
            panels += [replace(left, layers=(*_bars(rows, order), *left.layers)), right]
    return Picture(
        tuple(panels), "Coverage and mean width of intervals, by method.", rows_height(order), (2, 2)
    )


def _bars(rows: pl.DataFrame, order: list[str]) -> tuple[Layer, Layer]:
    """The goal, and two standard errors of each share to both sides."""
    places = {method: place + 0.5 for place, method in enumerate(order)}
    rows = rows.with_columns(row=pl.col("method").replace_strict(places, return_dtype=pl.Float64))
    goal = pl.DataFrame({"low": [_GOAL[0]], "high": [_GOAL[1]], "top": [0.0], "foot": [float(len(order))]})
    return (
        Bars(goal, "low", "top", "high", "foot", "line", 0.6),
        Segments(rows, "low", "row", "high", "row", Stroke("faint", 1.6)),
    )


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
    """Intervals of one method for every rater."""

    method: str
    estimate: Array
    low: Array
    high: Array
    covered: Mask | None = None
    """Where it is known without the ends."""
    quantity: str = "kappa"
    truth: Array | None = None
    """Truth of the quantity; None for kappa, which the simulation knows."""


# ----------------------------------------------------------------------------------------- replications


def replicate(task: Task, conditions: tuple[Condition, ...] = CONDITIONS) -> pl.DataFrame:
    frames: list[pl.DataFrame] = []
    for place, condition in enumerate(conditions):
        if not condition.main and task.index >= EVERYWHERE:
            continue
        made = condition.simulate([*task.entropy, place])
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
    """Methods that take a fit or two."""
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
    """Methods that take many fits."""
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
            low[r], high[r], _ = profile.interval(threshold, guess, (0.0, 1.0))
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


STUDY = Study("calibration", 1000, replicate, summarise, draw)
