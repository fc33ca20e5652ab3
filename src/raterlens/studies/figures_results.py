"""Figures of the studies' results: plot data comes from a study's tables, drawing is here."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from raterlens.studies import misspecified, noise, study2
from raterlens.studies import ratings_per_student as ratings
from raterlens.studies.figures import BLUE, COLOURS, SHAPES, VERMILION, lines
from raterlens.studies.figures_coverage import draw_calibration
from raterlens.studies.study import Results


def draw(study: str, results: Results) -> dict[str, Any]:
    """The figures of one study by file name."""
    return {study: _DRAWINGS[study](results)} if study in _DRAWINGS else {}


# ------------------------------------------------------------------------------------------- Study 1

_PANELS = {
    "kappa": "Mean capability κ̄",
    "rho": "Discrimination ρ",
    "eta": "Severity η",
    "theta": "Ability θ",
    "delta": "Difficulty δ",
}


def recovery_data(results: Results, method: str = "hl") -> pl.DataFrame:
    """Mean estimate of every rater, student and item, with the middle two thirds of the replications."""
    error = (pl.col("rmse") ** 2 - pl.col("bias") ** 2).clip(0).sqrt()
    return (
        results.tables["accuracy"]
        .filter(pl.col("method") == method, pl.col("parameter").is_in(list(_PANELS)))
        .select(
            "parameter",
            "level",
            "truth",
            pl.col("model").str.to_uppercase(),
            mean=pl.col("truth") + pl.col("bias"),
            low=pl.col("truth") + pl.col("bias") - error,
            high=pl.col("truth") + pl.col("bias") + error,
        )
    )


def scale_data(results: Results) -> pl.DataFrame:
    """Mean and spread of the GMF's sigma by every method."""
    error = (pl.col("rmse") ** 2 - pl.col("bias") ** 2).clip(0).sqrt()
    mean = pl.col("truth") + pl.col("bias")
    return (
        results.tables["accuracy"]
        .filter(pl.col("model") == "gmf", pl.col("parameter") == "sigma")
        .select("method", "truth", mean=mean, low=mean - error, high=mean + error)
    )


def _study1(results: Results) -> Any:
    import altair as alt

    data = recovery_data(results)
    panels = [_against_truth(data, parameter, title) for parameter, title in _PANELS.items()]
    panels.append(_scale(scale_data(results)))
    return alt.vconcat(
        alt.hconcat(*panels[:3], spacing=20), alt.hconcat(*panels[3:], spacing=20), spacing=14
    ).resolve_scale(color="shared", shape="shared")


def _scale(data: pl.DataFrame) -> Any:
    import altair as alt

    base = alt.Chart(data).encode(x=alt.X("method:N", title="Method", axis=alt.Axis(labelAngle=0)))
    ends = alt.Scale(zero=False)
    bars = base.mark_rule(strokeWidth=1.2, color=BLUE).encode(y=alt.Y("low:Q", scale=ends), y2="high:Q")
    points = base.mark_point(filled=True, size=50, color=BLUE, opacity=1).encode(
        y=alt.Y("mean:Q", title="Mean estimate of σ ± sd", scale=ends)
    )
    truth = base.mark_rule(color="#666666", strokeDash=[4, 3]).encode(y="truth:Q", x=alt.X())
    return (truth + bars + points).properties(width=190, height=190)


def _against_truth(data: pl.DataFrame, parameter: str, title: str) -> Any:
    import altair as alt

    own = data.filter(pl.col("parameter") == parameter)
    values = np.concatenate([own["truth"], own["low"], own["high"]])
    low, high = float(values.min()), float(values.max())
    ends = alt.Scale(domain=[low, high], nice=True)
    models = ["GMF", "TFM"]
    colour = alt.Color(
        "model:N",
        scale=alt.Scale(domain=models, range=[BLUE, VERMILION]),
        legend=alt.Legend(title="Fitted model", orient="bottom"),
    )
    shape = alt.Shape("model:N", scale=alt.Scale(domain=models, range=["circle", "triangle-up"]))
    diagonal = (
        alt.Chart(pl.DataFrame({"x": [low, high], "y": [low, high]}))
        .mark_line(color="#666666", strokeDash=[4, 3], strokeWidth=1)
        .encode(x=alt.X("x:Q", scale=ends), y=alt.Y("y:Q", scale=ends))
    )
    base = alt.Chart(own).encode(
        x=alt.X("truth:Q", title=f"True {_lower(title)}", scale=ends, axis=alt.Axis(tickCount=5))
    )
    bars = base.mark_rule(strokeWidth=1, opacity=0.5).encode(y=alt.Y("low:Q"), y2="high:Q", color=colour)
    points = base.mark_point(filled=True, size=26, opacity=0.9).encode(
        y=alt.Y("mean:Q", title="Mean estimate ± sd", scale=ends, axis=alt.Axis(tickCount=5)),
        color=colour,
        shape=shape,
    )
    return (diagonal + bars + points).properties(width=190, height=190)


def _lower(title: str) -> str:
    return title[0].lower() + title[1:]


# ------------------------------------------------------------------------------------------- Study 2


