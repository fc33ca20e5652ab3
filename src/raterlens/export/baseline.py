"""A gate beside the last run: what has changed for each rater, and whether chance explains it."""

from typing import Any

import numpy as np
import polars as pl

from raterlens.result.record import Result

COMPARED = {
    "sharpness": ("sharpness", "sharpness_se"),
    "kappa": ("kappa", "kappa_se"),
    "severity": ("eta", "eta_se"),
    "discrimination": ("rho", "rho_se"),
}
"""What two runs are compared in, where the gate asks for it."""
_CLEAR = 1.96


def changes(now: Result, then: Result, measures: tuple[str, ...]) -> pl.DataFrame:
    """A row per rater of both fits and measure: rater, measure, before, now, clear (beyond chance at 5 %, the two runs
    being independent). Severity and discrimination are each run's own: relative to its average and its yardstick."""
    rows: list[dict[str, Any]] = []
    one, two = (
        {str(row["rater"]): row for row in fit.table("raters").iter_rows(named=True)} for fit in (then, now)
    )
    for rater in two:
        for measure in measures:
            value, error = COMPARED[measure]
            if rater not in one:
                continue
            before, after = one[rater], two[rater]
            spread = float(np.hypot(before[error], after[error]))
            moved = abs(after[value] - before[value])
            clear = bool(moved > _CLEAR * spread) if np.isfinite(spread) else False
            rows.append(
                {
                    "rater": rater,
                    "measure": measure,
                    "before": before[value],
                    "now": after[value],
                    "clear": clear,
                }
            )
    schema = {
        "rater": pl.String, "measure": pl.String, "before": pl.Float64, "now": pl.Float64, "clear": pl.Boolean
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema)


def in_words(found: pl.DataFrame) -> list[str]:
    """Changes that chance does not explain: "AM: sharpness was 0.71, is 0.52"."""
    return [
        f"{row['rater']}: {row['measure']} was {row['before']:.2f}, is {row['now']:.2f}"
        for row in found.filter("clear").iter_rows(named=True)
    ]
