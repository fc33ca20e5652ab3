"""The writing assessment of Wang, Wu and Qiu (2025) as they print it: the truth behind the bundled example.

Numbers as printed, to two decimals.
"""

from typing import NamedTuple

import numpy as np

from raterlens.base.arrays import Array


class PrintedRater(NamedTuple):
    """A row of the paper's table: a rater on one topic counts as a rater in its own right."""

    rater: str
    topic: str
    n: int
    """Ratings, five per essay."""
    total: int
    """Summed score."""
    rho: float
    eta: float
    kappa: float

    @property
    def label(self) -> str:
        return f"{self.rater}:{self.topic}"


TABLE = (
    PrintedRater("AM", "Family", 440, 338, 1.00, -2.24, 0.76),
    PrintedRater("AM", "School", 525, 392, 0.50, -1.57, 0.54),
    PrintedRater("AM", "Sport", 370, 286, 0.48, -1.77, 0.48),
    PrintedRater("AM", "Work", 455, 335, 0.52, -1.78, 0.51),
    PrintedRater("BE", "Family", 435, 273, 0.71, -0.88, 0.82),
    PrintedRater("BE", "School", 470, 298, 0.61, -1.09, 0.72),
    PrintedRater("BE", "Sport", 535, 320, 0.71, -1.17, 0.78),
    PrintedRater("BE", "Work", 380, 233, 0.54, -1.01, 0.68),
    PrintedRater("CO", "Family", 450, 195, 0.65, 0.85, 0.78),
    PrintedRater("CO", "School", 535, 220, 0.88, 0.99, 0.90),
    PrintedRater("CO", "Sport", 485, 178, 0.76, 1.52, 0.75),
    PrintedRater("CO", "Work", 440, 183, 0.63, 0.85, 0.77),
    PrintedRater("DA", "Family", 365, 103, 0.79, 2.04, 0.67),
    PrintedRater("DA", "School", 520, 155, 0.66, 1.83, 0.62),
    PrintedRater("DA", "Sport", 460, 142, 0.55, 1.67, 0.56),
    PrintedRater("DA", "Work", 395, 106, 0.82, 1.76, 0.74),
)
RATERS = [row.label for row in TABLE]
RHO: Array = np.array([row.rho for row in TABLE])
ETA: Array = np.array([row.eta for row in TABLE])
KAPPA: Array = np.array([row.kappa for row in TABLE])

STUDENTS = 363
SIGMA = 2.51
DELTA = {
    "specificity": -1.54,
    "coherence": -1.45,
    "structure": 0.19,
    "grammar": 0.76,
    "content": 2.04,
}
ALPHA = 0.108
"""Not printed. With this intercept the expected number of passes is the printed 3,757 of 7,260."""
