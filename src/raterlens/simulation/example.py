"""The bundled example: essays rated by four raters on four topics. Simulated.

The ratings are drawn from the estimates that Wang, Wu and Qiu (2025) publish for a real writing assessment. The design
is drawn here, with the published number of ratings for each rater and topic. It contains no real rating. Numbers of the
paper are as printed, to two decimals.
"""

from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.base.arrays import Array
from raterlens.ratings.coded import Ratings
from raterlens.reading.read import read
from raterlens.simulation.simulate import simulate

_SEED = 2025
_FILE = files("raterlens") / "data" / "example.parquet"


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


def load_example() -> Ratings:
    """Ratings of 1,452 essays by 363 students, to try things out. Simulated, not real.

    Four raters (AM, BE, CO, DA) on four topics are sixteen raters "AM:Family" .. "DA:Work"; each essay is
    passed or failed on five criteria. The ratings are simulated from the estimates published in Wang, Wu and
    Qiu (2025), so the paper's table is the truth behind them.

    Returns
    -------
    Ratings
        7,260 ratings.

    Examples
    --------
    >>> ratings = load_example()
    >>> ratings.n_ratings, ratings.n_students, ratings.n_raters, ratings.n_items
    (7260, 363, 16, 5)
    """
    return read(example_table(), student="student", rater=["rater", "topic"], items=list(DELTA))


def example_path() -> Path:
    """Path of the bundled file, for the command line: `raterlens fit` with --rater rater,topic."""
    return Path(str(_FILE))


def example_table() -> pl.DataFrame:
    """The bundled table as stored: one row per essay."""
    return pl.read_parquet(_FILE.read_bytes())


def build_example() -> pl.DataFrame:
    """Simulate the table again. A test compares the result with the bundled file."""
    names = list(DELTA)
    cell = np.repeat(np.arange(len(TABLE)), [row.n // len(names) for row in TABLE])
    student = _deal(cell)
    order = np.lexsort((cell, student))
    cell, student = cell[order], student[order]
    items = np.arange(len(names))
    drawn = simulate(
        design=(
            np.repeat(student, items.size),
            np.repeat(cell, items.size),
            np.tile(items, cell.size),
        ),
        slope=RHO * SIGMA,
        severity=ETA,
        difficulty=list(DELTA.values()),
        alpha=ALPHA,
        seed=_SEED,
    )
    scores = drawn.ratings.score.reshape(-1, items.size).astype(np.int8)
    return pl.DataFrame(
        {
            "student": [f"S{number + 1:03d}" for number in student],
            "rater": [TABLE[place].rater for place in cell],
            "topic": [TABLE[place].topic for place in cell],
            **{name: scores[:, column] for column, name in enumerate(names)},
        }
    )


def _deal(cell: NDArray[np.int64]) -> NDArray[np.int64]:
    """A student for each essay: four essays per student, no two by the same rater on the same topic.

    Essays come sorted by rater. Each quarter of them is dealt to all students in random order, so nearly every student
    meets every rater once, on random topics.
    """
    random, students = np.random.default_rng(_SEED), STUDENTS
    while True:
        student = np.concatenate([random.permutation(students) for _ in range(cell.size // students)])
        if np.unique(student * len(TABLE) + cell).size == cell.size:
            return student


if __name__ == "__main__":
    build_example().write_parquet(example_path(), compression_level=19, statistics=False)
