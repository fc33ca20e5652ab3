"""The Wright map: students, raters, items and further facets on one scale.

The scale is that of the predictor, S = a_r theta - eta_r - delta_i + alpha: a student is at a theta + alpha, where a is
the raters' average slope, a rater at eta, an item at delta. If a student and a rater are level, the rater passes half
of the student's work on an average item. The probit rater model has all of them on the scale of ability.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from raterlens.charts.palette import light
from raterlens.charts.rater_marks import calibration_of, not_for
from raterlens.charts.theme import DEFAULT_WIDTH, check_width, extent, finished, values
from raterlens.models.registry import facets_spec
from raterlens.text import counted, distinct, number, printable
from raterlens.types import Array

if TYPE_CHECKING:
    from raterlens.result.record import Result


HEIGHT = 440
STUDENTS, RATERS, ITEMS = "Students", "Raters", "Items"
LINE = 13.0
"""Pixels between names."""

_BINS = 28
_AXIS = 58
_GAP = 8
_COLOURS = (light("severe"), light("extreme"), light("weak"), light("lenient"))


def wright_data(fit: Result) -> pl.DataFrame:
    """facet (Students, Raters, Items, and the name of each further facet), label, location."""
    not_for(fit, "wright", "raters judge true categories, on a scale of their own", "severity")
    effects = calibration_of(fit, "it has no common scale").effects
    slope, severity = effects["slope"], effects["severity"]
    raters, theta = fit.table("raters"), fit.table("students")["theta"].to_numpy()
    if facets_spec(fit.model).difficulty_on_ability_scale:
        students, places = theta, severity / np.where(slope > 0, slope, np.nan)
    else:
        students, places = slope.mean() * theta + fit.alpha, raters["eta"].to_numpy()
    parts = [
        _part(STUDENTS, fit.table("students")["student"], students),
        _part(RATERS, raters["rater"], places),
        _part(ITEMS, fit.table("items")["item"], fit.table("items")["delta"].to_numpy()),
    ]
    if "facets" in fit.tables:
        for (name,), levels in fit.table("facets").group_by("facet", maintain_order=True):
            parts.append(_part(str(name), levels["level"], levels["effect"].to_numpy()))
    return pl.concat(parts).filter(pl.col("location").is_finite())


def _part(facet: str, labels: pl.Series, location: Array) -> pl.DataFrame:
    return pl.DataFrame(
        {"facet": [facet] * len(labels), "label": distinct(labels), "location": np.asarray(location, float)}
    )


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
    low, high = extent(data["location"])
    # A little beyond the ends, so that tick labels do not shift the titles.
    beyond = 0.03 * (high - low) + 0.1
    low, high = low - beyond, high + beyond
    scale = alt.Scale(domain=[low, high], nice=False)
    room = width - _AXIS - 14
    share = 0.3 if width >= 480 else 0.22
    first = int(share * room)
    each = int((room - first - _GAP * len(others)) / len(others))
    panels = [_students(data.filter(facet=STUDENTS), scale, first)]
    for place, name in enumerate(others):
        colour = _COLOURS[place % len(_COLOURS)]
        panels.append(_column(data.filter(facet=name), name, scale, colour, each, (low, high)))
    return finished(alt.hconcat(*panels, spacing=_GAP), _words(data), height=None)


def _students(rows: pl.DataFrame, scale: Any, width: int) -> Any:
    """A histogram that grows to the left."""
    low, high = scale["domain"]
    edges = np.linspace(low, high, _BINS + 1)
    count, _ = np.histogram(rows["location"].to_numpy(), edges)
    bars = pl.DataFrame({"from": edges[:-1], "to": edges[1:], "n": count}).filter(pl.col("n") > 0)
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
    named = rows.height * LINE <= HEIGHT
    data = spread_names(rows, span) if named else _dots(rows, span)
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


def spread_names(rows: pl.DataFrame, span: tuple[float, float]) -> pl.DataFrame:
    """Rows with x and to (where the line to a name starts and ends) and at (the location of the name, a line apart)."""
    ordered = rows.sort("location")
    least = (span[1] - span[0]) * LINE / HEIGHT
    at = ordered["location"].to_numpy()
    # Groups of names that touch are spread around their common middle until none touch.
    groups = [[place] for place in range(len(at))]
    merged = True
    while merged:
        merged = False
        for one in range(len(groups) - 1):
            if (
                _lowest(at, groups[one + 1], least, span) - _highest(at, groups[one], least, span)
                < 0.999 * least
            ):
                groups[one] += groups.pop(one + 1)
                merged = True
                break
    spread = np.empty_like(at)
    for group in groups:
        start = _lowest(at, group, least, span)
        for order, place in enumerate(group):
            spread[place] = start + order * least
    return _described(ordered).with_columns(pl.Series("at", spread), x=pl.lit(8.0), to=pl.lit(22.0))


def _lowest(at: Array, group: list[int], least: float, span: tuple[float, float]) -> float:
    length = (len(group) - 1) * least
    return float(np.clip(at[group].mean() - length / 2, span[0], max(span[0], span[1] - length)))


def _highest(at: Array, group: list[int], least: float, span: tuple[float, float]) -> float:
    return _lowest(at, group, least, span) + (len(group) - 1) * least


def _dots(rows: pl.DataFrame, span: tuple[float, float]) -> pl.DataFrame:
    """Side by side within a line, as a histogram of dots."""
    step = (span[1] - span[0]) / 90
    line = (pl.col("location") / step).round()
    most = extent(rows.group_by(line.alias("line")).len()["len"])[1]
    apart = min(5.0, 90.0 / max(most, 1.0))
    return _described(rows.sort("location")).with_columns(x=6 + apart * pl.int_range(pl.len()).over(line))


def _described(rows: pl.DataFrame) -> pl.DataFrame:
    words = [f"{label}: {number(location)}" for _, label, location in rows.iter_rows()]
    return rows.with_columns(pl.Series("words", words, dtype=pl.String))


def _words(data: pl.DataFrame) -> str:
    said = []
    for (facet,), rows in data.group_by("facet", maintain_order=True):
        low, high = (number(end, 1) for end in extent(rows["location"]))
        said.append(f"{counted(rows.height, str(facet).lower().removesuffix('s'))} from {low} to {high}")
    return f"Students, raters and items on one scale: {', '.join(said)}."
