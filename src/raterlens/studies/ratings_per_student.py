"""Bias of the three methods as ratings per student fall from 800 to 5, at the same number of ratings in all.

Hierarchical likelihood treats every ability as known once it is estimated. With hundreds of ratings a student it
nearly is; with a handful it is not. Its bias is a matter of scale, so it is measured by two ratios that no
single rater's chance decides (as the largest slope, sigma, would be).
"""

import numpy as np
import polars as pl

from raterlens.fitting import fit
from raterlens.simulation.simulate import simulate
from raterlens.studies.accuracy import accuracy, compare, label_rows, replications, rows
from raterlens.studies.markdown import number, opening, page, table, with_error
from raterlens.studies.study import Results, Study, Task

METHODS = ("hl", "laplace", "mml")
RATERS, TOTAL, SIGMA = 20, 40_000, 1.5

# Ratings a student: raters a student, items.
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

# Where hierarchical likelihood runs away, more rounds only take it further.
_ROUNDS = 50


def replicate(task: Task, designs: dict[int, tuple[int, int]] = DESIGNS, total: int = TOTAL) -> pl.DataFrame:
    frames = []
    for each, (raters, items) in designs.items():
        drawn = simulate(
            students=total // each,
            raters=RATERS,
            items=items,
            raters_per_student=raters,
            slope=SIGMA * np.linspace(0.3, 1.0, RATERS),
            # Severity in no order with the slope.
            severity=np.tile(np.linspace(-1, 1, 5), 4),
            difficulty=np.linspace(-1, 1, items) if items > 1 else 0.0,
            seed=[*task.entropy, each],
        )
        truth = drawn.truth
        for method in METHODS:
            rounds = _ROUNDS if method == "hl" else 500
            found = fit(drawn.ratings, method=method, standard_errors=False, max_iterations=rounds)
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
            *(
                with_error(by_rater[p, m, each]["rmse"], by_rater[p, m, each]["rmse_se"])
                for p in ("kappa", "eta")
                for m in METHODS
            ),
        ]
        for each in counts
    ]
    text = page(
        "# Ratings per student: from 800 to 5",
        opening("ratings", replications(ratio)),
        f"GMF; 20 raters, σ = {number(SIGMA, 1)}, {TOTAL:,} ratings in all: the fewer a student has, the more students "
        "there are.",
        "![Bias of slopes and severities against the number of ratings per student](ratings.png)",
        "Estimated over true: the mean slope, and the spread of severities (1 is right). Last, how often hierarchical "
        f"likelihood settled within {_ROUNDS} rounds:",
        table(
            [
                "Ratings per student",
                *(f"{level}, {m}" for level in ("slope", "severity") for m in METHODS),
                "hl settled",
            ],
            ratios,
        ),
        "RMSE over raters:",
        table(["Ratings per student", *(f"{p}, {m}" for p in ("κ̄", "η") for m in METHODS)], errors),
    )
    return Results(text, {"ratios": ratio, "accuracy": raters})


STUDY = Study("ratings", "Ratings per student, from 800 to 5", 50, replicate, summarise)
