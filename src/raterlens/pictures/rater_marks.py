"""Raters as charts show them: a printable name, a verdict with its mark, and the words of a tooltip."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from raterlens.base.errors import OptionError
from raterlens.base.memo import kept_with
from raterlens.base.text import distinct, interval, listed, number, shortened
from raterlens.capability.population import Population
from raterlens.capability.yardstick import students_of
from raterlens.diagnostics.panel_summary import judged
from raterlens.inference.measurement import Measurement, measured_fit
from raterlens.models.facets import SHAPE
from raterlens.models.registry import is_latent_class
from raterlens.pictures.verdict_marks import MARKS, mark

if TYPE_CHECKING:
    from raterlens.models.calibration import Calibration
    from raterlens.result.record import Result

TOLD = 1000
"""Up to this many points have tooltips in an SVG; a mouse could not find one among more."""


def rater_rows(fit: Result) -> pl.DataFrame:
    """One row per rater, the most capable first: rater, n, rho, eta, kappa with interval, label, standing, kind,
    words."""
    return kept_with(fit, "rater rows", lambda: _rater_rows(fit))


def _rater_rows(fit: Result) -> pl.DataFrame:
    rows = judged(fit)
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
        "standing",
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
