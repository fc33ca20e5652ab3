"""Lines that differ in colour and in dash, with one legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from raterlens.charts.palette import light
from raterlens.charts.theme import legend_columns

ROLES = ("accent", "severe", "extreme", "weak", "lenient", "ink")
DASHES: tuple[list[int], ...] = ([1, 0], [7, 3], [2, 2], [8, 3, 2, 3], [12, 3], [4, 6])


def line_scales(names: Sequence[str], field: str, width: int) -> dict[str, Any]:
    """Encodings of a field with up to six values: stroke, dash and fill."""
    import altair as alt

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
