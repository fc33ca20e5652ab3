"""Figures of studies: curves over a number, points in named rows, and Figures 1 to 4 of the paper."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from raterlens import capability
from raterlens.base.arrays import Array
from raterlens.base.layers import ROLES, Axis, Layer, Line, Marks, strokes
from raterlens.base.picture import Panel, Picture
from raterlens.base.style import SHAPES, Mark, mark
from raterlens.pictures.files import write

WIDTH = 760
HEIGHT = (230.0, 210.0)
ROW = 22.0
"""Pixels per named row."""


def save(figures: Mapping[str, Picture], folder: Path) -> list[Path]:
    """Write every figure as NAME.svg and NAME.png."""
    return [
        write(picture, WIDTH, folder / f"{name}.{ending}")
        for name, picture in figures.items()
        for ending in ("svg", "png")
    ]


def from_zero(values: pl.Series, title: str) -> Axis:
    """An axis from 0 to a little beyond the largest value."""
    return Axis(0.0, 1.06 * float(values.to_numpy().max()), title, (6, 5), grid=True)


def around(values: pl.Series | Array, title: str) -> Axis:
    """An axis from a little below the smallest value to a little beyond the largest."""
    known = np.asarray(values, np.float64)
    low, high = float(np.nanmin(known)), float(np.nanmax(known))
    beyond = 0.05 * (high - low or 1.0)
    return Axis(low - beyond, high + beyond, title, (5, 5), grid=True)


def curves(
    rows: pl.DataFrame,
    columns: tuple[str, str, str],
    x: Axis,
    y: Axis,
    *,
    title: str = "",
    points: bool = False,
) -> Panel:
    """Lines of y over x, one per value of the third column in the order of the rows: by colour, dash and mark."""
    across, up, by = columns
    layers: list[Layer] = []
    names = [str(name) for name in rows[by].unique(maintain_order=True)]
    for look, (name, shape) in zip(strokes(names), kinds(names).items(), strict=True):
        own = rows.filter(pl.col(by).cast(pl.String) == name)
        layers.append(Line(own, across, up, look))
        if points:
            layers.append(Marks(own, across, up, shape._replace(words=""), 0.9, tooltip=""))
    return Panel(x, y, tuple(layers), title)


def kinds(names: Sequence[str]) -> dict[str, Mark]:
    """A mark for each name, by colour and shape, the first six by both."""
    n = len(ROLES)
    return {
        name: mark(SHAPES[(place + place // n) % n], ROLES[place % n], name)
        for place, name in enumerate(names)
    }


def rows_axis(order: Sequence[str]) -> Axis:
    """A row for each name, from the top."""
    labels = tuple((place + 0.5, name) for place, name in enumerate(order))
    return Axis(len(order), 0.0, labels=labels, names=True, grid=True)


def rows_height(order: Sequence[str]) -> tuple[float, float]:
    return max(60.0, ROW * len(order)), max(60.0, ROW * len(order))


# ------------------------------------------------------------------------------------------ the paper's figures

ABILITY: Array = np.linspace(-10, 10, 401)
SEVERITY: Array = np.linspace(-6, 6, 241)
CRITERION: Array = np.linspace(-4, 12, 321)

# The severities of Figure 1 (the text names 0 and 5) and the values of Figures 3 and 4 are the paper's; it does not
# print those of Figure 2.
TFM_ETA = (-5.0, 0.0, 5.0)
GMF_RHO, GMF_ETA = (1.0, 0.7, 0.4), (-2.0, 0.0, 2.0)
PROBIT_NOISE, PROBIT_ETA = (0.75, 1.25, 1.75), (-5.0, 0.0, 2.0)
HRM_SLOPE = (1.0, 3.0, 5.0, 7.0, 9.0)


def tfm_data() -> tuple[pl.DataFrame, pl.DataFrame]:
    """κ(θ) of three raters; κ̄ against severity."""
    raters = {f"η = {_signed(eta)}": capability.tfm(eta=eta, theta=ABILITY) for eta in TFM_ETA}
    return _data(ABILITY, raters), _data(SEVERITY, {"any rater": capability.tfm(eta=SEVERITY)})


def gmf_data() -> tuple[pl.DataFrame, pl.DataFrame]:
    """The same, with discriminations; σ = 1."""
    raters = {
        f"ρ = {rho:g}, η = {_signed(eta)}": capability.gmf(rho=rho, eta=eta, theta=ABILITY)
        for rho, eta in zip(GMF_RHO, GMF_ETA, strict=True)
    }
    means = {f"ρ = {rho:g}": capability.gmf(rho=rho, eta=SEVERITY) for rho in GMF_RHO}
    return _data(ABILITY, raters), _data(SEVERITY, means)


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
    return _data(ABILITY, raters), _data(SEVERITY, means)


def hrm_data() -> pl.DataFrame:
    """κ̄, which is κ at every ability, against the criterion."""
    raters = {f"a = {slope:g}": capability.hrm(criterion=CRITERION, slope=slope) for slope in HRM_SLOPE}
    return _data(CRITERION, raters)


def _signed(value: float) -> str:
    return f"{value:g}".replace("-", "−")


def _data(x: Array, lines: dict[str, Array]) -> pl.DataFrame:
    return pl.concat([pl.DataFrame({"curve": [name] * len(x), "x": x, "y": y}) for name, y in lines.items()])


def figures() -> dict[str, Picture]:
    """Figures 1 to 4 by file name."""
    hrm = "Hierarchical rater model"
    x, y = Axis(-4, 12, "Criterion c", grid=True), _capability("Mean capability κ̄ = κ(θ)", 1.0)
    panel = curves(hrm_data(), ("x", "y", "curve"), x, y)
    return {
        "figure1-tfm": _pair(tfm_data, "Three-facets model"),
        "figure2-gmf": _pair(gmf_data, "Generalized multi-facets model, σ = 1"),
        "figure3-probit": _pair(probit_data, "Probit rater model"),
        "figure4-hrm": Picture((panel,), f"{hrm}: capability against the criterion, by slope.", HEIGHT),
    }


def _pair(data: Callable[[], tuple[pl.DataFrame, pl.DataFrame]], model: str) -> Picture:
    left, right = data()
    top = float(np.ceil(float(left["y"].to_numpy().max()) * 5) / 5)
    columns = ("x", "y", "curve")
    y = _capability("Capability", top)
    panels = (
        curves(left, columns, Axis(-10, 10, "Ability θ", (8, 6), grid=True), y, title="Capability κ(θ)"),
        curves(right, columns, Axis(-6, 6, "Severity η", (6, 6), grid=True), y, title="Mean capability κ̄"),
    )
    return Picture(panels, f"{model}: capability by ability, and its mean by severity.", HEIGHT, (2, 1))


def _capability(title: str, top: float) -> Axis:
    return Axis(0.0, top, title, (6, 6), grid=True)
