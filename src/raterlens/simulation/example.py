"""The bundled example: essays rated by four raters on four topics. Simulated.

The ratings are drawn from the estimates that Wang, Wu and Qiu (2025) publish for a real writing assessment. The design
is drawn here, with the published number of ratings for each rater and topic. It contains no real rating.
"""

from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.ratings.coded import Ratings
from raterlens.reading.read import read
from raterlens.simulation import writing_assessment as writing
from raterlens.simulation.simulate import simulate

_SEED = 2025
_FILE = files("raterlens") / "data" / "example.parquet"


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
    return read(example_table(), student="student", rater=["rater", "topic"], items=list(writing.DELTA))


def example_path() -> Path:
    """Path of the bundled file, for the command line: `raterlens fit` with --rater rater,topic."""
    return Path(str(_FILE))


def example_table() -> pl.DataFrame:
    """The bundled table as stored: one row per essay."""
    return pl.read_parquet(_FILE.read_bytes())


def build_example() -> pl.DataFrame:
    """Simulate the table again. A test compares the result with the bundled file."""
    names = list(writing.DELTA)
    cell = np.repeat(np.arange(len(writing.TABLE)), [row.n // len(names) for row in writing.TABLE])
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
        slope=writing.RHO * writing.SIGMA,
        severity=writing.ETA,
        difficulty=list(writing.DELTA.values()),
        alpha=writing.ALPHA,
        seed=_SEED,
    )
    scores = drawn.ratings.score.reshape(-1, items.size).astype(np.int8)
    return pl.DataFrame(
        {
            "student": [f"S{number + 1:03d}" for number in student],
            "rater": [writing.TABLE[place].rater for place in cell],
            "topic": [writing.TABLE[place].topic for place in cell],
            **{name: scores[:, column] for column, name in enumerate(names)},
        }
    )


def _deal(cell: NDArray[np.int64]) -> NDArray[np.int64]:
    """A student for each essay: four essays per student, no two by the same rater on the same topic.

    Essays come sorted by rater. Each quarter of them is dealt to all students in random order, so nearly every student
    meets every rater once, on random topics.
    """
    random, students = np.random.default_rng(_SEED), writing.STUDENTS
    while True:
        student = np.concatenate([random.permutation(students) for _ in range(cell.size // students)])
        if np.unique(student * len(writing.TABLE) + cell).size == cell.size:
            return student


if __name__ == "__main__":
    build_example().write_parquet(example_path(), compression_level=19, statistics=False)
