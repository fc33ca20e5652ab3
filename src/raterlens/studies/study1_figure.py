"""Figure of Study 1: estimates against true values."""

from typing import Any

import altair as alt
import numpy as np
import polars as pl

from raterlens.studies.print_figures import BLUE, two_kinds
from raterlens.studies.study import Results

_PANELS = {
    "kappa": "Mean capability κ̄",
    "rho": "Discrimination ρ",
    "eta": "Severity η",
    "theta": "Ability θ",
    "delta": "Difficulty δ",
}


def recovery_data(results: Results, method: str = "hl") -> pl.DataFrame:
    """Mean estimate of every rater, student and item, with one standard deviation each way."""
    own = results.tables["accuracy"].filter(pl.col("parameter").is_in(list(_PANELS)), method=method)
    return own.select("parameter", "level", "truth", pl.col("model").str.to_uppercase(), *_with_sd())


def scale_data(results: Results) -> pl.DataFrame:
    """Mean and standard deviation of the GMF's sigma, by method."""
    own = results.tables["accuracy"].filter(model="gmf", parameter="sigma")
    return own.select("method", "truth", *_with_sd())


def _with_sd() -> tuple[pl.Expr, ...]:
    """Mean estimate, and one standard deviation of the estimates below and above it."""
    mean = pl.col("truth") + pl.col("bias")
    sd = (pl.col("rmse") ** 2 - pl.col("bias") ** 2).clip(0).sqrt()
    return mean.alias("mean"), (mean - sd).alias("low"), (mean + sd).alias("high")


def draw(results: Results) -> Any:
    data = recovery_data(results)
    panels = [_against_truth(data, parameter, title) for parameter, title in _PANELS.items()]
    panels.append(_scale(scale_data(results)))
    return alt.vconcat(
        alt.hconcat(*panels[:3], spacing=20), alt.hconcat(*panels[3:], spacing=20), spacing=14
    ).resolve_scale(color="shared", shape="shared")


def _scale(data: pl.DataFrame) -> Any:
    base = alt.Chart(data).encode(x=alt.X("method:N", title="Method", axis=alt.Axis(labelAngle=0)))
    ends = alt.Scale(zero=False)
    bars = base.mark_rule(strokeWidth=1.2, color=BLUE).encode(y=alt.Y("low:Q", scale=ends), y2="high:Q")
    points = base.mark_point(filled=True, size=50, color=BLUE, opacity=1).encode(
        y=alt.Y("mean:Q", title="Mean estimate of σ ± sd", scale=ends)
    )
    truth = base.mark_rule(color="#666666", strokeDash=[4, 3]).encode(y="truth:Q", x=alt.X())
    return (truth + bars + points).properties(width=190, height=190)


def _against_truth(data: pl.DataFrame, parameter: str, title: str) -> Any:
    own = data.filter(parameter=parameter)
    values = np.concatenate([own["truth"], own["low"], own["high"]])
    low, high = float(values.min()), float(values.max())
    ends = alt.Scale(domain=[low, high], nice=True)
    kinds = two_kinds("model", ["GMF", "TFM"], "Fitted model")
    diagonal = (
        alt.Chart(pl.DataFrame({"x": [low, high], "y": [low, high]}))
        .mark_line(color="#666666", strokeDash=[4, 3], strokeWidth=1)
        .encode(x=alt.X("x:Q", scale=ends), y=alt.Y("y:Q", scale=ends))
    )
    base = alt.Chart(own).encode(
        x=alt.X(
            "truth:Q", title=f"True {title[0].lower()}{title[1:]}", scale=ends, axis=alt.Axis(tickCount=5)
        )
    )
    bars = base.mark_rule(strokeWidth=1, opacity=0.5).encode(
        y=alt.Y("low:Q"), y2="high:Q", color=kinds["color"]
    )
    points = base.mark_point(filled=True, size=26, opacity=0.9).encode(
        y=alt.Y("mean:Q", title="Mean estimate ± sd", scale=ends, axis=alt.Axis(tickCount=5)),
        **kinds,
    )
    return (diagonal + bars + points).properties(width=190, height=190)
