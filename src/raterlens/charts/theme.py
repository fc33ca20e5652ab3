"""What all charts share: size, type, lines and colours, and data without surprises."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

from raterlens.charts.palette import light
from raterlens.errors import OptionError

DESK, PHONE = 640, 380
"""Widths in pixels: the default, and one that a phone shows without scrolling."""
NARROWEST, WIDEST = 280, 2000

# Altair refuses frames with more rows, lest notebooks grow; a chart that needs them holds them itself.
_MOST_ROWS = 5_000

FONT = "DejaVu Sans, Verdana, Arial, sans-serif"


PLACED: Any = {name: {"expr": f"datum.{name}"} for name in ("align", "dx", "dy")}
"""A text that stands where labels.py placed it."""


def check_width(width: int) -> int:
    """Raise where a chart would not be readable."""
    if not NARROWEST <= width <= WIDEST:
        raise OptionError(f"width={width}; give pixels from {NARROWEST} to {WIDEST:,}, {PHONE} for a phone")
    return int(width)


def values(frame: pl.DataFrame) -> Any:
    """Rows as a chart's data: null where there is no number, complete whatever their number."""
    frame = frame.fill_nan(None)
    if frame.height <= _MOST_ROWS:
        return frame
    import altair as alt

    return alt.InlineData(values=frame.to_dicts())


def extent(*columns: pl.Series) -> tuple[float, float]:
    """The least and the greatest number of some columns; 0 and 0 where there is none.

    Examples
    --------
    >>> extent(pl.Series([2, None]), pl.Series([0.5, float("nan")]))
    (0.5, 2.0)
    """
    known = np.concatenate(
        [column.cast(pl.Float64).drop_nulls().drop_nans().to_numpy() for column in columns]
    )
    return (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)


def legend_columns(names: Iterable[str], width: int) -> int:
    """As many entries of a legend as stand side by side."""
    longest = max((len(name) for name in names), default=1)
    return max(1, min(6, int((width - 70) / (6.6 * longest + 46))))


def rimmed(base: Any) -> Any:
    """Names that labels.py placed, each on a rim of paper, so that lines do not cross them."""
    rim = base.mark_text(stroke=light("paper"), strokeWidth=3, strokeJoin="round", **PLACED)
    return rim + base.mark_text(**PLACED)


def finished(chart: Any, description: str, *, width: int | None = None, height: int | None = None) -> Any:
    """The chart with its size (all of it, axes and legend included, is `width` wide), its look and its words."""
    size: dict[str, Any] = {} if height is None else {"height": height}
    if width is not None:
        size |= {"width": width, "autosize": {"type": "fit-x", "contains": "padding"}}
    return chart.properties(description=description, **size).configure(**_look())


def _look() -> dict[str, Any]:
    ink, soft, line, faint = (light(role) for role in ("ink", "soft", "line", "faint"))
    plain = {"titleFontWeight": "normal"}
    return {
        "background": light("paper"),
        "font": FONT,
        "padding": 6,
        "mark": {"aria": False},
        "view": {"stroke": line, "strokeWidth": 1},
        "axis": {
            **plain,
            "labelFontSize": 11,
            "titleFontSize": 12,
            "titlePadding": 8,
            "labelFlush": False,
            "labelColor": soft,
            "titleColor": ink,
            "gridColor": line,
            "domainColor": faint,
            "tickColor": faint,
        },
        "legend": {
            **plain,
            "labelFontSize": 11,
            "titleFontSize": 11,
            "labelColor": soft,
            "titleColor": soft,
            "labelLimit": 260,
            "symbolOpacity": 1,
            "orient": "top",
            "offset": 6,
        },
        "header": {**plain, "labelFontSize": 12, "labelColor": ink, "titleColor": ink},
        "title": {"fontSize": 12, "fontWeight": "normal", "anchor": "start", "color": ink},
        "text": {"color": ink, "fontSize": 11, "baseline": "alphabetic"},
    }
