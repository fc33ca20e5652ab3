"""Raters judged by their own ratings alone, or as a sample of raters: which default is right more often?

Panels of many sizes are drawn with known raters and fitted with and without the panel prior. What counts is how far
capability is off, whether raters come out in the right order, and whether 95 % intervals cover.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from benchmarks.studies import means, opening
from raterlens import capability
from raterlens.base.arrays import Array
from raterlens.base.picture import Picture
from raterlens.base.text import number
from raterlens.capability.formulas import sharpness
from raterlens.config import FitConfig, Prior
from raterlens.fitting.fit import Fit, fitted
from raterlens.simulation.simulate import Simulated, simulate
from raterlens.studies.paper import simulate_study1, simulate_writing
from raterlens.studies.study import (
    HEIGHT,
    Results,
    Study,
    Task,
    around,
    curves,
    from_zero,
    page,
    table,
    with_error,
)

PRIORS: tuple[Prior, ...] = ("none", "panel")
QUANTITIES = {
    "kappa": "κ̄",
    "perfect": "κ̄, perfect yardstick",
    "sharpness": "sharpness",
    "eta": "severity",
    "theta": "ability",
}
_USUAL, _SPREAD, _SEVERITY = 1.5, 0.4, 0.7
# A planted rater counts as named if its 95 % interval of sharpness lies below this.
_BLUNT = 0.5
_SHARES = ("best", "worst", "rank", "found", "named", "falsely")
# Raters estimated at 0, and how many of them are covered.
_COUNTS = ("zeros", "zero")


@dataclass(frozen=True, slots=True)
class Condition:
    """A panel to be drawn: how many, who marks whom, and what raters are like."""

    name: str
    draw: Callable[[list[int]], Simulated]
    planted: bool = False
    """The first rater is unlike the others."""


def _panel(
    raters: int, students: int, items: int, per_student: int, truth: str = "log-normal"
) -> Callable[[list[int]], Simulated]:
    def draw(seed: list[int]) -> Simulated:
        random = np.random.default_rng([*seed, raters, students])
        return simulate(
            students=students,
            raters=raters,
            items=items,
            raters_per_student=min(per_student, raters),
            slope=_slopes(raters, truth, random),
            severity=_SEVERITY * random.standard_normal(raters),
            difficulty=np.linspace(-0.8, 0.8, items) if items > 1 else 0.0,
            seed=seed,
        )

    return draw


def _slopes(raters: int, truth: str, random: np.random.Generator) -> Array:
    if truth == "normal":
        return np.asarray(np.maximum(_USUAL + 0.5 * random.standard_normal(raters), 0.1))
    if truth == "heavy-tailed":
        return np.asarray(np.abs(_USUAL + 0.35 * random.standard_t(2, raters)))
    if truth == "log-normal":
        return np.asarray(_USUAL * np.exp(_SPREAD * random.standard_normal(raters)))
    slopes = np.full(raters, _USUAL)
    slopes[0] = float(truth)
    return slopes


CONDITIONS = (
    Condition("3 raters, 50 students, 1 item", _panel(3, 50, 1, 3)),
    Condition("5 raters, 60 students, 1 item, 3 per student", _panel(5, 60, 1, 3)),
    Condition("5 raters, 100 students, 1 item", _panel(5, 100, 1, 5, "normal")),
    Condition("8 raters, 100 students, 1 item, 3 per student", _panel(8, 100, 1, 3)),
    Condition("12 raters, 200 students, 1 item, 5 per student", _panel(12, 200, 1, 5, "heavy-tailed")),
    Condition("20 raters, 500 students, 1 item, 2 per student", _panel(20, 500, 1, 2)),
    Condition("5 raters, 100 students, 5 items, 2 per student", _panel(5, 100, 5, 2)),
    Condition("20 raters, 200 students, 5 items, 3 per student", _panel(20, 200, 5, 3, "heavy-tailed")),
    Condition("5 raters, 100 students, 1 item, one with slope 0", _panel(5, 100, 1, 5, "0"), planted=True),
    Condition("10 raters, 200 students, 1 item, one with slope 0", _panel(10, 200, 1, 5, "0"), planted=True),
    Condition(
        "10 raters, 200 students, 3 items, one with slope 0.3", _panel(10, 200, 3, 3, "0.3"), planted=True
    ),
    Condition("writing", simulate_writing),
    Condition("study 1", simulate_study1),
)


def replicate(task: Task, conditions: tuple[Condition, ...] = CONDITIONS) -> pl.DataFrame:
    frames = []
    for number_, condition in enumerate(conditions):
        made = condition.draw([*task.entropy, number_])
        for prior in PRIORS:
            fit = fitted(made.ratings, FitConfig(prior=prior))
            labels = {"condition": pl.lit(condition.name), "prior": pl.lit(prior)}
            frames.append(_rows(made, fit, planted=condition.planted).select(**labels, **_every()))
    return pl.concat(frames)


def _every() -> dict[str, pl.Expr]:
    return {name: pl.col(name) for name in ("quantity", "square", "error", "covered", *_SHARES, *_COUNTS)}


def _rows(made: Simulated, fit: Fit, *, planted: bool) -> pl.DataFrame:
    """A row per quantity: mean errors and coverage over the panel, and what of the best and the worst rater."""
    truth, raters, students = made.truth, fit.table("raters"), fit.table("students")
    perfect = fit.capability(reference="perfect")
    at_zero = raters["rho"].to_numpy() == 0
    true = {
        "kappa": _true_kappa(made),
        "perfect": _perfect(truth.slope, truth.severity),
        "sharpness": sharpness(slope=truth.slope, severity=truth.severity),
        "eta": truth.severity,
        "theta": truth.ability,
    }
    found = {
        "kappa": raters.select("kappa", "kappa_low", "kappa_high").to_numpy().T,
        "perfect": perfect.select("kappa", "kappa_low", "kappa_high").to_numpy().T,
        "sharpness": raters.select("sharpness", "sharpness_low", "sharpness_high").to_numpy().T,
        "eta": _with_ends(raters, "eta"),
        "theta": _with_ends(students, "theta"),
    }
    rows = []
    for name, (estimate, low, high) in found.items():
        right = np.asarray(true[name])
        covered = (low <= right + 1e-9) & (right - 1e-9 <= high)
        of_raters = name not in ("eta", "theta")
        best, worst = int(np.argmax(right)), int(np.argmin(right))
        rows.append(
            {
                "quantity": name,
                "square": float(np.mean((estimate - right) ** 2)),
                "error": float(np.mean(estimate - right)),
                "covered": float(covered.mean()),
                "best": float(covered[best]) if of_raters else None,
                "worst": float(covered[worst]) if of_raters else None,
                "rank": _rank_correlation(estimate, right) if of_raters else None,
                "found": float(np.argmax(estimate) == best) if of_raters else None,
                "named": float(high[0] < _BLUNT) if planted and name == "sharpness" else None,
                "falsely": float(np.mean(high[1:] < _BLUNT)) if planted and name == "sharpness" else None,
                "zeros": float(at_zero.sum()) if of_raters else None,
                "zero": float(covered[at_zero].sum()) if of_raters else None,
            }
        )
    return pl.DataFrame(rows, schema_overrides=dict.fromkeys((*_SHARES, *_COUNTS), pl.Float64))


def _true_kappa(made: Simulated) -> Array:
    slope, steepest = made.truth.slope, float(np.max(made.truth.slope))
    return capability.gmf(rho=slope / steepest, eta=made.truth.severity, sigma=steepest)


def _perfect(slope: Array, severity: Array) -> Array:
    """Against a rater without noise: that of the GMF at its own slope, times the capability of that slope."""
    steep = np.maximum(slope, 1e-9)
    own = capability.gmf(rho=1.0, eta=severity, sigma=steep)
    return np.asarray(own * sharpness(slope=steep, severity=0.0) * (slope > 0))


def _with_ends(frame: pl.DataFrame, name: str) -> Array:
    value, se = frame[name].to_numpy(), frame[f"{name}_se"].to_numpy()
    return np.stack([value, value - 1.96 * se, value + 1.96 * se])


def _rank_correlation(estimate: Array, truth: Array) -> float | None:
    if np.ptp(truth) < 1e-12 or np.ptp(estimate) < 1e-12:
        return None
    return float(stats.spearmanr(estimate, truth).statistic)


def accuracy(rows: pl.DataFrame) -> pl.DataFrame:
    """Over replications, with Monte-Carlo standard errors."""
    return (
        rows.group_by("condition", "prior", "quantity", maintain_order=True)
        .agg(
            pl.len().alias("replications"),
            pl.col("square").mean().sqrt().alias("rmse"),
            *means("error", "covered"),
            *(pl.col(name).mean() for name in _SHARES),
            *(pl.col(name).sum() for name in _COUNTS),
        )
        .rename({"error": "bias", "error_se": "bias_se"})
        .with_columns(pl.col("covered_se", "bias_se").fill_null(float("nan")))
    )


def summarise(rows: pl.DataFrame) -> Results:
    found = accuracy(rows)
    text = page(
        "# Panel prior or none: which default is right more often?",
        opening("priors", int(max(found["replications"].to_list()))),
        'Each panel is fitted with `prior="none"`, every rater by its own ratings alone, and with `prior="panel"`, '
        "raters as a sample of raters. Slopes are log-normal around 1.5 (sd of the logarithm 0.4), but for these: the "
        "third design has normal slopes, the fifth and the eighth heavy-tailed ones (t with 2 df).",
        "![RMSE of capability with and without the prior](priors.png)",
        "## Capability, relative to the best rater (the paper's)",
        _errors(found, "kappa"),
        "## Capability against a perfect rater",
        _errors(found, "perfect"),
        "## Do 95 % intervals cover?",
        "Percent, with the Monte-Carlo standard error; without prior → with prior.",
        _coverage(found),
        "## One rater who cannot tell students apart",
        f"How often the upper limit of the planted rater's sharpness is below {_BLUNT}, how often that of another "
        "rater is, and how often the planted rater's interval covers.",
        _planted(found),
        "Where panels are small or sparse, the prior lowers every error and its intervals cover. But it pulls a single "
        "rater who is unlike the others towards them, and with raters who are otherwise all alike the expected largest "
        "slope is too large. So each rater is judged by its own ratings unless the prior is asked for.",
    )
    return Results(text, {"accuracy": found})


def _pairs(found: pl.DataFrame, quantity: str) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    own = found.filter(pl.col("quantity") == quantity)
    have = own.rows_by_key(["condition", "prior"], named=True, unique=True)
    names = own["condition"].unique(maintain_order=True)
    return [(name, have[name, "none"], have[name, "panel"]) for name in names]


def _errors(found: pl.DataFrame, quantity: str) -> str:
    heading = [
        "Panel",
        "RMSE",
        "with prior",
        "bias",
        "with prior",
        "rank correlation",
        "with prior",
        "best found",
        "with prior",
    ]
    cells = [
        [
            name,
            *(number(one["rmse"], 3) for one in pair),
            *(with_error(one["bias"], one["bias_se"]) for one in pair),
            *(number(one["rank"], 2) for one in pair),
            *(_percent(one["found"]) for one in pair),
        ]
        for name, *pair in _pairs(found, quantity)
    ]
    return table(heading, cells)


def _coverage(found: pl.DataFrame) -> str:
    by_quantity = {quantity: _pairs(found, quantity) for quantity in QUANTITIES}
    kappa = by_quantity["kappa"]
    cells = []
    for row, (name, *pair) in enumerate(kappa):
        cell = [name]
        for quantity in QUANTITIES:
            _, *both = by_quantity[quantity][row]
            cell.append(
                " → ".join(_percent(one["covered"]) for one in both) + f" ± {100 * both[1]['covered_se']:.1f}"
            )
        cell += [" → ".join(_percent(one[which]) for one in pair) for which in ("best", "worst")]
        at_zero = by_quantity["sharpness"][row][1]
        few = f"{at_zero['zero']:.0f} of {at_zero['zeros']:.0f}"
        cell.append(few if at_zero["zeros"] else "–")
        cells.append(cell)
    last = ("κ̄ of the best", "κ̄ of the worst", "sharpness of who is estimated at 0, without prior")
    return table(["Panel", *QUANTITIES.values(), *last], cells)


def _planted(found: pl.DataFrame) -> str:
    cells = [
        [
            name,
            *(_percent(one["named"]) for one in pair),
            *(f"{100 * one['falsely']:.1f} %" for one in pair),
            *(_percent(one["worst"]) for one in pair),
        ]
        for name, *pair in _pairs(found.filter(pl.col("named").is_not_null()), "sharpness")
    ]
    heading = ["Panel", "named", "with prior", "others named", "with prior", "covered", "with prior"]
    return table(heading, cells)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f} %"


def errors_by_panel(results: Results) -> pl.DataFrame:
    """panel, prior, rmse: what the figure shows."""
    own = results.tables["accuracy"].filter(pl.col("quantity") == "kappa")
    order = own["condition"].unique(maintain_order=True).to_list()
    return own.select(
        pl.col("condition")
        .replace_strict(order, list(range(1, len(order) + 1)), return_dtype=pl.Int32)
        .alias("panel"),
        pl.col("prior").replace_strict({"none": "each by its own ratings", "panel": "panel prior"}),
        "rmse",
    )


def draw(results: Results) -> Picture:
    data = errors_by_panel(results)
    x = replace(around(data["panel"].cast(pl.Float64), "Panel, in the order of the table"), whole=True)
    panel = curves(data, ("panel", "rmse", "prior"), x, from_zero(data["rmse"], "RMSE of κ̄"), points=True)
    return Picture((panel,), "Error of capability with and without a panel prior.", HEIGHT)


STUDY = Study("priors", 100, replicate, summarise, draw)
