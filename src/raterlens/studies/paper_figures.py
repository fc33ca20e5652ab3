"""The paper's Figures 1 to 4: capability under the four models."""

from collections.abc import Callable, Sequence
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from raterlens import capability
from raterlens.base.types import Array
from raterlens.pictures.theme import extent
from raterlens.studies.print_figures import BLUE, lines

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
    top = float(np.ceil(extent(left["y"])[1] * 5) / 5)
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
