"""What if: the capability of a rater at other severities."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from raterlens.base.text import number, printable
from raterlens.pictures.label_placement import severity_title
from raterlens.pictures.ranking import not_for, rater_name
from raterlens.pictures.style import CAPABLE, light
from raterlens.pictures.theme import (
    DEFAULT_WIDTH,
    check_width,
    extent,
    finished,
    outlined,
    values,
)

if TYPE_CHECKING:
    from raterlens.fitting.fit import Fit

HEIGHT = 300
LEAST_REACH = 3.0
NOW, BEST = "now", "best"


def what_if_data(fit: Fit, rater: object) -> pl.DataFrame:
    """point, severity, kappa: the curve (point is null), the rater's estimate (`now`) and the best severity
    (`best`)."""
    not_for(fit, "what_if", "raters have a criterion and a slope instead of a severity", "severity")
    name = rater_name(fit, rater)
    fit = replace(fit, backend="polars")
    place = fit.what_if(name, 0.0)
    reach = max(LEAST_REACH, 1.0 + max(abs(place.severity), abs(place.best_severity)))
    curve: pl.DataFrame = fit.what_if(name, np.linspace(-reach, reach, 121).tolist()).curve
    points = {
        "point": [NOW, BEST],
        "severity": [place.severity, place.best_severity],
        "kappa": [place.kappa, place.best_kappa],
    }
    return pl.concat([curve.select(pl.lit(None, pl.String).alias("point"), pl.all()), pl.DataFrame(points)])


def what_if(fit: Fit, rater: object, *, width: int = DEFAULT_WIDTH) -> Any:
    """How capable would a rater be with another severity?

    Parameters
    ----------
    fit
        Of a facets model (`gmf`, `tfm`, `probit`).
    rater
        A label of `fit.raters`.
    width
        Width of the whole chart in pixels; 380 suits a phone.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> import raterlens as rl
    >>> chart = rl.charts.what_if(rl.fit(rl.load_example()), "DA:School")
    >>> chart.to_dict()["description"][:47]
    'Capability of DA:School at other severities: no'
    """
    check_width(width)
    data = what_if_data(fit, rater)
    curve = data.filter(pl.col("point").is_null())
    points = data.drop_nulls("point")
    now, best = points.rows(named=True)
    reach = extent(curve["severity"])[1]
    x = alt.X(
        "severity:Q",
        title=severity_title(width),
        scale=alt.Scale(domain=[-reach, reach], nice=False),
        axis=alt.Axis(grid=False),
    )
    least, most = extent(data["kappa"])
    low, high = min(0.0, least), max(1.0, most)
    y = alt.Y(
        "kappa:Q",
        title="Capability κ̄",
        scale=alt.Scale(domain=[low, 1.12 * high], nice=False),
        axis=alt.Axis(tickCount=5),
    )
    line = alt.Chart(values(curve)).mark_line(stroke=light("accent"), strokeWidth=2.4).encode(x=x, y=y)
    capable = (
        alt.Chart(pl.DataFrame({"kappa": [CAPABLE]}))
        .mark_rule(stroke=light("ink"), strokeDash=[4, 3], opacity=0.75)
        .encode(y=y)
    )
    drop = (
        alt.Chart(values(points.with_columns(floor=pl.lit(low))))
        .mark_rule(stroke=light("faint"), strokeDash=[2, 2])
        .encode(x=x, y=y, y2="floor:Q")
    )
    marks = (
        alt.Chart(values(points))
        .mark_point(size=110, opacity=1, strokeWidth=2, stroke=light("accent"))
        .encode(
            x=x,
            y=y,
            shape=alt.Shape(
                "point:N", scale=alt.Scale(domain=[NOW, BEST], range=["circle", "diamond"]), legend=None
            ),
            fill=alt.Fill(
                "point:N",
                scale=alt.Scale(domain=[NOW, BEST], range=[light("accent"), light("paper")]),
                legend=None,
            ),
        )
    )
    words = (
        f"Capability of {printable(rater)} at other severities: now {number(now['kappa'])} at severity "
        f"{number(now['severity'])}, at best {number(best['kappa'])} at {number(best['severity'])}."
    )
    text = outlined(alt.Chart(values(_labels(now, best, reach))).encode(x=x, y=y, text="words:N"))
    return finished(capable + drop + line + marks + text, words, width=width, height=HEIGHT)


def _labels(now: dict[str, Any], best: dict[str, Any], reach: float) -> pl.DataFrame:
    """Text beside the two points, without overlap and inside the frame."""
    gain = best["kappa"] - now["kappa"]
    rows = []
    right = now["severity"] >= best["severity"]
    if gain < 0.005:
        one = {**now, "words": f"at the best severity: {number(now['kappa'])}"}
        rows = [one | {"align": "center", "dx": 0.0, "dy": -14.0}]
    else:
        crowded = abs(now["severity"]) > 0.45 * reach
        align, dx = ("left", 12.0) if right else ("right", -12.0)
        if crowded:
            align, dx = ("right", -12.0) if right else ("left", 12.0)
        rows = [
            now
            | {
                "words": f"now: {number(now['kappa'])}",
                "align": align,
                "dx": dx,
                "dy": 16.0 if crowded else -4.0,
            },
            best
            | {
                "words": f"best: {number(best['kappa'])} (+{number(gain)})",
                "align": "center",
                "dx": 0.0,
                "dy": -14.0,
            },
        ]
    return pl.DataFrame(rows)
