"""Capability of every rater with its interval, the most capable first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from raterlens.pictures.encodings import kind_scales
from raterlens.pictures.ranking import (
    MOST_ROWS,
    TOLD,
    axis_title,
    capability_data,
    description,
    domain,
    height_of,
    lowest,
    with_verdicts,
)
from raterlens.pictures.style import CAPABLE, light
from raterlens.pictures.theme import DEFAULT_WIDTH, check_width, finished, outlined, tooltips, values

if TYPE_CHECKING:
    from raterlens.inference.result import Result


def capability(fit: Result, *, width: int = DEFAULT_WIDTH) -> Any:
    """How capable is each rater, and how sure are we?

    Parameters
    ----------
    fit
        Any fit.
    width
        Width of the whole chart in pixels; 380 suits a phone. Panels of more than 60 raters are drawn as one ranked
        curve that highlights the raters who need attention.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> import raterlens as rl
    >>> chart = rl.charts.capability(rl.fit(rl.load_example()))
    >>> chart.to_dict()["description"][:24]
    'Capability of 16 raters,'
    """
    check_width(width)
    data = capability_data(fit)
    drawn = _rows(data, width) if data.height <= MOST_ROWS else _ranked(data, width)
    return finished(drawn, description(data), width=width, height=height_of(data))


def _rows(data: pl.DataFrame, width: int) -> Any:
    y = alt.Y(
        "rater:N",
        sort=data["rater"].to_list(),
        title=None,
        axis=alt.Axis(
            labelLimit=int(0.34 * width),
            labelColor=light("ink"),
            ticks=False,
            domain=False,
            grid=False,
            labelPadding=8,
        ),
    )
    scale = alt.Scale(domain=list(domain(data)), nice=False)
    base = alt.Chart(values(with_verdicts(data)))
    rules = (
        base.transform_filter("isValid(datum.kappa_low) && isValid(datum.kappa_high)")
        .mark_rule(strokeWidth=3, opacity=0.45, strokeCap="round")
        .encode(
            y=y,
            x=alt.X("kappa_low:Q", scale=scale),
            x2="kappa_high:Q",
            stroke=kind_scales(data, width)["stroke"],
        )
    )
    points = base.mark_point(size=70, opacity=1, strokeWidth=1.5, aria=True).encode(
        y=y,
        x=alt.X("kappa:Q", title=axis_title(data), scale=scale, axis=_axis(width)),
        description="words:N",
        tooltip=_tooltip(),
        **kind_scales(data, width),
    )
    return _line(scale) + rules + points


def _ranked(data: pl.DataFrame, width: int) -> Any:
    """One thin line per rater: those who are fine form the curve, the others stand out."""
    n = data.height
    x = alt.X(
        "place:Q",
        title="Raters, the most capable first",
        scale=alt.Scale(domain=[0.5, n + 0.5], nice=False),
        axis=alt.Axis(grid=False, tickMinStep=1, format=",d"),
    )
    scale = alt.Scale(domain=list(domain(data)), nice=False)
    y = alt.Y("kappa:Q", title=axis_title(data), scale=scale)
    base = alt.Chart(values(with_verdicts(data)))
    thin = max(0.6, min(3.0, 0.7 * width / n))
    rules = (
        base.transform_filter("isValid(datum.kappa_low) && isValid(datum.kappa_high)")
        .mark_rule(strokeWidth=thin, opacity=0.28 if n <= 600 else 0.16)
        .encode(
            x=x,
            y=alt.Y("kappa_low:Q", scale=scale),
            y2="kappa_high:Q",
            stroke=kind_scales(data, width)["stroke"],
        )
    )
    size = 26 if n <= 300 else 12
    points = base.mark_point(size=size, opacity=1, strokeWidth=1, aria=n <= TOLD).encode(
        x=x, y=y, description="words:N", tooltip=_tooltip(), **kind_scales(data, width)
    )
    return _line(scale, across=False) + rules + points + _names(data, x, scale, width)


def _names(data: pl.DataFrame, x: Any, scale: Any, width: int) -> Any:
    """Names of the least capable raters who need attention, where there is room."""
    names = lowest(data, width - 70)
    return outlined(alt.Chart(values(names)).encode(x=x, y=alt.Y("kappa:Q", scale=scale), text="name:N"))


def _line(scale: Any, *, across: bool = True) -> Any:
    """The line that separates capable raters."""
    where = {"x" if across else "y": (alt.X if across else alt.Y)("at:Q", scale=scale)}
    return (
        alt.Chart(values(pl.DataFrame({"at": [CAPABLE]})))
        .mark_rule(stroke=light("ink"), strokeDash=[4, 3], strokeWidth=1, opacity=0.75)
        .encode(**where)
    )


def _axis(width: int) -> alt.Axis:
    return alt.Axis(tickCount=5 if width < 480 else 10, format=".1f")


def _tooltip() -> list[alt.Tooltip]:
    texts = (("rater", "Rater"), ("label", "Verdict"), ("n", "Ratings"))
    return tooltips(*texts, kappa="Capability", kappa_low="from", kappa_high="to")
