"""Encodings of categories by colour and by dash or shape, with one legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from raterlens.pictures.label_placement import legend_columns
from raterlens.pictures.style import MARKS, light

ROLES = ("accent", "severe", "extreme", "weak", "lenient", "ink")
DASHES: tuple[list[int], ...] = ([1, 0], [7, 3], [2, 2], [8, 3, 2, 3], [12, 3], [4, 6])


def line_scales(names: Sequence[str], field: str, width: int) -> dict[str, Any]:
    """Encodings of a field with up to six values: stroke, dash and fill."""
    colours = [light(role) for role in ROLES[: len(names)]]
    legend = alt.Legend(
        title=None,
        columns=legend_columns(names, width),
        symbolType="stroke",
        symbolSize=600,
        symbolStrokeWidth=2.4,
    )
    where = f"{field}:N"
    return {
        "stroke": alt.Stroke(where, scale=alt.Scale(domain=names, range=colours), legend=legend),
        "strokeDash": alt.StrokeDash(
            where, scale=alt.Scale(domain=names, range=list(DASHES[: len(names)])), legend=legend
        ),
        "fill": alt.Fill(where, scale=alt.Scale(domain=names, range=colours), legend=legend),
    }


def point_scales(data: pl.DataFrame, kinds: Mapping[str, tuple[str, str]], width: int) -> dict[str, Any]:
    """Encodings of the column `kind`: the (colour role, shape) of each kind, with a legend of those that occur."""
    present = [kind for kind in kinds if kind in set(data["kind"])]
    legend = alt.Legend(title=None, columns=legend_columns(present, width), symbolSize=70)
    colours = [light(kinds[kind][0]) for kind in present]
    shapes = [kinds[kind][1] for kind in present]
    return {
        "color": alt.Color("kind:N", scale=alt.Scale(domain=present, range=colours), legend=legend),
        "shape": alt.Shape("kind:N", scale=alt.Scale(domain=present, range=shapes), legend=legend),
    }


def kind_scales(rows: pl.DataFrame, width: int) -> dict[str, Any]:
    """Encodings of the kind of verdict, by colour and shape, with one legend of the kinds that occur."""
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
