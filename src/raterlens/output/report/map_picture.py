"""The variable map of the report: students, raters, items and further facets on one scale."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from markupsafe import Markup

from raterlens.base.text import printable
from raterlens.output.report import english as words
from raterlens.output.report.drawing import Axis, Plot, cut, scale
from raterlens.pictures import map_data
from raterlens.pictures.ranking import TOLD

if TYPE_CHECKING:
    from raterlens.inference.result import Result

_ROLES = ("severe", "extreme", "weak", "lenient")
_GAP = 12.0
_ROOM = 120.0
"""Pixels that a column of dots takes in a chart, which is what their places are counted in."""


def variable_map(fit: "Result", widths: tuple[int, ...]) -> tuple[Markup, ...]:
    """One drawing per width; none for models whose raters judge true categories."""
    if fit.calibration is None:
        return ()
    data = map_data.wright_data(fit)
    said, found = map_data.description(data), _Found.of(data)
    return tuple(_drawn(found, width).svg(said) for width in widths)


class _Found(NamedTuple):
    """What is the same in every width."""

    span: tuple[float, float]
    bars: pl.DataFrame
    """Of the students"""
    columns: dict[str, tuple[pl.DataFrame, bool]]
    """Of each other facet: its points, and whether they have names"""

    @staticmethod
    def of(data: pl.DataFrame) -> "_Found":
        span = map_data.span_of(data)
        parts = {str(name): rows for (name,), rows in data.group_by("facet", maintain_order=True)}
        students = parts.pop(map_data.STUDENTS, data.clear())
        columns = {
            name: (map_data.column_data(rows, span), map_data.is_named(rows)) for name, rows in parts.items()
        }
        return _Found(span, map_data.histogram(students, span), columns)


def _drawn(found: _Found, width: int) -> Plot:
    low, high = found.span
    y = scale(low, high, words.AXES["map"], 10, grid=True)
    plot = Plot(width, map_data.HEIGHT, Axis(0.0, 1.0), y, above=18)
    first = (0.3 if width >= 480 else 0.2) * plot.width
    each = (plot.width - first) / max(len(found.columns), 1)
    _students(plot, found.bars, first)
    for place, (name, column) in enumerate(found.columns.items()):
        start = first + place * each
        _facet(plot, column, (start, each - _GAP), _ROLES[place % len(_ROLES)])
        plot.text((start + each / 2) / plot.width, high, cut(printable(name), each), "ink", 0, -7, "center")
    plot.text(first / 2 / plot.width, high, map_data.STUDENTS, "ink", 0, -7, "center")
    return plot


def _students(plot: Plot, bars: pl.DataFrame, width: float) -> None:
    """A histogram that grows to the left."""
    longest = float(bars["n"].to_numpy().max(initial=1))
    right, room = width / plot.width, (width - 2 * _GAP) / plot.width
    for low, high, n in bars.iter_rows():
        left = right - room * n / longest
        plot.area([left, right], [low] * 2, [high] * 2, "accent", 0.75)


def _facet(plot: Plot, column: tuple[pl.DataFrame, bool], place: tuple[float, float], role: str) -> None:
    """Points with names that do not overlap, or dots side by side."""
    (found, named), (start, room) = column, place
    told = found["words"].to_list() if found.height <= TOLD else [None] * found.height
    if not named:
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
