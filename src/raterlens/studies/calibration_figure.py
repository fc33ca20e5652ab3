"""Figure of the calibration study: coverage of every interval against its nominal level, and its width."""

from typing import Any

import altair as alt
import polars as pl

from raterlens.studies.calibration_page import DEFAULT, INSIDE, METHODS
from raterlens.studies.print_figures import BLUE, VERMILION
from raterlens.studies.study import Results

_DESIGNS = {"writing": "Writing design", "study 1": "Study 1's design"}
_GOAL = (0.93, 0.97)


def calibration_data(results: Results) -> pl.DataFrame:
    """Of raters inside: design, method, coverage with two standard errors each way, and width."""
    reach = 2 * pl.col("coverage_se")
    return (
        results.tables["coverage"]
        .filter(pl.col("group") == INSIDE, pl.col("design").is_in(list(_DESIGNS)))
        .select(
            pl.col("design").replace(_DESIGNS),
            "method",
            "coverage",
            low=(pl.col("coverage") - reach).clip(0, 1),
            high=(pl.col("coverage") + reach).clip(0, 1),
            width="width",
            default=pl.col("method") == DEFAULT,
        )
    )


def draw(results: Results) -> Any:
    data = calibration_data(results)
    present = set(data["method"])
    order = [method for method in METHODS if method in present]
    rows = [_row(data.filter(pl.col("design") == design), design, order) for design in _DESIGNS.values()]
    return alt.vconcat(*(row for row in rows if row is not None), spacing=18)


def _row(data: pl.DataFrame, design: str, order: list[str]) -> Any:
    if not data.height:
        return None
    colour = alt.condition("datum.default", alt.value(VERMILION), alt.value(BLUE))
    least = min(0.85, float(data["low"].to_numpy().min()))
    scale = alt.Scale(domain=[least, 1.0], nice=False)
    y = alt.Y("method:N", sort=order, title=None, axis=alt.Axis(labelLimit=260, grid=True))
    goal = alt.Chart(pl.DataFrame({"low": [_GOAL[0]], "high": [_GOAL[1]]})).mark_rect(
        color="#DDDDDD", opacity=0.6
    )
    goal = goal.encode(x=alt.X("low:Q", scale=scale), x2="high:Q")
    base = alt.Chart(data).encode(y=y, color=colour)
    x = alt.X("coverage:Q", scale=scale, title="Coverage of 95 % intervals", axis=alt.Axis(format=".0%"))
    errors = base.mark_rule(strokeWidth=1.6).encode(x=alt.X("low:Q", scale=scale, title=""), x2="high:Q")
    points = base.mark_point(filled=True, size=60, opacity=1).encode(x=x)
    width = (
        alt.Chart(data.drop_nulls("width"))
        .mark_point(filled=True, size=60, opacity=1)
        .encode(
            x=alt.X("width:Q", title="Mean width", scale=alt.Scale(zero=True)),
            y=alt.Y("method:N", sort=order, title=None, axis=alt.Axis(labels=False, grid=True)),
            color=colour,
        )
    )
    size = {"height": alt.Step(18)}
    left = (goal + errors + points).properties(width=260, title=design, **size)
    return alt.hconcat(left, width.properties(width=150, **size), spacing=12)