def severity_data(results: Results, method: str = "mml") -> tuple[pl.DataFrame, pl.DataFrame]:
    """Boxes of one method, and the severity that the paper estimates for every rater and topic."""
    boxes = results.tables["boxes"].filter(pl.col("method") == method)
    labels = pl.Series(study2.RATERS).str.split(":").list
    own = pl.DataFrame({"rater": labels.get(0), "topic": labels.get(1), "severity": study2.ETA})
    return boxes, own


def _study2(results: Results) -> Any:
    import altair as alt

    boxes, own = severity_data(results)
    raters, topics = (own[name].unique(maintain_order=True).to_list() for name in ("rater", "topic"))
    grid = [
        [
            _severity_panel(
                boxes.filter(pl.col("rater") == rater, pl.col("topic") == topic),
                own.filter(pl.col("rater") == rater, pl.col("topic") == topic),
                x="Severity η" if rater == raters[-1] else None,
                y="Mean capability κ̄" if topic == topics[0] else None,
            )
            for topic in topics
        ]
        for rater in raters
    ]
    return alt.vconcat(*(alt.hconcat(*row, spacing=10) for row in grid), spacing=6)


def _severity_panel(boxes: pl.DataFrame, own: pl.DataFrame, *, x: str | None, y: str | None) -> Any:
    import altair as alt

    base = alt.Chart(boxes).encode(
        x=alt.X(
            "severity:Q", title=x, scale=alt.Scale(domain=[-2.7, 2.7], nice=False), axis=alt.Axis(tickCount=5)
        )
    )
    height = alt.Y("q05:Q", title=y, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(values=[0, 0.5, 1]))
    whiskers = base.mark_rule(strokeWidth=0.8, color=BLUE, opacity=0.6).encode(y=height, y2="q95:Q")
    middle = base.mark_rule(strokeWidth=2.4, color=BLUE).encode(y="q25:Q", y2="q75:Q")
    truth = base.mark_line(color=VERMILION, strokeWidth=2).encode(y="truth:Q")
    estimated = (
        alt.Chart(own).mark_rule(strokeDash=[4, 3], strokeWidth=1.3, color="#000000").encode(x="severity:Q")
    )
    rater, topic = own.row(0)[:2]
    title = alt.TitleParams(f"{rater}, {topic}", fontSize=12, offset=3)
    return (whiskers + middle + truth + estimated).properties(width=160, height=120, title=title)


# ------------------------------------------------------------------------------------ other studies


def _ratings(results: Results) -> Any:
    import altair as alt

    data = results.tables["ratios"].with_columns(ratio=1 + pl.col("bias"))
    # Where hierarchical likelihood runs away, the rest would not be seen beside it.
    data = data.with_columns(shown=pl.col("ratio").clip(0.8, 2.0))
    panels = [
        lines(
            data.filter(pl.col("level") == level).sort("method", "each"),
            alt.X(
                "each:Q",
                title="Ratings per student",
                scale=alt.Scale(type="log", domain=[4.5, 900], nice=False),
                axis=alt.Axis(values=[5, 10, 20, 50, 100, 200, 400, 800]),
            ),
            alt.Y("shown:Q", title=title, scale=alt.Scale(domain=[0.8, 2.0], nice=False)),
            "method",
            title="Method",
            points=True,
        )
        for level, title in ratings.RATIOS.items()
    ]
    return panels[0] | panels[1]


def noise_data(results: Results) -> pl.DataFrame:
    """Mean estimated capability, relative to that without noise, for every kind of noise and yardstick."""
    names = {
        (noise.FEW, "clean", noise.PANEL): "noise in three raters: the others",
        (noise.FEW, "noisy", noise.PANEL): "noise in three raters: theirs",
        (noise.EVERYONE, "noisy", noise.PANEL): "noise in all raters",
        (noise.EVERYONE, "noisy", noise.FIXED): "noise in all raters, fixed yardstick",
    }
    found = results.tables["accuracy"]
    frames = [
        pl.DataFrame({"curve": "truth for noisy raters: 1 − s", "share": [0.0, 0.4], "relative": [1.0, 0.6]})
    ]
    for (where, group, yardstick), name in names.items():
        own = found.filter(
            pl.col("where") == where, pl.col("group") == group, pl.col("yardstick") == yardstick
        ).sort("share")
        mean = own["truth"] + own["bias"]
        frames.append(
            pl.DataFrame({"curve": [name] * own.height, "share": own["share"], "relative": mean / mean[0]})
        )
    return pl.concat(frames)


def _noise(results: Results) -> Any:
    import altair as alt

    return lines(
        noise_data(results),
        alt.X("share:Q", title="Share s of ratings that are noise", axis=alt.Axis(format="%")),
        alt.Y("relative:Q", title="Estimated κ̄, relative to no noise", scale=alt.Scale(zero=False)),
        "curve",
        points=True,
        columns=1,
    )


