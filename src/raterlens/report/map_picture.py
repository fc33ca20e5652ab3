"""The variable map of the report: students, raters, items and further facets on one scale."""

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from markupsafe import Markup

from raterlens.charts import map_data
from raterlens.charts.rater_marks import TOLD
from raterlens.report import english as words
from raterlens.report.drawing import Axis, Plot, cut, scale
from raterlens.text import printable

if TYPE_CHECKING:
    from raterlens.result.record import Result

_ROLES = ("severe", "extreme", "weak", "lenient")
_GAP = 12.0
_ROOM = 120.0
"""Pixels that a column of dots takes in a chart, which is what their places are counted in."""


def variable_map(fit: "Result", widths: tuple[int, ...]) -> tuple[Markup, ...]:
    """One drawing per width; none for models whose raters judge true categories."""
    if fit.calibration is None:
        return ()
    data = map_data.wright_data(fit)
    return tuple(_drawn(data, width).svg(map_data.description(data)) for width in widths)


def _drawn(data: pl.DataFrame, width: int) -> Plot:
    low, high = span = map_data.span_of(data)
    y = scale(low, high, words.AXES["map"], 10, grid=True)
    plot = Plot(width, map_data.HEIGHT, Axis(0.0, 1.0), y, above=18)
    facets = [name for name in data["facet"].unique(maintain_order=True) if name != map_data.STUDENTS]
    first = (0.3 if width >= 480 else 0.2) * plot.width
    each = (plot.width - first) / max(len(facets), 1)
    _students(plot, data.filter(facet=map_data.STUDENTS), span, first)
    for place, name in enumerate(facets):
        start = first + place * each
        _facet(plot, data.filter(facet=name), span, (start, each - _GAP), _ROLES[place % len(_ROLES)])
        plot.text((start + each / 2) / plot.width, high, cut(printable(name), each), "ink", 0, -7, "center")
    plot.text(first / 2 / plot.width, high, map_data.STUDENTS, "ink", 0, -7, "center")
    return plot


def _students(plot: Plot, rows: pl.DataFrame, span: tuple[float, float], width: float) -> None:
    """A histogram that grows to the left."""
    bars = map_data.histogram(rows, span)
    longest = float(bars["n"].to_numpy().max(initial=1))
    right, room = width / plot.width, (width - 2 * _GAP) / plot.width
    for low, high, n in bars.iter_rows():
        left = right - room * n / longest
        plot.area([left, right], [low] * 2, [high] * 2, "accent", 0.75)


def _facet(
    plot: Plot, rows: pl.DataFrame, span: tuple[float, float], place: tuple[float, float], role: str
) -> None:
    """Points with names that do not overlap, or dots side by side."""
    start, room = place
    found = map_data.column_data(rows, span)
    told = found["words"].to_list() if found.height <= TOLD else [None] * found.height
    if not map_data.is_named(rows):
        across = (start + _GAP + found["x"].to_numpy() * min(1.0, room / _ROOM)) / plot.width
        plot.dots(across, found["location"], role, told, 2.0)
        return
    left, right = ((start + x) / plot.width for x in (_GAP + 6, _GAP + 20))
    n = found.height
    plot.segments(
        (np.full(n, left), found["location"]), (np.full(n, right), found["at"]), "faint", 'opacity="0.8"'
    )
    plot.dots(np.full(n, left), found["location"], role, told)
    for label, at in found.select("label", "at").iter_rows():
        plot.text(right, at, cut(label, room - _GAP - 26), "ink", 4, 4)
