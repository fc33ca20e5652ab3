"""Capability when the fitted model is not the one behind the ratings.

The order of the raters should survive and, where the yardstick is the same, the size of the index. The truth is the
capability under the model the ratings come from.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from numpy.random import Generator
from scipy import stats

from benchmarks.studies import named_rows, opening
from raterlens.base.arrays import Array
from raterlens.base.picture import Picture
from raterlens.base.text import number
from raterlens.config import FitConfig
from raterlens.fitting.fit import fitted
from raterlens.simulation.simulate import Simulated, simulate
from raterlens.studies.study import (
    Results,
    Study,
    Task,
    accuracy,
    compare,
    from_zero,
    page,
    replications,
    rows_height,
    statistic,
    table,
)

RATERS = 12
SLOPE: Array = np.tile([0.6, 1.0, 1.4, 2.0], 3)
SEVERITY: Array = np.repeat([-1.0, 0.0, 1.0], 4)
DESIGN = {"students": 400, "raters": RATERS, "items": 5, "raters_per_student": 4}
_FACETS = {"slope": SLOPE, "severity": SEVERITY}

SOURCES: dict[str, dict[str, Any]] = {
    "GMF": _FACETS,
    "TFM": {"model": "tfm", "slope": 1.4, "severity": SEVERITY},
    "GMF, probit link": {"link": "probit", "slope": SLOPE / 1.7, "severity": SEVERITY / 1.7},
    "GMF, cauchit link": {"link": "cauchit", **_FACETS},
    "GMF, cloglog link": {
        "link": "cloglog",
        "slope": SLOPE / 1.3,
        "severity": SEVERITY / 1.3,
        "alpha": -0.4,
    },
    "GMF, skew abilities": _FACETS,
    "GMF, two groups of students": _FACETS,
    "probit raters": {"model": "probit", "noise": 1.7 / SLOPE, "threshold": SEVERITY / SLOPE},
    "hierarchical raters": {
        "model": "hrm",
        "slope": 2.5 * SLOPE,
        "criterion": 1.25 * SLOPE + SEVERITY,
        "sigma": 2.0,
    },
}
"""Where the ratings come from: arguments of `simulate`."""

ABILITIES: dict[str, Callable[[Generator, int], Array]] = {
    "GMF, skew abilities": lambda random, n: random.exponential(size=n),
    "GMF, two groups of students": lambda random, n: random.normal(random.choice([-1.5, 1.5], n), 0.5),
}
"""Populations of students other than the normal, standardised."""

FITTED = {model: FitConfig(model=model, standard_errors=False) for model in ("gmf", "tfm")}


def simulate_source(source: str, seed: list[int]) -> Simulated:
    arguments: dict[str, Any] = {**DESIGN, **SOURCES[source]}
    if source in ABILITIES:
        ability = ABILITIES[source](np.random.default_rng([*seed, 1]), DESIGN["students"])
        arguments["ability"] = (ability - ability.mean()) / ability.std()
    return simulate(**arguments, seed=seed)


def replicate(task: Task) -> pl.DataFrame:
    frames = []
    for which, source in enumerate(SOURCES):
        drawn = simulate_source(source, [*task.entropy, which])
        for model, config in FITTED.items():
            rows = compare(
                fitted(drawn.ratings, config), drawn.truth, ("kappa",), source=source, fitted=model
            )
            order = float(stats.spearmanr(rows["truth"], rows["estimate"]).statistic)
            frames.append(rows.with_columns(order=pl.lit(order)))
    return pl.concat(frames)


def summarise(rows: pl.DataFrame) -> Results:
    found = accuracy(rows, ["source", "fitted"])
    have = found.rows_by_key(["source", "fitted"], named=True, unique=True)
    once = rows.group_by("source", "fitted", "replication").agg(pl.col("order").first())
    order = once.group_by("source", "fitted").agg(pl.col("order").mean()).rows_by_key(["source", "fitted"])
    lines = []
    for source in SOURCES:
        line = [source]
        for model in FITTED:
            row = have[source, model]
            line += [statistic(row, "bias"), statistic(row, "rmse"), number(order[source, model][0][0])]
        lines.append(line)
    heading = ["Ratings from", *(f"{name} {m.upper()}" for m in FITTED for name in ("bias", "RMSE", "order"))]
    worst = max(have[source, "gmf"]["rmse"] for source in SOURCES if source.startswith("GMF,"))

    def error(source: str, fitted: str) -> str:
        return number(have[source, fitted]["rmse"])

    text = page(
        "# A wrong model: what becomes of capability",
        opening("misspecified", replications(found)),
        "GMF and TFM, logit link and normal abilities, fitted by `mml` to "
        "ratings from other models; 400 students, 12 raters, 4 raters per student, 5 items. Bias and RMSE of κ̄ are "
        "over raters, against the κ̄ of the model the ratings come from; order is Spearman's correlation with it.",
        "![Error of capability by source and fitted model](misspecified.png)",
        table(heading, lines),
        "The costliest mistake is to ignore differences in discrimination (the TFM fitted to ratings from the GMF: "
        f"RMSE {error('GMF', 'tfm')} instead of {error('GMF', 'gmf')}); allowing for differences that are not there "
        f"costs less ({error('TFM', 'gmf')} instead of {error('TFM', 'tfm')}). A wrong link or another population of "
        f"students costs little: the largest RMSE of the GMF is {number(worst)}. Probit and hierarchical raters have a "
        "yardstick of their own (a rater without noise), so for them only the order can be compared.",
    )
    return Results(text, {"accuracy": found})


def draw(results: Results) -> Picture:
    data, order = results.tables["accuracy"].with_columns(pl.col("fitted").str.to_uppercase()), list(SOURCES)
    x = from_zero(data["rmse"], "RMSE of mean capability κ̄")
    panel = named_rows(data, ("source", "rmse", "fitted"), x, order, title="Ratings from")
    return Picture((panel,), "Error of capability, by what the ratings came from.", rows_height(order))


STUDY = Study("misspecified", 100, replicate, summarise, draw)
