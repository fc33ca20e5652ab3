"""Capability with its interval, a line for each rater, the highest first."""

from typing import NamedTuple

import polars as pl

from raterlens.charts.drawing import draw
from raterlens.charts.marks import mark
from raterlens.diagnostics.verdicts import CAPABLE

SHOWN = 40
"""More lines than this are not read: a larger panel shows half from each end and the table has everyone."""

ROW = 26
"""Height of a line, in pixels."""


class Intervals(NamedTuple):
    """Plot data: the lines to draw, and how many are left out between the two ends."""

    rows: pl.DataFrame
    """rater, kappa, kappa_low, kappa_high, label, and `place`: 0 at the top, one place kept free at the gap."""
    left_out: int


def interval_data(raters: pl.DataFrame, shown: int = SHOWN) -> Intervals:
    """Lines for the chart from a table of raters with their verdict's `label`."""
    columns = ["rater", "kappa", "kappa_low", "kappa_high", "label"]
    ordered = raters.select(columns).sort("kappa", descending=True, nulls_last=True, maintain_order=True)
    left_out = max(0, ordered.height - shown)
    if not left_out:
        return Intervals(ordered.with_row_index("place"), 0)
    half = shown // 2
    ends = pl.concat([ordered.head(half), ordered.tail(half)])
    place = pl.int_range(pl.len()) + (pl.int_range(pl.len()) >= half).cast(pl.Int64)
    return Intervals(ends.with_columns(place=place), ordered.height - 2 * half)


def draw_intervals(data: Intervals) -> str:
    """The chart as HTML with inline SVG; it stretches to the width it is given."""
    lowest = data.rows["kappa"].fill_nan(None).min()
    # Capability lives between 0 and 1, unless a rater scores against ability.
    floor = -1.0 if isinstance(lowest, float) and lowest < 0 else 0.0

    def across(kappa: float | None) -> float | None:
        if kappa is None or kappa != kappa:
            return None
        return round(100 * (min(max(kappa, floor), 1.0) - floor) / (1.0 - floor), 2)

    rows = [
        row
        | {
            "mark": mark(row["label"]),
            "y": ROW * row["place"] + ROW // 2,
            "at": across(row["kappa"]),
            "low": across(row["kappa_low"]),
            "high": across(row["kappa_high"]),
        }
        for row in data.rows.iter_rows(named=True)
    ]
    return draw(
        "intervals.html",
        rows=rows,
        gap=len(rows) // 2 if data.left_out else None,
        left_out=data.left_out,
        row_height=ROW,
        height=ROW * (len(rows) + (data.left_out > 0)),
        line=across(CAPABLE),
        ticks=[(tick, across(tick)) for tick in (-1.0, -0.5, 0.0, 0.25, 0.5, 0.75, 1.0) if tick >= floor],
    )
