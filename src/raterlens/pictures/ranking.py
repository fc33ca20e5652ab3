"""Raters as pictures show them, and the panel in the order of capability."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from raterlens.base.errors import OptionError
from raterlens.base.layers import Axis, Layer, Marks, Names, Segments, Stroke, known
from raterlens.base.picture import Picture, interval_rows, plot
from raterlens.base.style import MARKS, mark_of_verdict
from raterlens.base.text import counted, distinct, interval, listed, number, shortened
from raterlens.capability.population import Population
from raterlens.capability.yardstick import students_of
from raterlens.diagnostics.wording import rater_table

if TYPE_CHECKING:
    from raterlens.diagnostics.findings import RaterFindings
    from raterlens.inference.result import Result
    from raterlens.models.calibration import Calibration


def rater_rows(fit: Result, raters: Iterable[RaterFindings] | None = None) -> pl.DataFrame:
    """One row per rater, the most capable first: rater, n, rho, eta, kappa with interval, label, status, kind, words;
    `raters` as for `rater_table`."""
    rows = rater_table(fit, raters)
    numbers = ("rho", "eta", "kappa", "kappa_low", "kappa_high")
    rows = rows.select(
        pl.Series("rater", distinct(rows["rater"])),
        "n",
        *(pl.col(name).cast(pl.Float64) for name in numbers),
        "label",
        "status",
        pl.Series("kind", [mark_of_verdict(label).name for label in rows["label"]]),
    )
    return with_words(
        rows,
        lambda row: (
            f"{row['rater']}: capability {number(row['kappa'])} ({interval(row['kappa_low'], row['kappa_high'])}), "
            f"severity {number(row['eta'])}, discrimination {number(row['rho'])}, {row['label']}"
        ),
    )


def with_words(rows: pl.DataFrame, said: Callable[[dict[str, Any]], str]) -> pl.DataFrame:
    """The rows with `words`, the text that a picture shows at each."""
    return rows.with_columns(pl.Series("words", map(said, rows.iter_rows(named=True)), dtype=pl.String))


def rater_name(fit: Result, rater: object) -> str:
    """The name of a rater of the fit, as text; raises if there is none."""
    names = fit.table("raters")["rater"].cast(pl.String).to_list()
    if str(rater) not in names:
        near = [name for name in names if str(rater).lower() in name.lower()] or names
        what, remedy = f"no rater {shortened(str(rater))} in this fit", f"give one of: {listed(near, 12)}"
        raise OptionError(what, remedy, value=rater, option="rater")
    return str(rater)


def ability_calibration(fit: Result, chart: str, why: str, instead: str) -> Calibration:
    """The calibration of a fit; raises if its model has true categories, which the chart cannot show, and names a chart
    that can."""
    if fit.calibration is None:
        what = f"the chart {chart!r} has no meaning for model {fit.model!r}: {why}"
        raise OptionError(what, f"use the chart {instead!r}", value=fit.model, option="model")
    return fit.calibration


def population_of(fit: Result) -> Population:
    """The students over whom the fit averages capability."""
    students = fit.table("students").select("theta", "theta_se").to_numpy()
    known = fit.calibration
    shape, pieces = (None, 0.0) if known is None else (known.shape, known.piece_variance)
    return students_of(fit.yardstick.population, students[:, 0], students[:, 1], shape, pieces)


MOST_ROWS = 60
"""Up to this many raters have a line each; a larger panel is one ranked curve."""

_CURVE_HEIGHT = 340


def capability_data(fit: Result, rows: pl.DataFrame | None = None) -> pl.DataFrame:
    """One row per rater, the most capable first: place (1 is the top), rater, n, kappa, kappa_low, kappa_high, label,
    status, kind, words. `rows` are `rater_rows`, where they are known."""
    rows = rater_rows(fit) if rows is None else rows
    rows = rows.drop("rho", "eta").with_row_index("place", offset=1)
    return rows.with_columns(pl.col("place").cast(pl.Int64))


def capability(fit: Result, *, ranked: bool = True, rows: pl.DataFrame | None = None) -> Picture:
    """How capable each rater is, with intervals: the most capable first, or by name where an order would be chance."""
    data = capability_data(fit, rows)
    if not ranked:
        data = data.sort("rater").with_columns(place=pl.int_range(1, pl.len() + 1, dtype=pl.Int64))
    return _rows(data) if data.height <= MOST_ROWS else _curve(data, ranked)


def _rows(data: pl.DataFrame) -> Picture:
    x = Axis(*_domain(data), _axis_title(data), (10, 5), grid=True)
    columns = ("rater", "kappa", "kappa_low", "kappa_high")
    return interval_rows(data, columns, MARKS, x, _description(data))


def _curve(data: pl.DataFrame, ranked: bool) -> Picture:
    """One thin line per rater: those who are fine form the curve, the others stand out."""
    n = data.height
    x = Axis(0.5, n + 0.5, "Raters, the most capable first" if ranked else "Raters by name", whole=True)
    y = Axis(*_domain(data), _axis_title(data), (10, 10), grid=True)
    layers: list[Layer] = []
    thin, opacity = max(0.6, min(3.0, 450 / n)), 0.28 if n <= 600 else 0.16
    points = Marks(data, "place", "kappa", MARKS, 0.61 if n <= 300 else 0.41)
    for mark in points.present():
        own = known(data, "kappa_low", "kappa_high").filter(kind=mark.name)
        stroke = Stroke(mark.role, thin, opacity=opacity)
        layers.append(Segments(own, "place", "kappa_low", "place", "kappa_high", stroke))
    # The least capable raters who need attention are named; the dense curve would leave no name room.
    wanting = known(data, "kappa").filter(status="attention").tail(6).reverse()
    names = Names(wanting, "place", "kappa", clear=data.gather_every(max(1, n // 400)))
    return plot(x, y, [*layers, points, names], _description(data), _CURVE_HEIGHT)


def _has_intervals(data: pl.DataFrame) -> bool:
    """Whether there are intervals; a fit can be made without."""
    return bool(data["kappa_low"].is_finite().any())


def _axis_title(data: pl.DataFrame) -> str:
    return "Capability κ̄" + " with 95 % interval" * _has_intervals(data)


def _domain(data: pl.DataFrame) -> tuple[float, float]:
    """From 0 to 1, unless a rater scores against ability or beats the yardstick."""
    reach = data.select("kappa", "kappa_low", "kappa_high").to_numpy()
    low, high = float(np.nanmin(reach, initial=0.0)), float(np.nanmax(reach, initial=1.0))
    return min(0.0, float(np.floor(low * 5) / 5)), max(1.0, float(np.ceil(high * 5) / 5))


def _description(data: pl.DataFrame) -> str:
    ordered = known(data, "kappa").sort("kappa", descending=True, maintain_order=True)
    said = f"Capability of {counted(data.height, 'rater')}{', each with its 95 % interval' * _has_intervals(data)}"
    if ordered.height:
        first, last = ordered.row(0, named=True), ordered.row(-1, named=True)
        said += (
            f"; highest {first['rater']} with {number(first['kappa'])}, lowest {last['rater']} with "
            f"{number(last['kappa'])}"
        )
    return f"{said}."