def _linkage(results: Results) -> Any:
    import altair as alt

    data = results.tables["accuracy"].with_columns(
        curve=pl.col("design") + ", students " + pl.col("students"), place=pl.col("common") + 1
    )
    panels = []
    for parameter, title in (("eta", "RMSE of severity η"), ("kappa", "RMSE of mean capability κ̄")):
        panels.append(
            lines(
                data.filter(pl.col("parameter") == parameter),
                alt.X(
                    "common:Q",
                    title="Common students of a rater's 48",
                    axis=alt.Axis(values=[0, 8, 16, 24, 48]),
                ),
                alt.Y("rmse:Q", title=title, scale=alt.Scale(zero=True)),
                "curve",
                title="Design",
                points=True,
                columns=2,
            )
        )
    return panels[0] | panels[1]


def _misspecified(results: Results) -> Any:
    import altair as alt

    data = results.tables["accuracy"].with_columns(pl.col("fitted").str.to_uppercase())
    return (
        alt.Chart(data)
        .mark_point(filled=True, size=70, opacity=1)
        .encode(
            x=alt.X("rmse:Q", title="RMSE of mean capability κ̄", scale=alt.Scale(zero=True)),
            y=alt.Y(
                "source:N",
                title="Ratings from",
                sort=list(misspecified.SOURCES),
                axis=alt.Axis(labelLimit=260, grid=True),
            ),
            color=alt.Color(
                "fitted:N",
                scale=alt.Scale(domain=["GMF", "TFM"], range=[BLUE, VERMILION]),
                legend=alt.Legend(title="Fitted", orient="bottom"),
            ),
            shape=alt.Shape(
                "fitted:N", scale=alt.Scale(domain=["GMF", "TFM"], range=["circle", "triangle-up"])
            ),
        )
        .properties(width=300, height=alt.Step(22))
    )


def _writing(results: Results) -> Any:
    import altair as alt

    data = results.tables["raters"]
    order = data["rater"].to_list()
    y = alt.Y("rater:N", title="Rater and topic", sort=order, axis=alt.Axis(grid=True))
    x = alt.Scale(domain=[0.3, 1], nice=False)
    names = ["paper", "mml"]
    long = data.unpivot(["kappa_paper", "kappa_mml"], index="rater").with_columns(
        pl.col("variable").str.strip_prefix("kappa_")
    )
    bars = (
        alt.Chart(data)
        .mark_rule(strokeWidth=1.6, color=BLUE, opacity=0.6)
        .encode(y=y, x=alt.X("kappa_low:Q", scale=x), x2="kappa_high:Q")
    )
    points = (
        alt.Chart(long)
        .mark_point(filled=True, size=60, opacity=1)
        .encode(
            y=y,
            x=alt.X("value:Q", title="Mean capability κ̄ (95 % interval)", scale=x),
            color=alt.Color(
                "variable:N",
                scale=alt.Scale(domain=names, range=[VERMILION, BLUE]),
                legend=alt.Legend(title="Estimate", orient="bottom"),
            ),
            shape=alt.Shape("variable:N", scale=alt.Scale(domain=names, range=["triangle-up", "circle"])),
        )
    )
    return (bars + points).properties(width=300, height=alt.Step(18))


def _covariates(results: Results) -> Any:
    import altair as alt

    data = results.tables["accuracy"].filter(pl.col("parameter") == "kappa").sort("how", "scatter")
    return lines(
        data,
        alt.X("scatter:Q", title="What experience does not explain (sd of severity)"),
        alt.Y("rmse:Q", title="RMSE of mean capability κ̄", scale=alt.Scale(zero=True)),
        "how",
        title="Raters' parameters",
        points=True,
    )


def _recovery(results: Results) -> Any:
    import altair as alt

    data = results.tables["powers"]
    names = data["parameter"].unique(maintain_order=True).to_list()
    n = len(names)
    expected = (
        alt.Chart(pl.DataFrame({"x": [-0.5]}))
        .mark_rule(strokeDash=[4, 3], strokeWidth=1.3, color="#000000")
        .encode(x="x:Q")
    )
    points = (
        alt.Chart(data)
        .mark_point(filled=True, size=52, opacity=0.9)
        .encode(
            x=alt.X(
                "power:Q",
                title="Power of the number of students that RMSE follows",
                scale=alt.Scale(zero=False),
            ),
            y=alt.Y(
                "case:N",
                title="Model and link",
                sort=data["case"].unique(maintain_order=True).to_list(),
                axis=alt.Axis(grid=True, labelLimit=200),
            ),
            color=alt.Color(
                "parameter:N",
                scale=alt.Scale(domain=names, range=list(COLOURS[:n])),
                legend=alt.Legend(title="Parameter", orient="bottom"),
            ),
            shape=alt.Shape("parameter:N", scale=alt.Scale(domain=names, range=list(SHAPES[:n]))),
        )
    )
    return (expected + points).properties(width=300, height=alt.Step(18))


_DRAWINGS: dict[str, Callable[[Results], Any]] = {
    "study1": _study1,
    "study2": _study2,
    "writing": _writing,
    "ratings": _ratings,
    "noise": _noise,
    "linkage": _linkage,
    "misspecified": _misspecified,
    "covariates": _covariates,
    "recovery": _recovery,
    "calibration": draw_calibration,
}
