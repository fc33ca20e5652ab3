"""Figures 1 to 4 of the paper, and the style of all figures of studies."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from raterlens import capability
from raterlens.base.arrays import Array
from raterlens.base.atomic_files import atomic_write
from raterlens.base.style import PALETTE

COLOURS = tuple(
    PALETTE[role].light for role in ("accent", "severe", "extreme", "weak", "lenient", "halo", "ink")
)
BLUE, VERMILION = COLOURS[:2]
DASHES: tuple[list[int], ...] = ([1, 0], [7, 3], [2, 2], [8, 3, 2, 3], [12, 3], [4, 6], [1, 0])
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke")

PIXELS_PER_INCH = 120
"""Resolution of the PNG, for screens; print uses the SVG. The drawing has 96 pixels per inch."""

# A panel of 300 px prints at 8 cm: 12 px type is then 9 pt.
WIDTH, HEIGHT = 300, 210


def save(figures: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write every figure as NAME.svg and NAME.png."""
    written = []
    for name, chart in figures.items():
        styled = with_style(chart)
        for ending, options in (("svg", {}), ("png", {"ppi": PIXELS_PER_INCH})):
            path = folder / f"{name}.{ending}"
            atomic_write(path, partial(styled.save, **options))
            written.append(path)
    return written


def with_style(chart: Any) -> Any:
    """Type, lines and colours, for the outermost chart."""
    return (
        chart.configure(font="DejaVu Sans, Arial, sans-serif", background="white", padding=6)
        .configure_view(stroke="#999999", strokeWidth=0.6)
        .configure_axis(
            labelFontSize=11,
            titleFontSize=12,
            titleFontWeight="normal",
            titlePadding=6,
            labelFlush=False,
            gridColor="#E6E6E6",
            domainColor="#666666",
            tickColor="#666666",
            labelColor="#222222",
            titleColor="#222222",
        )
        .configure_legend(
            labelFontSize=11,
            titleFontSize=11.5,
            titleFontWeight="normal",
            symbolSize=90,
            symbolStrokeWidth=2.2,
            labelColor="#222222",
            titleColor="#222222",
            labelLimit=400,
        )
        .configure_header(labelFontSize=12, titleFontSize=12, labelColor="#222222", titleFontWeight="normal")
        .configure_title(fontSize=12.5, fontWeight="normal", anchor="start", color="#222222", offset=6)
    )


def lines(
    data: pl.DataFrame,
    x: alt.X,
    y: alt.Y,
    field: str,
    *,
    title: str | None = None,
    points: bool = False,
    columns: int = 3,
) -> Any:
    """Lines of y over x, one per value of `field` in the order of the data: by colour, and by dash or shape."""
    values = data[field].unique(maintain_order=True).to_list()
    n = len(values)
    legend = alt.Legend(
        title=title, orient="bottom", columns=columns, offset=8, symbolDash=[1, 0], symbolStrokeWidth=0
    )
    stroke = alt.Legend(
        title=title, orient="bottom", columns=columns, offset=8, symbolType="stroke", symbolSize=500
    )

    def scale(choices: Sequence[Any]) -> alt.Scale:
        return alt.Scale(domain=values, range=list(choices[:n]))

    base = alt.Chart(data).encode(
        x=x,
        y=y,
        color=alt.Color(f"{field}:N", sort=None, scale=scale(COLOURS), legend=legend if points else stroke),
    )
    dash = alt.StrokeDash(f"{field}:N", sort=None, scale=scale(DASHES), legend=None if points else stroke)
    drawn = base.mark_line(strokeWidth=2).encode(strokeDash=dash)
    if points:
        shape = alt.Shape(f"{field}:N", sort=None, scale=scale(SHAPES), legend=legend)
        drawn = drawn + base.mark_point(filled=True, size=48, opacity=1).encode(shape=shape)
    return drawn.properties(width=WIDTH, height=HEIGHT)


def two_kinds(
    field: str, names: Sequence[str], title: str, *, blue_first: bool = True
) -> dict[str, alt.Color | alt.Shape]:
    """Encodings of a field with two values, by colour and shape, with one legend."""
    order = (BLUE, VERMILION), ("circle", "triangle-up")
    colours, shapes = (list(part if blue_first else part[::-1]) for part in order)
    return {
        "color": alt.Color(
            f"{field}:N",
            scale=alt.Scale(domain=list(names), range=colours),
            legend=alt.Legend(title=title, orient="bottom"),
        ),
        "shape": alt.Shape(f"{field}:N", scale=alt.Scale(domain=list(names), range=shapes)),
    }


ABILITY: Array = np.linspace(-10, 10, 401)
SEVERITY: Array = np.linspace(-6, 6, 241)
CRITERION: Array = np.linspace(-4, 12, 321)

