"""Bias of the three methods as ratings per student fall from 800 to 5, with the total number of ratings fixed.

Hierarchical likelihood treats every ability as known once it is estimated. With hundreds of ratings per student it
nearly is; with a handful it is not. The bias is one of scale, so it is measured by two ratios that do not hang on a
single rater's luck (as the largest slope, sigma, would).
"""

import numpy as np
import polars as pl

from benchmarks.studies import opening
from raterlens.base.layers import Axis
from raterlens.base.picture import Picture
from raterlens.base.text import number
from raterlens.config import FitConfig, Method
from raterlens.fitting.fit import fitted
from raterlens.simulation.simulate import simulate
from raterlens.studies.study import (
    HEIGHT,
    Results,
    Study,
    Task,
    accuracy,
    compare,
    curves,
    label_rows,
    page,
    replications,
    rows,
    statistic,
    table,
    with_error,
)

METHODS: tuple[Method, ...] = ("hl", "laplace", "mml")
RATERS, TOTAL, SIGMA = 20, 40_000, 1.5

# Ratings per student: raters per student, items.
DESIGNS = {
    800: (20, 40),
    400: (20, 20),
    200: (20, 10),
    100: (20, 5),
    50: (10, 5),
    20: (4, 5),
    10: (2, 5),
    5: (5, 1),
}

DISCRIMINATION, SEVERITY = "mean discrimination", "spread of severities"
RATIOS = {DISCRIMINATION: "Mean slope, estimated / true", SEVERITY: "Spread of severities, estimated / true"}

# Where hierarchical likelihood diverges, more rounds only take it further.
_ROUNDS = 50
CONFIGS = {
    method: FitConfig(method=method, standard_errors=False, max_iterations=_ROUNDS if method == "hl" else 500)
    for method in METHODS
}


def replicate(task: Task, designs: dict[int, tuple[int, int]] = DESIGNS, total: int = TOTAL) -> pl.DataFrame:
    frames = []
    for each, (raters, items) in designs.items():
        drawn = simulate(
            students=total // each,
            raters=RATERS,
            items=items,
            raters_per_student=raters,
            slope=SIGMA * np.linspace(0.3, 1.0, RATERS),
            # Severity unrelated to the slope.
            severity=np.tile(np.linspace(-1, 1, 5), 4),
            difficulty=np.linspace(-1, 1, items) if items > 1 else 0.0,
            seed=[*task.entropy, each],
        )
        truth = drawn.truth
        for method, config in CONFIGS.items():
            found = fitted(drawn.ratings, config)
            raters_table = found.table("raters")
            slope, eta = raters_table["rho"].to_numpy() * found.sigma, raters_table["eta"].to_numpy()
            # The regression of estimated on true severities, which have mean 0.
            ratios = [
                slope.mean() / truth.slope.mean(),
                eta @ truth.severity / (truth.severity @ truth.severity),
            ]
            parts = [
                label_rows(rows("ratio", list(RATIOS), [1.0, 1.0], ratios), method=method, each=each),
                compare(found, truth, ("kappa", "eta"), method=method, each=each),
            ]
            frames.append(pl.concat(parts).with_columns(settled=pl.lit(found.converged)))
    return pl.concat(frames)


def summarise(rows: pl.DataFrame) -> Results:
    ratio = accuracy(rows.filter(pl.col("parameter") == "ratio"), ["level", "method", "each"])
    raters = accuracy(rows.filter(pl.col("parameter") != "ratio"), ["parameter", "method", "each"])
    counts = ratio["each"].unique().sort(descending=True).to_list()
    settled = rows.group_by("method", "each").agg(pl.col("settled").mean()).rows_by_key(["method", "each"])
    by_ratio = ratio.rows_by_key(["level", "method", "each"], named=True, unique=True)
    by_rater = raters.rows_by_key(["parameter", "method", "each"], named=True, unique=True)
    ratios = [
        [
            str(each),
            *(
                with_error(1 + by_ratio[level, m, each]["bias"], by_ratio[level, m, each]["bias_se"])
                for level in RATIOS
                for m in METHODS
            ),
            f"{settled['hl', each][0][0]:.0%}",
        ]
        for each in counts
    ]
    errors = [
        [
            str(each),
            *(statistic(by_rater[p, m, each], "rmse") for p in ("kappa", "eta") for m in METHODS),
        ]
        for each in counts
    ]
    text = page(
        "# Ratings per student: from 800 to 5",
        opening("ratings", replications(ratio)),
        f"GMF; 20 raters, σ = {number(SIGMA, 1)}, {TOTAL:,} ratings in total: the fewer per student, the more "
        "students.",
        "![Bias of slopes and severities against the number of ratings per student](ratings.png)",
        "Estimated over true: the mean slope, and the spread of severities (1 is unbiased). Last column: how often "
        f"hierarchical likelihood converged within {_ROUNDS} rounds:",
        table(
            [
                "Ratings per student",
                *(f"{level}, {m}" for level in ("slope", "severity") for m in METHODS),
                "hl converged",
            ],
            ratios,
        ),
        "RMSE over raters:",
        table(["Ratings per student", *(f"{p}, {m}" for p in ("κ̄", "η") for m in METHODS)], errors),
    )
    return Results(text, {"ratios": ratio, "accuracy": raters})


def draw(results: Results) -> Picture:
    # Where hierarchical likelihood diverges, it would squeeze the rest out of sight.
    data = results.tables["ratios"].with_columns(
        shown=(1 + pl.col("bias")).clip(0.8, 2.0), at=pl.col("each").cast(pl.Float64).log(2)
    )
    labels = tuple((float(np.log2(each)), str(each)) for each in (5, 10, 20, 50, 100, 200, 400, 800))
    x = Axis(np.log2(4.5), np.log2(900), "Ratings per student", labels=labels, grid=True)
    y = Axis(0.8, 2.0, "Estimated / true", (6, 6), grid=True)
    panels = tuple(
        curves(
            data.filter(level=level).sort("method", "each"),
            ("at", "shown", "method"),
            x,
            y,
            title=title,
            points=True,
        )
        for level, title in RATIOS.items()
    )
    return Picture(panels, "Estimated over true spreads, by ratings per student.", HEIGHT, (2, 1))


STUDY = Study("ratings", 50, replicate, summarise, draw)
