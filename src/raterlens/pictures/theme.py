"""What all charts share: size, type, lines and colours, tooltips, and data that a chart can hold."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import polars as pl

from raterlens.base.errors import OptionError
from raterlens.pictures.style import light

DEFAULT_WIDTH, PHONE_WIDTH = 640, 380
"""In pixels; a phone shows the second without scrolling."""
NARROWEST, WIDEST = 280, 2000

# Altair refuses frames with more rows to keep notebooks small; larger charts hold their rows inline.
_MOST_ROWS = 5_000

FONT = "DejaVu Sans, Verdana, Arial, sans-serif"


PLACED: Any = {name: {"expr": f"datum.{name}"} for name in ("align", "dx", "dy")}
"""Text at the offset found by `label_placement`."""


def check_width(width: int) -> int:
    """Raise if a chart of this width would not be readable."""
    if not NARROWEST <= width <= WIDEST:
        remedy = f"give pixels from {NARROWEST} to {WIDEST:,}, {PHONE_WIDTH} for a phone"
        raise OptionError(f"width is {width}", remedy, value=width, option="width")
    return int(width)


def values(frame: pl.DataFrame) -> Any:
    """Rows as a chart's data, however many: null instead of NaN."""
    frame = frame.fill_nan(None)
    return frame if frame.height <= _MOST_ROWS else alt.InlineData(values=frame.to_dicts())


def tooltips(*texts: tuple[str, str], **numbers: str) -> list[alt.Tooltip]:
    """Columns of text as (name, title), then columns of numbers as name=title, to two digits."""
    return [
        *(alt.Tooltip(f"{name}:N", title=title) for name, title in texts),
        *(alt.Tooltip(f"{name}:Q", title=title, format=".2f") for name, title in numbers.items()),
    ]


def extent(*columns: pl.Series) -> tuple[float, float]:
    """The smallest and the largest number in some columns; 0 and 0 if there is none.

    Examples
    --------
    >>> extent(pl.Series([2, None]), pl.Series([0.5, float("nan")]))
    (0.5, 2.0)
    """
    known = np.concatenate(
        [column.cast(pl.Float64).drop_nulls().drop_nans().to_numpy() for column in columns]
    )
    return (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)


def outlined(base: Any) -> Any:
    """Names placed by `label_placement`, each with an outline in the colour of the paper, so that lines do not cross
    it."""
    outline = base.mark_text(stroke=light("paper"), strokeWidth=3, strokeJoin="round", **PLACED)
    return outline + base.mark_text(**PLACED)


def finished(chart: Any, description: str, *, width: int | None = None, height: int | None = None) -> Any:
    """The chart with its size (`width` includes axes and legend), its style and its description."""
    size: dict[str, Any] = {} if height is None else {"height": height}
    if width is not None:
        size |= {"width": width, "autosize": {"type": "fit-x", "contains": "padding"}}
    return chart.properties(description=description, **size).configure(**_style())


def _style() -> dict[str, Any]:
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
