"""Raters as charts show them: a name that can be printed, a verdict, its mark, and words for a tooltip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from raterlens.charts.marks import MARKS, mark
from raterlens.charts.palette import light
from raterlens.charts.theme import legend_columns
from raterlens.diagnostics.capability_scale import Scale
from raterlens.diagnostics.panel_summary import judged
from raterlens.errors import OptionError
from raterlens.models.registry import MODELS, is_latent_class
from raterlens.text import distinct, interval, listed, number

if TYPE_CHECKING:
    from raterlens.result.record import Result

LATENT = tuple(name for name in MODELS if is_latent_class(name))

TOLD = 1000
"""Points that a mouse could still find: up to so many have their words in an SVG."""


def rater_rows(fit: Result) -> pl.DataFrame:
    """A row a rater, the most capable first: rater, n, rho, eta, kappa with interval, label, standing, kind, words."""
    scale = Scale.of(fit)
    rows = judged(fit.table("raters"), scale)
    words = [
        f"{name}: capability {number(row['kappa'])} ({interval(row['kappa_low'], row['kappa_high'])}), severity "
        f"{number(row['eta'])}, discrimination {number(row['rho'])}, {row['label']}"
        for name, row in zip(distinct(rows["rater"]), rows.iter_rows(named=True), strict=True)
    ]
    numbers = ("rho", "eta", "kappa", "kappa_low", "kappa_high")
    return rows.select(
        pl.Series("rater", distinct(rows["rater"])),
        "n",
        *(pl.col(name).cast(pl.Float64) for name in numbers),
        "label",
        "standing",
        pl.Series("kind", [mark(label).name for label in rows["label"]]),
        pl.Series("words", words),
    )


def rater_name(fit: Result, rater: object) -> str:
    """The name of a rater of the fit, as text; raises where there is none."""
    names = fit.table("raters")["rater"].cast(pl.String).to_list()
    if str(rater) not in names:
        near = [name for name in names if str(rater).lower() in name.lower()] or names
        raise OptionError(f"no rater {str(rater)!r} in this fit; give one of: {listed(near, 12)}")
    return str(rater)


def not_for(fit: Result, chart: str, why: str, instead: str, models: tuple[str, ...] = LATENT) -> None:
    """Raise where a chart says nothing about the fit's model, naming the one that does."""
    if fit.model in models:
        raise OptionError(
            f"the chart {chart!r} has no meaning for model {fit.model!r}: {why}; use the chart {instead!r}"
        )


def kind_scales(rows: pl.DataFrame, width: int) -> dict[str, Any]:
    """Encodings of the verdict's kind, by colour and by shape, with one legend of the kinds that occur."""
    import altair as alt

    present = [one for one in MARKS.values() if one.name in set(rows["kind"])]
    names = [one.words for one in present]
    colours = [light(one.role) for one in present]
    inside = [light("paper") if one.name == "unsure" else light(one.role) for one in present]
    legend = alt.Legend(
        title=None, columns=legend_columns(names, width), symbolSize=70, symbolStrokeWidth=1.5
    )
    field = "verdict:N"

    def scale(choices: list[str]) -> alt.Scale:
        return alt.Scale(domain=names, range=choices)

    return {
        "fill": alt.Fill(field, scale=scale(inside), legend=legend),
        "stroke": alt.Stroke(field, scale=scale(colours), legend=legend),
        "shape": alt.Shape(field, scale=scale([one.shape for one in present]), legend=legend),
    }


def with_verdicts(rows: pl.DataFrame) -> pl.DataFrame:
    """With the words of the legend."""
    return rows.with_columns(verdict=pl.Series([MARKS[kind].words for kind in rows["kind"]], dtype=pl.String))
