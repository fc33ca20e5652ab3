"""Bias of the three methods as ratings per student fall from 800 to 5, at the same number of ratings in all.

Hierarchical likelihood treats every ability as known once it is estimated. With hundreds of ratings a student it
nearly is; with a handful it is not, and slopes come out too large.
"""

import numpy as np
import polars as pl

from raterlens.fitting import fit
from raterlens.studies.accuracy import accuracy, compare, replications
from raterlens.studies.markdown import number, opening, page, table, with_error
from raterlens.studies.simulate import simulate
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
        for method in METHODS:
            rounds = _ROUNDS if method == "hl" else 500
            found = fit(drawn.ratings, method=method, standard_errors=False, max_iterations=rounds)
            rows = compare(found, drawn.truth, ("sigma", "kappa", "eta"), method=method, each=each)
            frames.append(rows.with_columns(settled=pl.lit(found.converged)))
    return pl.concat(frames)


def summarise(rows: pl.DataFrame) -> Results:
    found = accuracy(rows, ["parameter", "method", "each"])
    have = found.rows_by_key(["parameter", "method", "each"], named=True, unique=True)
    settled = rows.group_by("method", "each").agg(pl.col("settled").mean()).rows_by_key(["method", "each"])
    counts = found["each"].unique().sort(descending=True).to_list()

    def cells(parameter: str, statistic: str, each: int) -> list[str]:
        own = [have[parameter, method, each] for method in METHODS]
        return [with_error(row[statistic], row[f"{statistic}_se"]) for row in own]

    sigma = [
        [str(each), *cells("sigma", "bias", each), f"{settled['hl', each][0][0]:.0%}"] for each in counts
    ]
    raters = [[str(each), *cells("kappa", "rmse", each), *cells("eta", "rmse", each)] for each in counts]
    text = page(
        "# Ratings per student: from 800 to 5",
        opening("ratings", replications(found)),
        f"GMF; 20 raters, σ = {number(SIGMA, 1)}, {TOTAL:,} ratings in all: the "
        "fewer a student has, the more students there are.",
        "![Bias of sigma against the number of ratings per student](ratings.png)",
        "Bias of σ (Monte-Carlo standard error), and how often hierarchical likelihood settled within "
        f"{_ROUNDS} rounds:",
        table(["Ratings per student", *METHODS, "hl settled"], sigma),
        "RMSE over raters:",
        table(
            ["Ratings per student", *(f"κ̄ {m}" for m in METHODS), *(f"η {m}" for m in METHODS)],
            raters,
        ),
        "With hundreds of ratings a student the three agree. With 20, the writing assessment's number, hierarchical "
        "likelihood overstates σ; with fewer it runs away. `mml` has no such bias at any number.",
    )
    return Results(text, {"accuracy": found})


STUDY = Study("ratings", "Ratings per student, from 800 to 5", 50, replicate, summarise)
