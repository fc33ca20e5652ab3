"""The paper's Study 2: how a rater's capability changes with severity, on the design of the writing assessment.

True values are the paper's estimates, except for the severities, which run from -2.5 to 2.5 in steps of 0.1. In each of
51 conditions every rater has a different one of the 51 values, so 51 fits (not 16 times as many) give every rater every
value. Raters are paired with opposite severities, so the average rater, the origin of severity, does not move.
"""

import numpy as np
import polars as pl

from raterlens import capability
from raterlens.base.arrays import Array
from raterlens.base.layers import LIMIT, Axis, Line, Segments, Stroke, rule
from raterlens.base.picture import Panel, Picture
from raterlens.base.text import number
from raterlens.config import FitConfig, Method
from raterlens.fitting.fit import fitted
from raterlens.simulation import example as writing
from raterlens.studies.paper import REPLICATIONS, simulate_writing
from raterlens.studies.study import Results, Study, Task, accuracy, compare, page_of, statistic, table

METHODS: tuple[Method, ...] = ("hl", "mml")
CONFIGS = {method: FitConfig(method=method, standard_errors=False) for method in METHODS}
GRID: Array = np.round(np.arange(-25, 26) / 10, 1)


def severities(condition: int) -> Array:
    """A value of the grid for each rater: the pairs (first, ninth), (second, tenth) and so on have opposite values."""
    pairs = len(writing.RATERS) // 2
    first = (condition + np.arange(pairs) * len(GRID) // pairs) % len(GRID)
    return np.asarray(GRID[np.concatenate([first, len(GRID) - 1 - first])])


def replicate(task: Task, conditions: range = range(len(GRID))) -> pl.DataFrame:
    """Estimated capability of every rater at every severity."""
    frames = []
    for condition in conditions:
        drawn = simulate_writing([*task.entropy, condition], severity=severities(condition))
        severity = pl.Series("severity", np.round(drawn.truth.severity, 1))
        for method, config in CONFIGS.items():
            rows = compare(fitted(drawn.ratings, config), drawn.truth, ("kappa",), method=method)
            frames.append(rows.with_columns(severity))
    return pl.concat(frames)


def boxes(rows: pl.DataFrame) -> pl.DataFrame:
    """Quantiles of the estimates by rater, severity and method, with the true capability."""
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
    lines = []
    for row in writing.TABLE:
        now, best = capability.gmf(rho=row.rho, eta=[row.eta, 0.0], sigma=writing.SIGMA)
        errors = [statistic(have[method, row.label], name) for method in METHODS for name in ("bias", "rmse")]
        numbers = (row.rho, row.eta, float(now), float(best))
        lines.append([row.label, *(number(value) for value in numbers), *errors])
    heading = ["Rater", "ρ", "η", "κ̄", "κ̄ at η = 0", *(f"{s} {m}" for m in METHODS for s in ("bias", "RMSE"))]
    text = page_of(
        "study2",
        found,
        "# Study 2: capability against severity",
        "Four raters on four topics are sixteen raters; true "
        "discriminations, difficulties and σ = 2.51 are the paper's estimates, the design has its numbers of ratings. "
        "Severities run from -2.5 to 2.5 by 0.1.",
        "![Capability against severity, for each rater and topic](study2.png)",
        "Estimates are those by `mml`; dashes mark the severity that the paper estimates.",
        "κ̄ at the paper's severity, and what it would be at severity 0; bias and RMSE of the estimates over all 51 "
        "severities, with Monte-Carlo standard errors:",
        table(heading, lines),
        "Every rater gains by moving to severity 0, AM on Sport as much as on the other topics: the paper's text "
        "calls AM on Sport unbiased, but its table has -1.77 there.",
    )
    return Results(text, {"boxes": boxes(rows), "accuracy": found})


def severity_data(results: Results, method: str = "mml") -> tuple[pl.DataFrame, pl.DataFrame]:
    """Boxes of one method, and the paper's estimated severity of every rater on every topic."""
    own = [(row.rater, row.topic, row.eta) for row in writing.TABLE]
    printed = pl.DataFrame(own, schema=["rater", "topic", "severity"], orient="row")
    return results.tables["boxes"].filter(method=method), printed


def draw(results: Results) -> Picture:
    boxes, own = severity_data(results)
    x, y = Axis(-2.7, 2.7, "Severity η", (5, 5)), Axis(0.0, 1.0, "Mean capability κ̄", (2, 2), grid=True)
    panels = []
    for rater, topic, severity in own.iter_rows():
        rows = boxes.filter(rater=rater, topic=topic)
        layers = (
            Segments(rows, "severity", "q05", "severity", "q95", _MOST),
            Segments(rows, "severity", "q25", "severity", "q75", _HALF),
            Line(rows, "severity", "truth", _TRUTH),
            rule((x, y), LIMIT, x=severity),
        )
        panels.append(Panel(x, y, layers, f"{rater}, {topic}"))
    description = "Capability against severity, for each rater and topic."
    return Picture(tuple(panels), description, (110, 100), (own["topic"].n_unique(), 2))


_MOST = Stroke("accent", 0.8, opacity=0.6, words="middle 90 % of the estimates")
_HALF = Stroke("accent", 2.4, words="middle half of the estimates")
_TRUTH = Stroke("severe", 2.0, words="truth")

STUDY = Study(
    "study2", "The paper's Study 2: capability against severity", REPLICATIONS, replicate, summarise, draw
)
