"""The paper's printed numbers, and its designs as simulations of ratings."""

from functools import cache

import numpy as np

from raterlens.base.arrays import Array
from raterlens.ratings.coded import Ratings
from raterlens.simulation import writing_assessment as writing
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

SIGMA_BIAS, SIGMA_RMSE = 0.02, 0.05

RATER_CELLS = (
    ("kappa", "tfm"),
    ("kappa", "gmf"),
    ("rho", "tfm"),
    ("rho", "gmf"),
    ("eta", "tfm"),
    ("eta", "gmf"),
)
"""After the rater's number: a bias and an RMSE for each of these, in this order."""

# The row labelled 13 in the paper is rater 14's (the bias of rho under the TFM is 1 - r / 20); rater 13 has none.
RATER_TABLE = (
    (1, 0.83, 0.83, 0.00, 0.08, 0.95, 0.95, 0.00, 0.09, 0.00, 0.05, 0.00, 0.05),
    (2, 0.81, 0.81, -0.01, 0.08, 0.90, 0.90, -0.02, 0.09, 0.00, 0.04, 0.01, 0.04),
    (3, 0.78, 0.78, -0.01, 0.09, 0.85, 0.85, -0.01, 0.10, 0.00, 0.05, 0.00, 0.05),
    (4, 0.75, 0.75, -0.01, 0.09, 0.80, 0.80, -0.01, 0.09, 0.00, 0.05, 0.01, 0.05),
    (5, 0.71, 0.71, -0.01, 0.09, 0.75, 0.75, -0.01, 0.09, -0.01, 0.05, 0.00, 0.05),
    (6, 0.67, 0.67, -0.02, 0.09, 0.70, 0.70, -0.02, 0.09, -0.01, 0.04, 0.00, 0.04),
    (7, 0.63, 0.63, -0.02, 0.10, 0.65, 0.65, -0.02, 0.10, -0.01, 0.05, 0.00, 0.05),
    (8, 0.58, 0.58, -0.03, 0.09, 0.60, 0.60, -0.03, 0.09, -0.01, 0.05, 0.01, 0.05),
    (9, 0.53, 0.53, -0.02, 0.10, 0.55, 0.55, -0.02, 0.10, -0.01, 0.04, 0.00, 0.04),
    (10, 0.48, 0.48, -0.03, 0.12, 0.50, 0.50, -0.03, 0.12, -0.01, 0.05, 0.00, 0.05),
    (11, 0.43, 0.43, -0.03, 0.11, 0.45, 0.45, -0.03, 0.11, 0.00, 0.05, 0.00, 0.05),
    (12, 0.38, 0.38, -0.05, 0.12, 0.40, 0.40, -0.05, 0.12, -0.01, 0.05, -0.01, 0.05),
    (14, 0.28, 0.28, -0.04, 0.11, 0.30, 0.30, -0.05, 0.11, 0.00, 0.05, 0.00, 0.05),
    (15, 0.24, 0.24, -0.05, 0.11, 0.25, 0.25, -0.05, 0.12, 0.00, 0.05, 0.00, 0.05),
    (16, 0.19, 0.19, -0.03, 0.11, 0.20, 0.20, -0.04, 0.13, 0.00, 0.05, -0.01, 0.05),
    (17, 0.15, 0.15, -0.04, 0.10, 0.15, 0.15, -0.05, 0.12, 0.01, 0.05, 0.00, 0.05),
    (18, 0.12, 0.12, -0.04, 0.10, 0.10, 0.10, -0.05, 0.12, 0.02, 0.06, 0.00, 0.06),
    (19, 0.08, 0.08, -0.04, 0.08, 0.05, 0.05, -0.05, 0.10, 0.02, 0.06, -0.01, 0.06),
    (20, 0.05, 0.06, -0.04, 0.08, 0.00, 0.00, -0.06, 0.10, 0.04, 0.06, 0.00, 0.06),
)

