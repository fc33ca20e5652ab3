"""Raters as pictures show them, and the panel in the order of capability: the data of a ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from raterlens.base.errors import OptionError
from raterlens.base.memo import kept_with
from raterlens.base.text import counted, distinct, interval, listed, number, shortened
from raterlens.capability.population import Population
from raterlens.capability.yardstick import students_of
from raterlens.diagnostics.wording import rater_table
from raterlens.inference.measurement import Measurement, measured_fit
from raterlens.models.registry import is_latent_class
from raterlens.models.terms.shape import SHAPE
from raterlens.pictures.label_placement import placed_names
from raterlens.pictures.style import MARKS, mark

if TYPE_CHECKING:
    from raterlens.inference.result import Result
    from raterlens.models.calibration import Calibration

TOLD = 1000
"""Up to this many points have tooltips in an SVG; a mouse could not find one among more."""


def rater_rows(fit: Result) -> pl.DataFrame:
    """One row per rater, the most capable first: rater, n, rho, eta, kappa with interval, label, status, kind,
    words."""
    return kept_with(fit, "rater rows", lambda: _rater_rows(fit))


def _rater_rows(fit: Result) -> pl.DataFrame:
    rows = rater_table(fit)
    names = distinct(rows["rater"])
    words = [
        f"{name}: capability {number(row['kappa'])} ({interval(row['kappa_low'], row['kappa_high'])}), severity "
        f"{number(row['eta'])}, discrimination {number(row['rho'])}, {row['label']}"
        for name, row in zip(names, rows.iter_rows(named=True), strict=True)
    ]
    numbers = ("rho", "eta", "kappa", "kappa_low", "kappa_high")
    return rows.select(
        pl.Series("rater", names),
        "n",
        *(pl.col(name).cast(pl.Float64) for name in numbers),
        "label",
        "status",
        pl.Series("kind", [mark(label).name for label in rows["label"]]),
        pl.Series("words", words),
    )


def rater_name(fit: Result, rater: object) -> str:
    """The name of a rater of the fit, as text; raises if there is none."""
    names = fit.table("raters")["rater"].cast(pl.String).to_list()
    if str(rater) not in names:
        near = [name for name in names if str(rater).lower() in name.lower()] or names
        what, remedy = f"no rater {shortened(str(rater))} in this fit", f"give one of: {listed(near, 12)}"
        raise OptionError(what, remedy, value=rater, option="rater")
    return str(rater)


def not_for(fit: Result, chart: str, why: str, instead: str) -> None:
    """Raise if the fit's model has true categories, which the chart cannot show, and name a chart that can."""
    if is_latent_class(fit.model):
        what = f"the chart {chart!r} has no meaning for model {fit.model!r}: {why}"
        raise OptionError(what, f"use the chart {instead!r}", value=fit.model, option="model")


def calibration_of(fit: Result, unknown: str) -> Calibration:
    """What a fit knows beyond its tables; raises for a fit that was made without it."""
    if fit.calibration is None:
        raise OptionError(f"this fit was made without a calibration, so {unknown}", "fit again")
    return fit.calibration


def measurement_of(fit: Result) -> Measurement:
    """The panel on the fit's own yardstick."""
    calibration_of(fit, "its curves are unknown")
    return measured_fit(fit, fit.yardstick)


def population_of(fit: Result) -> Population:
    """The students over whom the fit averages capability."""
    students = fit.table("students").select("theta", "theta_se").to_numpy()
    known = fit.calibration
    shape, pieces = (None, 0.0) if known is None else (known.effects.get(SHAPE), known.piece_variance)
    return students_of(fit.yardstick.population, students[:, 0], students[:, 1], shape, pieces)


def with_verdicts(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with the words of the legend."""
    return rows.with_columns(verdict=pl.Series([MARKS[kind].words for kind in rows["kind"]], dtype=pl.String))


MOST_ROWS = 60
"""Up to this many raters have a line each; a larger panel is one ranked curve."""

ROW = 18
COMPACT = 340


def capability_data(fit: Result) -> pl.DataFrame:
    """One row per rater, the most capable first: place (1 is the top), rater, n, kappa, kappa_low, kappa_high, label,
    status, kind, words."""
    rows = rater_rows(fit).drop("rho", "eta").with_row_index("place", offset=1)
    return rows.with_columns(pl.col("place").cast(pl.Int64))


def height_of(data: pl.DataFrame) -> int:
    """Of the plot, in pixels."""
    return max(60, ROW * data.height if data.height <= MOST_ROWS else COMPACT)


def lowest(data: pl.DataFrame, width: float) -> pl.DataFrame:
    """Names of the least capable raters who need attention, where there is room in a plot of this width."""
    wanting = data.filter(status="attention").tail(6).reverse()
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
