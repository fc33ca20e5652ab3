"""The Wright map as a chart: students, raters, items and further facets on one scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from raterlens.base.text import printable
from raterlens.pictures.map_data import (
    HEIGHT,
    STUDENTS,
    column_data,
    description,
    histogram,
    is_named,
    span_of,
    wright_data,
)
from raterlens.pictures.style import light
from raterlens.pictures.theme import DEFAULT_WIDTH, check_width, finished, values

if TYPE_CHECKING:
    from raterlens.inference.result import Result

_AXIS = 58
_GAP = 8
_COLOURS = (light("severe"), light("extreme"), light("weak"), light("lenient"))


def wright(fit: Result, *, width: int = DEFAULT_WIDTH) -> Any:
    """Are raters and items where the students are?

    A histogram of students, next to raters (the more severe, the higher) and items (the harder, the higher). Large
    panels are drawn as dots.

    Parameters
    ----------
    fit
        Of a facets model (`gmf`, `tfm`, `probit`).
    width
        Width of the whole chart in pixels; 380 suits a phone.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> import raterlens as rl
    >>> chart = rl.charts.wright(rl.fit(rl.load_example()))
    >>> chart.to_dict()["description"][:46]
    'Students, raters and items on one scale: 363 s'
    """
    check_width(width)
    data = wright_data(fit)
    others = [name for name in data["facet"].unique(maintain_order=True) if name != STUDENTS]
    low, high = span_of(data)
    scale = alt.Scale(domain=[low, high], nice=False)
    room = width - _AXIS - 14
    share = 0.3 if width >= 480 else 0.22
    first = int(share * room)
    each = int((room - first - _GAP * len(others)) / len(others))
    panels = [_students(data.filter(facet=STUDENTS), scale, first)]
    for place, name in enumerate(others):
        colour = _COLOURS[place % len(_COLOURS)]
        panels.append(_column(data.filter(facet=name), name, scale, colour, each, (low, high)))
    return finished(alt.hconcat(*panels, spacing=_GAP), description(data), height=None)


def _students(rows: pl.DataFrame, scale: Any, width: int) -> Any:
    """A histogram that grows to the left."""
    bars = histogram(rows, scale["domain"])
    return (
        alt.Chart(values(bars), title=alt.TitleParams(STUDENTS, anchor="middle", frame="group"))
        .mark_rect(color=light("accent"), opacity=0.75)
        .encode(
            y=alt.Y("from:Q", scale=scale, title="Location (logits)", axis=alt.Axis(grid=True)),
            y2="to:Q",
            x=alt.X("n:Q", scale=alt.Scale(reverse=True, zero=True), axis=None),
            x2=alt.datum(0),
            tooltip=[
                alt.Tooltip("n:Q", title="Students"),
                alt.Tooltip("from:Q", format=".2f"),
                alt.Tooltip("to:Q", format=".2f"),
            ],
        )
        .properties(width=width, height=HEIGHT)
    )


def _column(
    rows: pl.DataFrame, name: str, scale: Any, colour: str, width: int, span: tuple[float, float]
) -> Any:
    """Points with names that do not overlap, or dots side by side if there are too many to name."""
    named, data = is_named(rows), column_data(rows, span)
    x = alt.Scale(domain=[0, width], nice=False)
    base = alt.Chart(values(data), title=alt.TitleParams(printable(name), anchor="middle", frame="group"))
    y = alt.Y(
        "location:Q",
        scale=scale,
        axis=alt.Axis(labels=False, ticks=False, domain=False, title=None, grid=True),
    )
    points = base.mark_point(
        filled=True, color=colour, opacity=1, size=42 if named else 18, aria=True
    ).encode(
        x=alt.X("x:Q", scale=x, axis=None),
        y=y,
        description="words:N",
        tooltip=[alt.Tooltip("label:N", title=name), alt.Tooltip("location:Q", format=".2f")],
    )
    if not named:
        return points.properties(width=width, height=HEIGHT)
    lines = base.mark_rule(stroke=light("faint"), strokeWidth=0.8).encode(
        x=alt.X("x:Q", scale=x, axis=None), x2="to:Q", y=y, y2="at:Q"
    )
    texts = base.mark_text(align="left", dx=4, dy=4, limit=width - 30).encode(
        x=alt.X("to:Q", scale=x, axis=None), y=alt.Y("at:Q", scale=scale), text="label:N"
    )
    return (lines + points + texts).properties(width=width, height=HEIGHT)