# True ability; bias and RMSE under the TFM; under the GMF. Students 1 to 50 (the paper sorts them by ability).
STUDENT_TABLE = (
    (-0.11, 0.10, 0.12, 0.02, 0.24),
    (-1.01, 0.75, 0.75, 0.02, 0.25),
    (-1.90, 1.40, 1.40, 0.03, 0.24),
    (1.04, -0.77, 0.78, -0.02, 0.29),
    (-0.96, 0.73, 0.73, 0.06, 0.25),
    (-0.66, 0.50, 0.50, 0.02, 0.25),
    (-1.50, 1.10, 1.11, 0.01, 0.24),
    (-0.86, 0.65, 0.65, 0.03, 0.25),
    (-0.20, 0.16, 0.17, 0.00, 0.25),
    (1.15, -0.87, 0.88, -0.07, 0.30),
    (0.76, -0.56, 0.57, -0.03, 0.27),
    (1.63, -1.23, 1.24, -0.05, 0.26),
    (-1.52, 1.12, 1.13, 0.04, 0.26),
    (-1.03, 0.77, 0.77, 0.02, 0.23),
    (0.11, -0.08, 0.12, -0.02, 0.28),
    (-0.78, 0.58, 0.59, 0.00, 0.27),
    (0.33, -0.24, 0.25, 0.01, 0.26),
    (0.18, -0.12, 0.15, -0.01, 0.28),
    (0.77, -0.58, 0.58, -0.04, 0.27),
    (0.99, -0.73, 0.74, 0.00, 0.27),
    (-0.35, 0.28, 0.28, 0.05, 0.26),
    (0.61, -0.45, 0.46, 0.00, 0.27),
    (-1.51, 1.13, 1.13, 0.06, 0.23),
    (0.30, -0.23, 0.24, -0.03, 0.25),
    (0.06, -0.03, 0.08, 0.02, 0.23),
    (-0.29, 0.23, 0.24, 0.01, 0.27),
    (-0.52, 0.39, 0.40, 0.01, 0.26),
    (2.74, -2.12, 2.12, -0.15, 0.32),
    (0.56, -0.42, 0.42, 0.00, 0.26),
    (0.29, -0.22, 0.23, -0.01, 0.26),
    (0.06, -0.04, 0.08, 0.01, 0.23),
    (0.40, -0.28, 0.29, 0.01, 0.27),
    (0.72, -0.54, 0.55, -0.06, 0.28),
    (-0.73, 0.55, 0.56, 0.03, 0.24),
    (-0.25, 0.19, 0.21, 0.02, 0.25),
    (-1.13, 0.84, 0.84, 0.02, 0.25),
    (2.03, -1.55, 1.55, -0.08, 0.28),
    (1.85, -1.41, 1.41, -0.09, 0.32),
    (0.81, -0.61, 0.61, -0.03, 0.27),
    (1.40, -1.05, 1.05, -0.05, 0.28),
    (-0.33, 0.25, 0.27, 0.01, 0.27),
    (-1.77, 1.31, 1.32, 0.05, 0.24),
    (-0.62, 0.47, 0.48, 0.02, 0.27),
    (-0.63, 0.47, 0.48, 0.01, 0.26),
    (-0.31, 0.24, 0.25, 0.01, 0.24),
    (0.35, -0.25, 0.26, 0.03, 0.31),
    (0.28, -0.21, 0.23, -0.03, 0.27),
    (0.32, -0.23, 0.24, 0.03, 0.29),
    (-0.60, 0.46, 0.47, 0.05, 0.26),
    (-0.17, 0.14, 0.16, 0.04, 0.24),
)
ABILITY: Array = np.array([row[0] for row in STUDENT_TABLE])
"""Mean 0 and standard deviation 1, up to rounding."""

# Bias and RMSE under the TFM; under the GMF. Items 1 to 40.
ITEM_TABLE = (
    (0.00, 0.08, 0.00, 0.08),
    (0.00, 0.08, 0.00, 0.08),
    (0.00, 0.08, 0.00, 0.08),
    (0.00, 0.07, 0.00, 0.07),
    (-0.01, 0.08, -0.01, 0.08),
    (0.01, 0.07, 0.00, 0.07),
    (0.00, 0.07, 0.00, 0.07),
    (0.00, 0.07, 0.00, 0.07),
    (-0.01, 0.07, -0.02, 0.07),
    (0.00, 0.08, 0.00, 0.08),
    (0.00, 0.07, 0.00, 0.07),
    (0.00, 0.07, 0.00, 0.07),
    (0.00, 0.07, 0.00, 0.07),
    (0.00, 0.07, 0.00, 0.07),
    (0.00, 0.08, 0.00, 0.08),
    (0.00, 0.07, 0.00, 0.07),
    (0.00, 0.07, 0.00, 0.07),
    (-0.01, 0.07, -0.01, 0.07),
    (0.00, 0.06, 0.00, 0.06),
    (0.00, 0.06, 0.00, 0.06),
    (-0.01, 0.06, -0.01, 0.06),
    (0.01, 0.07, 0.01, 0.07),
    (0.00, 0.06, 0.00, 0.06),
    (0.01, 0.07, 0.01, 0.07),
    (0.01, 0.07, 0.01, 0.07),
    (0.00, 0.07, 0.00, 0.07),
    (0.00, 0.06, 0.00, 0.06),
    (0.00, 0.06, 0.00, 0.06),
    (0.00, 0.07, 0.00, 0.07),
    (0.00, 0.07, 0.00, 0.07),
    (0.00, 0.07, 0.00, 0.07),
    (0.01, 0.06, 0.01, 0.06),
    (0.00, 0.07, 0.01, 0.07),
    (0.00, 0.07, 0.00, 0.07),
    (0.00, 0.07, 0.00, 0.07),
    (0.00, 0.06, 0.01, 0.06),
    (0.00, 0.07, 0.01, 0.07),
    (-0.01, 0.07, 0.00, 0.07),
    (0.00, 0.07, 0.00, 0.07),
    (-0.01, 0.07, 0.00, 0.07),
)

# ----------------------------------------------------------------------------------- empirical study

TOPIC_KAPPA = {"Family": 0.76, "School": 0.70, "Sport": 0.64, "Work": 0.68}
"""Mean kappa-bar over the four raters."""

POINT_BISERIAL = {
    "AM:Sport": (0.34, 0.40, 0.59, 0.38, 0.49),
    "CO:School": (0.56, 0.65, 0.58, 0.60, 0.52),
}
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
