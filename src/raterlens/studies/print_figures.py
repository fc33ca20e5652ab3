"""Figures for print: one style, written as SVG and PNG."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from raterlens.base.drafts import write_whole

# Okabe and Ito (2008): distinct for any kind of colour vision, and in grey by the dashes that go with them.
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
)
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)
DASHES: tuple[list[int], ...] = ([1, 0], [7, 3], [2, 2], [8, 3, 2, 3], [12, 3], [4, 6], [1, 0])
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke")

PIXELS_PER_INCH = 120
"""Of the PNG, for screens; print uses the SVG. The drawing has 96 pixels per inch."""

# A panel of 300 px prints at 8 cm: 12 px type is then 9 pt.
WIDTH, HEIGHT = 300, 210


def save(figures: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write every figure as NAME.svg and NAME.png."""
    written = []
    for name, chart in figures.items():
        styled = with_style(chart)
        for ending, options in (("svg", {}), ("png", {"ppi": PIXELS_PER_INCH})):
            path = folder / f"{name}.{ending}"
            write_whole(path, partial(styled.save, **options))
            written.append(path)
    return written


def with_style(chart: Any) -> Any:
    """Type, lines and colours, for the outermost chart."""
    return (
        chart.configure(font="DejaVu Sans, Arial, sans-serif", background="white", padding=6)
        .configure_view(stroke="#999999", strokeWidth=0.6)
        .configure_axis(
            labelFontSize=11,
            titleFontSize=12,
            titleFontWeight="normal",
            titlePadding=6,
            labelFlush=False,
            gridColor="#E6E6E6",
            domainColor="#666666",
            tickColor="#666666",
            labelColor="#222222",
            titleColor="#222222",
        )
        .configure_legend(
            labelFontSize=11,
            titleFontSize=11.5,
            titleFontWeight="normal",
            symbolSize=90,
            symbolStrokeWidth=2.2,
            labelColor="#222222",
            titleColor="#222222",
            labelLimit=400,
        )
        .configure_header(labelFontSize=12, titleFontSize=12, labelColor="#222222", titleFontWeight="normal")
        .configure_title(fontSize=12.5, fontWeight="normal", anchor="start", color="#222222", offset=6)
    )


def lines(
    data: pl.DataFrame,
    x: alt.X,
    y: alt.Y,
    field: str,
    *,
    title: str | None = None,
    points: bool = False,
    columns: int = 3,
) -> Any:
    """Lines of y over x, one per value of `field` in the order of the data: by colour, and by dash or shape."""
    values = data[field].unique(maintain_order=True).to_list()
    n = len(values)
    legend = alt.Legend(
        title=title, orient="bottom", columns=columns, offset=8, symbolDash=[1, 0], symbolStrokeWidth=0
    )
    stroke = alt.Legend(
        title=title, orient="bottom", columns=columns, offset=8, symbolType="stroke", symbolSize=500
    )

    def scale(choices: Sequence[Any]) -> alt.Scale:
        return alt.Scale(domain=values, range=list(choices[:n]))

    base = alt.Chart(data).encode(
        x=x,
        y=y,
        color=alt.Color(f"{field}:N", sort=None, scale=scale(COLOURS), legend=legend if points else stroke),
    )
    dash = alt.StrokeDash(f"{field}:N", sort=None, scale=scale(DASHES), legend=None if points else stroke)
    drawn = base.mark_line(strokeWidth=2).encode(strokeDash=dash)
    if points:
        shape = alt.Shape(f"{field}:N", sort=None, scale=scale(SHAPES), legend=legend)
        drawn = drawn + base.mark_point(filled=True, size=48, opacity=1).encode(shape=shape)
    return drawn.properties(width=WIDTH, height=HEIGHT)


def two_kinds(
    field: str, names: Sequence[str], title: str, *, blue_first: bool = True
) -> dict[str, alt.Color | alt.Shape]:
    """Encodings of a field with two values, by colour and shape, with one legend."""
    order = (BLUE, VERMILION), ("circle", "triangle-up")
    colours, shapes = (list(part if blue_first else part[::-1]) for part in order)
    return {
        "color": alt.Color(
            f"{field}:N",
            scale=alt.Scale(domain=list(names), range=colours),
            legend=alt.Legend(title=title, orient="bottom"),
        ),
        "shape": alt.Shape(f"{field}:N", scale=alt.Scale(domain=list(names), range=shapes)),
    }
