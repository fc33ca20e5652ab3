"""The paper's Study 2: how a rater's capability changes with severity, on the design of the writing assessment.

True values are the paper's estimates, but for the severities, which run from -2.5 to 2.5 by 0.1. In each of 51
conditions every rater has another of the 51 values, so that 51 fits (and not 16 times as many) give every rater
every value. Raters go in pairs with opposite severities: the average rater, from whom severity is measured,
stays where he is.
"""

import numpy as np
import polars as pl

from raterlens import capability
from raterlens.fitting import fit
from raterlens.simulation import published as paper
from raterlens.simulation.example import load_example
from raterlens.simulation.simulate import Simulated, simulate
from raterlens.studies.accuracy import accuracy, compare, replications
from raterlens.studies.markdown import number, opening, page, table, with_error
from raterlens.studies.study import Results, Study, Task
from raterlens.types import Array

METHODS = ("hl", "mml")
GRID: Array = np.round(np.arange(-25, 26) / 10, 1)
RATERS = [f"{rater}:{topic}" for rater, topic, *_ in paper.WRITING_TABLE]
RHO: Array = np.array([row[4] for row in paper.WRITING_TABLE])
ETA: Array = np.array([row[5] for row in paper.WRITING_TABLE])


def severities(condition: int) -> Array:
    """One of the grid for each rater: pairs (first, ninth), (second, tenth) .. have opposite values."""
    pairs = len(RATERS) // 2
    first = (condition + np.arange(pairs) * len(GRID) // pairs) % len(GRID)
    return np.asarray(GRID[np.concatenate([first, len(GRID) - 1 - first])])


def draw(task: Task, condition: int) -> Simulated:
    """The bundled design, which has the published number of ratings for each rater and topic."""
    design = load_example()
    return simulate(
        design=(design.student, design.rater, design.item),
        slope=RHO * paper.WRITING_SIGMA,
        severity=severities(condition),
        difficulty=[paper.WRITING_DELTA[item] for item in design.items],
        alpha=paper.WRITING_ALPHA,
        seed=[*task.entropy, condition],
    )


def replicate(task: Task, conditions: range = range(len(GRID))) -> pl.DataFrame:
    """Estimated capability of every rater at every severity."""
    frames = []
    for condition in conditions:
        drawn = draw(task, condition)
        severity = pl.Series("severity", np.round(drawn.truth.severity, 1))
        for method in METHODS:
            found = fit(drawn.ratings, method=method, standard_errors=False)
            rows = compare(found, drawn.truth, ("kappa",), method=method)
            frames.append(rows.with_columns(severity, level=pl.Series(RATERS)))
    return pl.concat(frames)


def boxes(rows: pl.DataFrame) -> pl.DataFrame:
    """Quantiles of the estimates for every rater, severity and method, beside the true curve."""
    estimate = pl.col("estimate")
    return (
        rows.group_by("method", "level", "severity")
        .agg(
            pl.col("truth").first(),
            *(
                estimate.quantile(q, "linear").alias(f"q{100 * q:02.0f}")
                for q in (0.05, 0.25, 0.5, 0.75, 0.95)
            ),
        )
        .sort("method", "level", "severity")
        .with_columns(
            rater=pl.col("level").str.split(":").list.get(0), topic=pl.col("level").str.split(":").list.get(1)
        )
    )


def summarise(rows: pl.DataFrame) -> Results:
    found = accuracy(rows, ["method", "level"])
    have = {(row["method"], row["level"]): row for row in found.iter_rows(named=True)}
    gain = [_gain(rho, eta) for rho, eta in zip(RHO, ETA, strict=True)]
    lines = []
    for rater, rho, eta, (now, best) in zip(RATERS, RHO, ETA, gain, strict=True):
        errors = [
            with_error(have[method, rater][name], have[method, rater][f"{name}_se"])
            for method in METHODS
            for name in ("bias", "rmse")
        ]
        lines.append([rater, number(rho), number(eta), number(now), number(best), *errors])
    heading = ["Rater", "ρ", "η", "κ̄", "κ̄ at η = 0", *(f"{s} {m}" for m in METHODS for s in ("bias", "RMSE"))]
    text = page(
        "# Study 2: capability against severity",
        opening("study2", replications(found)),
        "Four raters on four topics are sixteen raters; true "
        "discriminations, difficulties and σ = 2.51 are the paper's estimates, the design has its numbers of ratings. "
        "Severities run from -2.5 to 2.5 by 0.1.",
        "![Capability against severity, for each rater and topic](study2.png)",
        "Boxes: the middle half of the estimates (`mml`), whiskers the middle 90 %; line: the truth; dashes: the "
        "severity that the paper estimates.",
        "κ̄ at the paper's severity, and what it would be at severity 0; bias and RMSE of the estimates over all 51 "
        "severities, with Monte-Carlo standard errors:",
        table(heading, lines),
        "Every rater gains by moving to severity 0, AM on Sport as much as on the other topics: the paper's text "
        "calls AM on Sport unbiased, but its table has -1.77 there.",
    )
    return Results(text, {"boxes": boxes(rows), "accuracy": found})


def _gain(rho: float, eta: float) -> tuple[float, float]:
    now, best = capability.gmf(rho=rho, eta=[eta, 0.0], sigma=paper.WRITING_SIGMA)
    return float(now), float(best)


STUDY = Study(
    "study2", "The paper's Study 2: capability against severity", paper.REPLICATIONS, replicate, summarise
)
