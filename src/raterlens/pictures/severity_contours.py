"""Severity against discrimination, over contours of the capability that follows from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from raterlens.pictures.contour_data import (
    HEIGHT,
    MANY,
    contours,
    description,
    drawing_order,
    ends_of,
    names,
    reach_of,
    severity_data,
    surface,
    titles,
)
from raterlens.pictures.encodings import kind_scales
from raterlens.pictures.ranking import TOLD, with_verdicts
from raterlens.pictures.style import CAPABLE, light
from raterlens.pictures.theme import DEFAULT_WIDTH, check_width, finished, outlined, tooltips, values

if TYPE_CHECKING:
    from raterlens.inference.result import Result

# What axes take of the width.
_MARGIN = 90


def severity(fit: Result, *, width: int = DEFAULT_WIDTH) -> Any:
    """Is a rater's capability limited by severity, or by discrimination?

    Capability is constant along each curve. Raters above the bold curve are capable. To get there, a rater beside it
    has to change severity, and a rater below it has to discriminate better.

    Parameters
    ----------
    fit
        Any fit. For latent class models severity is the distance of the criterion from the rater's best one.
    width
        Width of the whole chart in pixels; 380 suits a phone.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> import raterlens as rl
    >>> chart = rl.charts.severity(rl.fit(rl.load_example()))
    >>> chart.to_dict()["description"][:38]
    'Severity against discrimination of 16 '
    """
    check_width(width)
    points = severity_data(fit)
    reach, (floor, top) = reach_of(points), ends_of(points)
    x = alt.Scale(domain=[-reach, reach], nice=False)
    y = alt.Scale(domain=[floor, 1.04 * top], nice=False)
    curves = contours(surface(fit), reach, top=top)
    across, up = titles(fit, width)
    named = names(points, curves, reach, (floor, 1.04 * top), width - _MARGIN)
    marks = (
        alt.Chart(values(with_verdicts(drawing_order(points))))
        .mark_point(
            size=70 if points.height <= MANY else 26, opacity=1, strokeWidth=1.5, aria=points.height <= TOLD
        )
        .encode(
            x=alt.X(
                "eta:Q",
                title=across,
                scale=x,
                axis=alt.Axis(grid=False, tickCount=10 if width >= 480 else 6),
            ),
            y=alt.Y("rho:Q", title=up, scale=y, axis=alt.Axis(grid=False)),
            description="words:N",
            tooltip=_tooltip(),
            **kind_scales(points, width),
        )
    )
    texts = outlined(
        alt.Chart(values(named)).encode(x=alt.X("eta:Q", scale=x), y=alt.Y("rho:Q", scale=y), text="name:N")
    )
    return finished(
        _background(curves, x, y, top) + marks + texts, description(points), width=width, height=HEIGHT
    )


def _background(curves: pl.DataFrame, x: Any, y: Any, top: float) -> Any:
    """The region of capable raters, and contours with their level at the right end."""
    place = {"x": alt.X("eta:Q", scale=x), "y": alt.Y("rho:Q", scale=y)}
    accent = light("accent")
    inside = curves.filter(pl.col("level") == CAPABLE).with_columns(top=pl.lit(top))
    region = (
        alt.Chart(values(inside))
        .mark_area(color=accent, opacity=0.09, aria=False)
        .encode(**place, y2="top:Q")
    )
    weight = alt.condition(f"datum.level == {CAPABLE}", alt.value(2.2), alt.value(1))
    lines = (
        alt.Chart(values(curves))
        .mark_line(stroke=accent, opacity=0.75)
        .encode(**place, detail="level:N", strokeWidth=weight, order="eta:Q")
    )
    ends = curves.group_by("level", maintain_order=True).last()
    levels = (
        alt.Chart(
            values(ends.with_columns(level=pl.col("level").map_elements(lambda v: f"{v:.1f}", pl.String)))
        )
        .mark_text(color=accent, align="left", dx=3, dy=-4)
        .encode(**place, text="level:N")
    )
    return region + lines + levels


def _tooltip() -> list[alt.Tooltip]:
    texts = ("rater", "Rater"), ("label", "Verdict")
    return tooltips(*texts, eta="Severity", rho="Discrimination", kappa="Capability")
