"""The panel in the order of capability: what a chart of it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from raterlens.base.text import counted, number
from raterlens.pictures.label_placement import placed_names
from raterlens.pictures.rater_marks import rater_rows

if TYPE_CHECKING:
    from raterlens.result.record import Result

MOST_ROWS = 60
"""Up to this many raters have a line each; a larger panel is one ranked curve."""

ROW = 18
COMPACT = 340


def capability_data(fit: Result) -> pl.DataFrame:
    """One row per rater, the most capable first: place (1 is the top), rater, n, kappa, kappa_low, kappa_high, label,
    standing, kind, words."""
    rows = rater_rows(fit).drop("rho", "eta").with_row_index("place", offset=1)
    return rows.with_columns(pl.col("place").cast(pl.Int64))


def height_of(data: pl.DataFrame) -> int:
    """Of the plot, in pixels."""
    return max(60, ROW * data.height if data.height <= MOST_ROWS else COMPACT)


def lowest(data: pl.DataFrame, width: float) -> pl.DataFrame:
    """Names of the least capable raters who need attention, where there is room in a plot of this width."""
    wanting = data.filter(standing="attention").tail(6).reverse()
    low, high = domain(data)
    at = pl.col("place") / data.height * 100, (high - pl.col("kappa")) / (high - low) * 100
    some = data.gather_every(max(1, data.height // 400))
    return placed_names(wanting, some, at, width, COMPACT)


def _has_intervals(data: pl.DataFrame) -> bool:
    """Whether there are intervals; a fit can be made without."""
    return bool(data["kappa_low"].is_finite().any())


def axis_title(data: pl.DataFrame) -> str:
    """Of capability."""
    return "Capability κ̄" + " with 95 % interval" * _has_intervals(data)


def domain(data: pl.DataFrame) -> tuple[float, float]:
    """From 0 to 1, unless a rater scores against ability or beats the yardstick."""
    reach = data.select("kappa", "kappa_low", "kappa_high").to_numpy()
    low, high = float(np.nanmin(reach, initial=0.0)), float(np.nanmax(reach, initial=1.0))
    return min(0.0, float(np.floor(low * 5) / 5)), max(1.0, float(np.ceil(high * 5) / 5))


def description(data: pl.DataFrame) -> str:
    """The chart in a sentence, for those who cannot see it."""
    known = data.filter(pl.col("kappa").is_finite())
    said = f"Capability of {counted(data.height, 'rater')}{', each with its 95 % interval' * _has_intervals(data)}"
    if known.height:
        first, last = known.row(0, named=True), known.row(-1, named=True)
        said += (
            f"; highest {first['rater']} with {number(first['kappa'])}, lowest {last['rater']} with "
            f"{number(last['kappa'])}"
        )
    return f"{said}."
