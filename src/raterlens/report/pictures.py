"""The pictures of the report: charts for wide and narrow screens, and frames in which the scripts draw curves."""

import re
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl
from markupsafe import Markup

from raterlens.charts import capability, severity, svg
from raterlens.charts.palette import light
from raterlens.charts.theme import finished, values
from raterlens.diagnostics.verdicts import CAPABLE
from raterlens.report import english as words

if TYPE_CHECKING:
    from raterlens.result.record import Result

WIDE, NARROW = 960, 360
FRAME, FRAME_HEIGHT = 400, 240

# How the chart library shifts the whole drawing, and the rectangle that it draws around the data.
_PLACE = re.compile(r'<g[^>]*transform="translate\(([\d.]+),([\d.]+)\)"')
_VIEW = re.compile(r'd="M0\.5,0\.5h([\d.]+)v([\d.]+)h-[\d.]+Z"')


def pictures(fit: "Result", numbers: dict[str, Any]) -> dict[str, Any]:
    """`capability` and `severity`, each wide and narrow, and the frames of a rater's page."""
    return {
        "capability": _both(capability, fit),
        "severity": _both(severity, fit),
        "frames": {
            "curve": _curve_frame(numbers["curve"]),
            "what_if": _what_if_frame(numbers["what_if"]),
            "band": "low" in (numbers["curve"] or ()),
        },
    }


def _both(chart: Any, fit: "Result") -> tuple[Markup, Markup]:
    return svg(chart(fit, width=WIDE), name="wide"), svg(chart(fit, width=NARROW), name="narrow")


def _curve_frame(curve: dict[str, Any] | None) -> Markup | None:
    """Axes of kappa(theta) over the distribution of the students."""
    if curve is None:
        return None
    theta = np.array(curve["theta"])
    heights = np.array(curve["kappa"]) / 1000
    bottom, top = (
        min(0.0, float(np.floor(5 * heights.min()) / 5)),
        max(1.0, float(np.ceil(5 * heights.max()) / 5)),
    )
    grid = np.linspace(theta[0], theta[-1], 61)
    density = bottom + 0.35 * (top - bottom) * np.exp(-(grid**2) / 2)
    data = pl.DataFrame({"theta": grid, "density": density, "floor": np.full(61, bottom)})
    x = alt.X(
        "theta:Q",
        title=words.AXES["theta"],
        scale=alt.Scale(domain=[theta[0], theta[-1]], nice=False),
        axis=alt.Axis(tickCount=7, format="d"),
    )
    y = alt.Y("density:Q", title=words.AXES["curve"], scale=alt.Scale(domain=[bottom, top], nice=False))
    area = (
        alt.Chart(values(data)).mark_area(color=light("faint"), opacity=0.25).encode(x=x, y=y, y2="floor:Q")
    )
    drawn = svg(finished(area, words.RATER["curve"], width=FRAME, height=FRAME_HEIGHT), name="curve")
    marks = '<path class="band"/><path class="line"/>'
    return overlaid(drawn, (theta[0], theta[-1]), (bottom, top), marks)


def _what_if_frame(what_if: dict[str, Any]) -> Markup:
    """Axes of kappa-bar against severity, with the line that separates capable raters."""
    left, right = what_if["severity"]
    lowest = min(min(v for v in row if v is not None) for row in what_if["kappa"]) / 1000
    highest = max(max(v for v in row if v is not None) for row in what_if["kappa"]) / 1000
    bottom, top = min(0.0, float(np.floor(5 * lowest) / 5)), max(1.0, float(np.ceil(5 * highest) / 5))
    data = pl.DataFrame({"severity": [left, right], "line": [CAPABLE, CAPABLE]})
    x = alt.X("severity:Q", title=words.AXES["severity"], scale=alt.Scale(domain=[left, right], nice=False))
    y = alt.Y("line:Q", title=words.AXES["kappa"], scale=alt.Scale(domain=[bottom, top], nice=False))
    line = (
        alt.Chart(values(data))
        .mark_line(color=light("ink"), strokeDash=[4, 3], strokeWidth=1)
        .encode(x=x, y=y)
    )
    drawn = svg(finished(line, words.RATER["what_if"], width=FRAME, height=FRAME_HEIGHT), name="what-if")
    marks = (
        '<path class="line"/><circle class="best" r="5"/><circle class="now" r="5"/>'
        '<path class="moved" d="M0-9 7 0 0 9-7 0z"/>'
    )
    return overlaid(drawn, (left, right), (bottom, top), marks)


def overlaid(drawn: Markup, x: tuple[float, float], y: tuple[float, float], marks: str) -> Markup:
    """A frame for the scripts to draw in: `g.overlay` has its size and the values at its corners."""
    place, view = _PLACE.search(drawn), _VIEW.search(drawn)
    if place is None or view is None:
        raise RuntimeError("the chart library no longer draws a frame as expected; look at its SVG")
    group = (
        f'<g class="overlay" transform="translate({place[1]} {place[2]})" data-left="{x[0]}" data-right="{x[1]}" '
        f'data-bottom="{y[0]}" data-top="{y[1]}" data-width="{view[1]}" data-height="{view[2]}">{marks}</g>'
    )
    return Markup(str(drawn).replace("</svg>", f"{group}</svg>"))
