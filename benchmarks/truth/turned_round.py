"""Intervals when scores are turned round, and when raters and students are renamed and rows shuffled.

`python -m benchmarks.truth.turned_round [--panels 5]`

Nothing but the sign of severity may change: for each model, the largest change of an end of a 95 % interval of
capability and sharpness, and how many verdicts change.
"""

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

import raterlens as rl
from raterlens.diagnostics.findings import rater_findings

ENDS = ("kappa_low", "kappa_high", "sharpness_low", "sharpness_high")
MIRRORED = {
    "severe": "lenient",
    "too severe": "too lenient",
    "lenient": "severe",
    "too lenient": "too severe",
}


def panels(n: int) -> Iterator[tuple[str, dict[str, Any], pl.DataFrame]]:
    """Name, options of the fit, and a table of ratings."""
    for seed in range(n):
        for name, options, thresholds in (
            ("gmf", {"model": "gmf"}, None),
            ("panel prior", {"model": "gmf", "prior": "panel"}, None),
            ("hrm", {"model": "hrm"}, None),
            ("no model, pass or fail", {}, None),
            ("no model, four scores", {}, [-1.0, 0.0, 1.0]),
        ):
            severity = np.random.default_rng(seed).normal(0, 0.7, 6).tolist()
            drawn = rl.simulate(
                students=150,
                raters=6,
                items=3,
                raters_per_student=3,
                severity=severity,
                thresholds=thresholds,
                seed=seed,
            )
            yield name, options, drawn.ratings.table()


def ends(table: pl.DataFrame, options: dict[str, Any]) -> tuple[pl.DataFrame, list[tuple[str, str]]]:
    fit = rl.fit(rl.read(table), **options)
    verdicts = [(it.standard, it.sharpness_verdict) for it in rater_findings(fit)]
    rows = fit.table("raters").with_columns(pl.col("rater").cast(pl.String))
    order = rows["rater"].arg_sort().to_list()
    return rows[order].select(ENDS), [verdicts[place] for place in order]


def changed(table: pl.DataFrame, options: dict[str, Any]) -> dict[str, tuple[float, int]]:
    """The largest change of an end, and changed verdicts, for each way to turn a table round."""
    before, verdicts = ends(table, options)
    round_about = table.with_columns(score=pl.col("score").max() - pl.col("score"))
    renamed = table.with_columns(pl.format("new {}", "student").alias("student")).sample(
        fraction=1.0, shuffle=True, seed=1
    )
    found = {}
    for way, other in (("turned round", round_about), ("renamed and shuffled", renamed)):
        after, said = ends(other, options)
        if way == "turned round":
            said = [(MIRRORED.get(standard, standard), sharpness) for standard, sharpness in said]
        moved = float(np.nanmax(np.abs(after.to_numpy() - before.to_numpy())))
        found[way] = moved, sum(one != two for one, two in zip(verdicts, said, strict=True))
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--panels", type=int, default=5)
    worst: dict[tuple[str, str], tuple[float, int]] = {}
    for name, options, table in panels(parser.parse_args().panels):
        for way, (moved, verdicts) in changed(table, options).items():
            most, many = worst.get((name, way), (0.0, 0))
            worst[name, way] = max(most, moved), many + verdicts
    for (name, way), (moved, verdicts) in worst.items():
        print(f"{name}, {way}: ends move by at most {moved:.5f}, {verdicts} verdicts change")
