"""Halo and intervals: what becomes of coverage where scores of a reading share more than ability.

The design of the writing assessment: its readings, its raters' printed discriminations and severities (scaled to the
size that marginal likelihood finds), with a reading effect or without.
"""

import numpy as np
import polars as pl

from benchmarks.studies import means, opening, percent
from raterlens.base.arrays import Array
from raterlens.base.layers import Axis
from raterlens.base.picture import Picture
from raterlens.config import FitConfig, HaloKind
from raterlens.fitting.assumptions import p_of_ratio
from raterlens.fitting.fit import Fit, fitted
from raterlens.models.requested import CLEAR
from raterlens.simulation import example as writing
from raterlens.simulation.example import load_example
from raterlens.simulation.simulate import Simulated, simulate
from raterlens.studies.study import HEIGHT, Results, Study, Task, around, curves, label_rows, page, table

SPREADS = (0.0, 0.5, 1.0)
"""Spreads of the reading effect that ratings are drawn with."""
KINDS: dict[str, HaloKind] = {"without halo": "none", "halo common": "common"}
SIGMA = 2.1
MEASURES = {
    "kappa": "capability κ̄",
    "eta": "severity",
    "theta": "ability",
    "halo": "spread of the reading effect",
}


def draw_ratings(spread: float, seed: list[int]) -> Simulated:
    return simulate(
        design=load_example().table(),
        slope=SIGMA * writing.RHO,
        severity=0.85 * writing.ETA,
        difficulty=[writing.DELTA[item] for item in sorted(writing.DELTA)],
        halo=spread,
        seed=seed,
    )


def replicate(task: Task) -> pl.DataFrame:
    frames = []
    for which, spread in enumerate(SPREADS):
        drawn = draw_ratings(spread, [*task.entropy, which])
        fits = {name: fitted(drawn.ratings, FitConfig(halo=kind)) for name, kind in KINDS.items()}
        plain, common = fits.values()
        p = p_of_ratio(2 * (common.loglik - plain.loglik), 1, variance=True)
        for name, fit in fits.items():
            rows = pl.DataFrame(
                [(measure, *covered(fit, drawn, measure, spread)) for measure in MEASURES],
                schema={"measure": pl.String, "covered": pl.Float64, "width": pl.Float64},
                orient="row",
            )
            found = float(fit.table("raters")["halo"][0]) if "halo" in fit.table("raters").columns else np.nan
            frames.append(label_rows(rows, spread=spread, fitted=name, p=p, estimate=found))
    return pl.concat(frames)


def covered(fit: Fit, drawn: Simulated, measure: str, spread: float) -> tuple[float, float]:
    """Share of 95 % intervals that hold the truth, and their mean width."""
    raters, students, truth = fit.table("raters"), fit.table("students"), drawn.truth
    if measure == "halo":
        if "halo" not in raters.columns:
            return np.nan, np.nan
        low, high = (raters[f"halo_{end}"].to_numpy()[:1] for end in ("low", "high"))
        return _inside(low, high, np.array([spread]))
    if measure == "kappa":
        return _inside(raters["kappa_low"].to_numpy(), raters["kappa_high"].to_numpy(), truth.kappa)
    table, right = (raters, truth.severity) if measure == "eta" else (students, truth.ability)
    middle, error = table[measure].to_numpy(), 1.96 * table[f"{measure}_se"].to_numpy()
    return _inside(middle - error, middle + error, right)


def _inside(low: Array, high: Array, truth: Array) -> tuple[float, float]:
    return float(np.mean((low <= truth) & (truth <= high))), float(np.mean(high - low))


def summarise(rows: pl.DataFrame) -> Results:
    found = (
        rows.group_by("spread", "fitted", "measure", maintain_order=True)
        .agg(
            *means("covered"),
            pl.col("width").mean(),
            pl.len().alias("replications"),
        )
        .filter(pl.col("covered").is_not_nan())
    )
    once = rows.filter(pl.col("fitted") == "halo common", pl.col("measure") == "kappa")
    tests = once.group_by("spread", maintain_order=True).agg(
        (pl.col("p") <= CLEAR).mean().alias("clear"), pl.col("estimate").mean()
    )
    lines = [
        [
            f"{row['spread']:g}",
            row["fitted"],
            MEASURES[row["measure"]],
            percent(row),
            f"{row['width']:.2f}",
        ]
        for row in found.iter_rows(named=True)
    ]
    power = [[f"{s:g}", f"{100 * share:.1f}", f"{tau:.2f}"] for s, share, tau in tests.iter_rows()]
    text = page(
        "# Dependence: intervals where scores of a reading share more than ability",
        opening("dependence", int(found["replications"].max())),  # type: ignore[arg-type]
        "Ratings on the design of the writing assessment (363 students, 16 raters, 5 items, 1,452 readings), drawn "
        "with a reading effect of the spread in the first column and fitted with and without one. Covered: percent of "
        "95 % intervals that hold the truth, with Monte-Carlo standard errors.",
        "![Coverage by spread](dependence.png)",
        table(["Spread", "Fitted", "Intervals of", "Covered", "Width"], lines),
        f"How often the test of a common effect has p ≤ {CLEAR:g}, in percent, and the mean estimate of the spread:",
        table(["Spread", "Clear", "Estimate"], power),
    )
    return Results(text, {"coverage": found, "tests": tests})


def draw(results: Results) -> Picture:
    data = results.tables["coverage"].filter(pl.col("measure") != "halo")
    data = data.with_columns(covered=100 * pl.col("covered"))
    x = around(data["spread"], "Spread of the reading effect")
    y = Axis(min(75.0, float(data["covered"].to_numpy().min())), 100.0, "Covered, %", (5, 5), grid=True)
    panels = tuple(
        curves(data.filter(measure=name), ("spread", "covered", "fitted"), x, y, title=words, points=True)
        for name, words in MEASURES.items()
        if name != "halo"
    )
    return Picture(panels, "Coverage of intervals by the spread of the reading effect.", HEIGHT, (3, 1))


STUDY = Study("dependence", 200, replicate, summarise, draw)
