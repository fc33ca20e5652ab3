"""The paper's printed numbers, and its designs as simulations of ratings."""

from functools import cache
from importlib.resources import files

import numpy as np
import polars as pl

from raterlens.base.arrays import Array
from raterlens.ratings.coded import Ratings
from raterlens.simulation import example as writing
from raterlens.simulation.example import load_example
from raterlens.simulation.simulate import Simulated, simulate

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