# The severities of Figure 1 (the text names 0 and 5) and the values of Figures 3 and 4 are the paper's; it does not
# print those of Figure 2.
TFM_ETA = (-5.0, 0.0, 5.0)
GMF_RHO, GMF_ETA = (1.0, 0.7, 0.4), (-2.0, 0.0, 2.0)
PROBIT_NOISE, PROBIT_ETA = (0.75, 1.25, 1.75), (-5.0, 0.0, 2.0)
HRM_SLOPE = (1.0, 3.0, 5.0, 7.0, 9.0)

_KAPPA = "Capability κ(θ)"
_MEAN = "Mean capability κ̄"


# ---------------------------------------------------------------------------------------- plot data


def tfm_data() -> tuple[pl.DataFrame, pl.DataFrame]:
    """κ(θ) of three raters; κ̄ against severity."""
    raters = {f"η = {_signed(eta)}": capability.tfm(eta=eta, theta=ABILITY) for eta in TFM_ETA}
    return _curves(ABILITY, raters), _curves(SEVERITY, {"any rater": capability.tfm(eta=SEVERITY)})


def gmf_data() -> tuple[pl.DataFrame, pl.DataFrame]:
    """The same, with discriminations; σ = 1."""
    raters = {
        f"ρ = {rho:g}, η = {_signed(eta)}": capability.gmf(rho=rho, eta=eta, theta=ABILITY)
        for rho, eta in zip(GMF_RHO, GMF_ETA, strict=True)
    }
    means = {f"ρ = {rho:g}": capability.gmf(rho=rho, eta=SEVERITY) for rho in GMF_RHO}
    return _curves(ABILITY, raters), _curves(SEVERITY, means)


def probit_data() -> tuple[pl.DataFrame, pl.DataFrame]:
    """The same, with noise; the threshold is η times the noise."""
    raters = {
        f"noise {noise:g}, η = {_signed(eta)}": capability.probit(
            noise=noise, threshold=eta * noise, theta=ABILITY
        )
        for noise, eta in zip(PROBIT_NOISE, PROBIT_ETA, strict=True)
    }
    means = {
        f"noise {noise:g}": capability.probit(noise=noise, threshold=SEVERITY * noise)
        for noise in PROBIT_NOISE
    }
    return _curves(ABILITY, raters), _curves(SEVERITY, means)


def hrm_data() -> pl.DataFrame:
    """κ̄, which is κ at every ability, against the criterion."""
    raters = {f"a = {slope:g}": capability.hrm(criterion=CRITERION, slope=slope) for slope in HRM_SLOPE}
    return _curves(CRITERION, raters)


def _signed(value: float) -> str:
    return f"{value:g}".replace("-", "−")


def _curves(x: Array, curves: dict[str, Array]) -> pl.DataFrame:
    return pl.concat([pl.DataFrame({"curve": [name] * len(x), "x": x, "y": y}) for name, y in curves.items()])


# ------------------------------------------------------------------------------------------ drawing


def figures() -> dict[str, Any]:
    """Figures 1 to 4 by file name."""
    return {
        "figure1-tfm": _pair(tfm_data, "Three-facets model"),
        "figure2-gmf": _pair(gmf_data, "Generalized multi-facets model, σ = 1"),
        "figure3-probit": _pair(probit_data, "Probit rater model"),
        "figure4-hrm": _panel(
            hrm_data(),
            "Criterion c",
            "Mean capability κ̄ = κ(θ)",
            "Slope",
            (-4, 12),
            "Hierarchical rater model",
        ),
    }


def _pair(data: Callable[[], tuple[pl.DataFrame, pl.DataFrame]], title: str) -> Any:
    left, right = data()
    top = float(np.ceil(float(left["y"].to_numpy().max()) * 5) / 5)
    one = right["curve"].n_unique() == 1
    first = _panel(left, "Ability θ", _KAPPA, "Rater", (-10, 10), title, top)
    second = _panel(right, "Severity η", _MEAN, None if one else "Rater", (-6, 6), " ", 1.0)
    return (first | second).resolve_scale(color="independent", strokeDash="independent")


def _panel(
    data: pl.DataFrame,
    x: str,
    y: str,
    legend: str | None,
    ends: Sequence[float],
    title: str,
    top: float = 1.0,
) -> Any:
    chart = lines(
        data,
        alt.X("x:Q", title=x, scale=alt.Scale(domain=list(ends), nice=False)),
        alt.Y("y:Q", title=y, scale=alt.Scale(domain=[0, top], nice=False)),
        "curve",
        title=legend,
        columns=1 if data["curve"].n_unique() < 4 else 3,
    )
    if legend is None:
        chart = chart.encode(color=alt.value(BLUE), strokeDash=alt.value([1, 0]))
    return chart.properties(title=title)
