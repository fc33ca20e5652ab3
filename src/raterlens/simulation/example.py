"""The example that comes with the package: essays rated by four raters on four topics. Simulated.

The ratings are drawn from the estimates that Wang, Wu and Qiu (2025) publish for a real writing assessment, on
a design drawn here with the published number of ratings for each rater and topic. No real rating is in it.
"""

from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.ratings.coded import Ratings
from raterlens.reading.reader import read
from raterlens.simulation import published as paper
from raterlens.simulation.simulate import simulate

_SEED = 2025
_FILE = files("raterlens") / "data" / "example.parquet"


def load_example() -> Ratings:
    """Ratings of 1,452 essays by 363 students, to try things on. Simulated, not real.

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
    return read(example_table(), student="student", rater=["rater", "topic"], items=list(paper.WRITING_DELTA))


def example_path() -> Path:
    """Where the bundled file is, for the command line: `raterlens fit` with --rater rater,topic."""
    return Path(str(_FILE))


def example_table() -> pl.DataFrame:
    """The bundled table as it is stored: one row an essay."""
    return pl.read_parquet(_FILE.read_bytes())


def build_example() -> pl.DataFrame:
    """Simulate the table anew: the recipe of the bundled file, which a test compares with it."""
    raters, topics, ratings, _, rho, eta, _ = zip(*paper.WRITING_TABLE, strict=True)
    names = list(paper.WRITING_DELTA)
    cell = np.repeat(np.arange(len(ratings)), np.array(ratings) // len(names))
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
        slope=np.array(rho) * paper.WRITING_SIGMA,
        severity=eta,
        difficulty=list(paper.WRITING_DELTA.values()),
        alpha=paper.WRITING_ALPHA,
        seed=_SEED,
    )
    scores = drawn.ratings.score.reshape(-1, items.size).astype(np.int8)
    return pl.DataFrame(
        {
            "student": [f"S{number + 1:03d}" for number in student],
            "rater": np.array(raters)[cell],
            "topic": np.array(topics)[cell],
            **{name: scores[:, column] for column, name in enumerate(names)},
        }
    )


def _deal(cell: NDArray[np.int64]) -> NDArray[np.int64]:
    """A student for every essay, four essays each, no two by one rater on one topic.

    Essays come sorted by rater. Each quarter of them is dealt to all students in a random order, so that
    nearly all students meet every rater once, on topics by chance.
    """
    random, students = np.random.default_rng(_SEED), paper.WRITING_STUDENTS
    while True:
        student = np.concatenate([random.permutation(students) for _ in range(cell.size // students)])
        if np.unique(student * len(paper.WRITING_TABLE) + cell).size == cell.size:
            return student


if __name__ == "__main__":
    build_example().write_parquet(example_path(), compression_level=19, statistics=False)
