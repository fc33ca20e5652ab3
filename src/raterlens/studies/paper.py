"""The paper's printed numbers, its designs as simulations of ratings, and its Figures 1 to 4."""

from collections.abc import Callable
from functools import cache
from importlib.resources import files

import numpy as np
import polars as pl

from raterlens import capability
from raterlens.base.arrays import Array
from raterlens.base.layers import Axis
from raterlens.base.picture import Picture
from raterlens.ratings.coded import Ratings
from raterlens.simulation import example as writing
from raterlens.simulation.example import load_example
from raterlens.simulation.simulate import Simulated, simulate
from raterlens.studies.study import HEIGHT, curves

REPLICATIONS = 200
"""In each of the paper's simulation studies."""

# ------------------------------------------------------------------------------------------- Study 1

RATERS, STUDENTS, ITEMS = 20, 50, 40
SIGMA, ALPHA = 0.5, 0.5

_r = np.arange(1, RATERS + 1)
RHO: Array = _r / RATERS
ETA: Array = (21 - _r) / 9 - np.mean((21 - _r) / 9)
"""Centred, so the "- 1" in the text makes no difference; the printed kappa-bar follow from these."""
DELTA: Array = np.arange(1, ITEMS + 1) / 19 - np.mean(np.arange(1, ITEMS + 1) / 19)

PRINTED = pl.read_csv(
    (files("raterlens") / "data" / "paper_study1.csv").read_bytes(), schema_overrides={"truth": pl.Float64}
)
"""The printed bias and RMSE of every rater, student and item, and of sigma, under the TFM and the GMF; the true ability
of students. The row labelled 13 in the paper is rater 14's: the bias of rho under the TFM is 1 - r / 20."""


def printed(parameter: str, model: str) -> pl.DataFrame:
    """(levels,): the printed numbers of one parameter."""
    return PRINTED.filter(parameter=parameter, model=model)


ABILITY: Array = printed("theta", "gmf")["truth"].to_numpy()
"""Mean 0 and standard deviation 1, up to rounding."""

# ----------------------------------------------------------------------------------- empirical study

TOPIC_KAPPA = {"Family": 0.76, "School": 0.70, "Sport": 0.64, "Work": 0.68}
"""Mean kappa-bar over the four raters."""

POINT_BISERIAL = {"AM:Sport": (0.34, 0.40, 0.59, 0.38, 0.49), "CO:School": (0.56, 0.65, 0.58, 0.60, 0.52)}
"""Correlations of each criterion's ratings with the students' estimated abilities."""


def simulate_study1(seed: list[int], *, severity: Array = ETA, ability: Array | None = None) -> Simulated:
    """Study 1: every student rated by every rater on every item; abilities drawn unless given."""
    return simulate(
        students=STUDENTS,
        raters=RATERS,
        items=ITEMS,
        slope=SIGMA * RHO,
        severity=severity,
        difficulty=DELTA,
        alpha=ALPHA,
        ability=ability,
        seed=seed,
    )


def simulate_writing(seed: list[int], *, severity: Array = writing.ETA) -> Simulated:
    """The writing assessment on the bundled design, which has the published number of ratings per rater and topic."""
    design = _example()
    return simulate(
        design=(design.student, design.raters.gather(design.rater), design.items.gather(design.item)),
        slope=writing.RHO * writing.SIGMA,
        severity=severity,
        difficulty=[writing.DELTA[item] for item in design.items],
        alpha=writing.ALPHA,
        seed=seed,
    )


@cache
def _example() -> Ratings:
    return load_example()


# --------------------------------------------------------------------------------------- Figures 1 to 4

THETA: Array = np.linspace(-10, 10, 401)
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
    raters = {f"η = {_signed(eta)}": capability.tfm(eta=eta, theta=THETA) for eta in TFM_ETA}
    return _data(THETA, raters), _data(SEVERITY, {"any rater": capability.tfm(eta=SEVERITY)})


def gmf_data() -> tuple[pl.DataFrame, pl.DataFrame]:
    """The same, with discriminations; σ = 1."""
    raters = {
        f"ρ = {rho:g}, η = {_signed(eta)}": capability.gmf(rho=rho, eta=eta, theta=THETA)
        for rho, eta in zip(GMF_RHO, GMF_ETA, strict=True)
    }
    means = {f"ρ = {rho:g}": capability.gmf(rho=rho, eta=SEVERITY) for rho in GMF_RHO}
    return _data(THETA, raters), _data(SEVERITY, means)


def probit_data() -> tuple[pl.DataFrame, pl.DataFrame]:
    """The same, with noise; the threshold is η times the noise."""
    raters = {
        f"noise {noise:g}, η = {_signed(eta)}": capability.probit(
            noise=noise, threshold=eta * noise, theta=THETA
        )
        for noise, eta in zip(PROBIT_NOISE, PROBIT_ETA, strict=True)
    }
    means = {
        f"noise {noise:g}": capability.probit(noise=noise, threshold=SEVERITY * noise)
        for noise in PROBIT_NOISE
    }
    return _data(THETA, raters), _data(SEVERITY, means)


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
