"""A fit beside an earlier one: what has changed for each rater, and whether chance explains it."""

from typing import Any

import numpy as np
import polars as pl

from raterlens.diagnostics.score_tests import LEVEL, adjusted, two_sided
from raterlens.inference.result import Result

COMPARED = {
    "sharpness": "sharpness",
    "standard": "passes",
    "kappa": "kappa",
    "severity": "eta",
    "discrimination": "rho",
}
"""Measures in which two runs are compared, with their columns."""

_NORMAL = 1.96
_SAME = 1e-6
_SCHEMA = {
    "rater": pl.String, "measure": pl.String, "before": pl.Float64, "now": pl.Float64, "clear": pl.Boolean
}  # fmt: skip


def changes(now: Result, then: Result, measures: tuple[str, ...]) -> pl.DataFrame:
    """A row per rater of both fits and measure: rater, measure, before, now, clear.

    A change is clear where chance is ruled out among all raters (Benjamini-Hochberg, 5 %). The ratings of the two runs
    are taken for independent, unless those of the earlier one are part of the later one's (`nested`). Severity,
    discrimination and standard are each run's own, relative to its average rater or its yardstick; sharpness is not.
    """
    one, two = (
        {str(row["rater"]): row for row in fit.table("raters").iter_rows(named=True)} for fit in (then, now)
    )
    both = [rater for rater in two if rater in one]
    part = nested(now, then)
    more = np.array([max(two[rater]["n"] / one[rater]["n"] - 1, 0.0) for rater in both])
    rows: list[tuple[Any, ...]] = []
    for measure in measures:
        column = COMPARED[measure]
        before, after = (np.array([run[rater][column] for rater in both], np.float64) for run in (one, two))
        errors = [np.array([_error(run[rater], column) for rater in both]) for run in (one, two)]
        # From an estimate to one on the same ratings and more, the variance of the difference is what the variance has
        # lost; by the later error alone, as the difference of two estimated ones would waver.
        spread = errors[1] * np.sqrt(more) if part else np.hypot(*errors)
        z = np.divide(after - before, spread, out=np.full(len(both), np.nan), where=spread > 0)
        clear = adjusted(two_sided(z)) <= LEVEL
        rows += zip(both, [measure] * len(both), before, after, clear.tolist(), strict=True)
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def nested(now: Result, then: Result) -> bool:
    """Whether the earlier fit was of the first of the later one's ratings: all its students and raters are here, and
    the ratings that they have more could make up the sums of their scores."""
    low, high = (0.0, 1.0) if now.calibration is None else now.calibration.values[[0, -1]].tolist()
    for role in ("student", "rater"):
        columns = (pl.col(role).cast(pl.String), "n", (pl.col("n") * pl.col("mean_score")).alias("total"))
        one, two = (fit.table(f"{role}s").select(columns) for fit in (then, now))
        both = one.join(two, on=role, suffix="_now")
        more = both.select(n=pl.col("n_now") - pl.col("n"), total=pl.col("total_now") - pl.col("total"))
        possible = pl.col("total").is_between(low * pl.col("n") - _SAME, high * pl.col("n") + _SAME)
        if both.height < one.height or not more.select((possible & (pl.col("n") >= 0)).all()).item():
            return False
    return True


def _error(row: dict[str, Any], column: str) -> float:
    """The standard error, or what a symmetric interval says it is."""
    if (known := row.get(f"{column}_se")) is not None:
        return float(known)
    low, high = row.get(f"{column}_low"), row.get(f"{column}_high")
    return float("nan") if low is None or high is None else float(high - low) / (2 * _NORMAL)


def in_words(found: pl.DataFrame) -> list[str]:
    """Changes that chance does not explain: "AM: sharpness was 0.71, is 0.52"."""
    return [
        f"{row['rater']}: {row['measure']} was {row['before']:.2f}, is {row['now']:.2f}"
        for row in found.filter("clear").iter_rows(named=True)
    ]
