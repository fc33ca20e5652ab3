"""The example that comes with the package: essays rated by four raters on four topics. Simulated.

The ratings are drawn from the estimates that Wang, Wu and Qiu (2025) publish for a real writing assessment, on
a design drawn here with the published number of ratings for each rater and topic. No real rating is in it.
"""

from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.ratings import Ratings
from raterlens.reading import read
from raterlens.studies.simulate import simulate

# The paper's table: rater, topic, number of ratings (five an essay), rho, eta.
_PUBLISHED = (
    ("AM", "Family", 440, 1.00, -2.24),
    ("AM", "School", 525, 0.50, -1.57),
    ("AM", "Sport", 370, 0.48, -1.77),
    ("AM", "Work", 455, 0.52, -1.78),
    ("BE", "Family", 435, 0.71, -0.88),
    ("BE", "School", 470, 0.61, -1.09),
    ("BE", "Sport", 535, 0.71, -1.17),
    ("BE", "Work", 380, 0.54, -1.01),
    ("CO", "Family", 450, 0.65, 0.85),
    ("CO", "School", 535, 0.88, 0.99),
    ("CO", "Sport", 485, 0.76, 1.52),
    ("CO", "Work", 440, 0.63, 0.85),
    ("DA", "Family", 365, 0.79, 2.04),
    ("DA", "School", 520, 0.66, 1.83),
    ("DA", "Sport", 460, 0.55, 1.67),
    ("DA", "Work", 395, 0.82, 1.76),
)
_SIGMA = 2.51
_DIFFICULTY = {"specificity": -1.54, "coherence": -1.45, "structure": 0.19, "grammar": 0.76, "content": 2.04}
# Not published. At this intercept the expected number of passes is the published 3,757 of 7,260.
_ALPHA = 0.108
_STUDENTS = 363
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
    return read(example_table(), student="student", rater=["rater", "topic"], items=list(_DIFFICULTY))


def example_path() -> Path:
    """Where the bundled file is, for the command line: `raterlens fit` with --rater rater,topic."""
    return Path(str(_FILE))


def example_table() -> pl.DataFrame:
    """The bundled table as it is stored: one row an essay."""
    return pl.read_parquet(_FILE.read_bytes())


def build_example() -> pl.DataFrame:
    """Simulate the table anew: the recipe of the bundled file, which a test compares with it."""
    raters, topics, ratings, rho, eta = zip(*_PUBLISHED, strict=True)
    cell = np.repeat(np.arange(len(_PUBLISHED)), np.array(ratings) // len(_DIFFICULTY))
    student = _deal(cell)
    order = np.lexsort((cell, student))
    cell, student = cell[order], student[order]
    items = np.arange(len(_DIFFICULTY))
    drawn = simulate(
        design=(
            np.repeat(student, items.size),
            np.repeat(cell, items.size),
            np.tile(items, cell.size),
        ),
        slope=np.array(rho) * _SIGMA,
        severity=eta,
        difficulty=list(_DIFFICULTY.values()),
        alpha=_ALPHA,
        seed=_SEED,
    )
    scores = drawn.ratings.score.reshape(-1, items.size).astype(np.int8)
    return pl.DataFrame(
        {
            "student": [f"S{number + 1:03d}" for number in student],
            "rater": np.array(raters)[cell],
            "topic": np.array(topics)[cell],
            **{name: scores[:, column] for column, name in enumerate(_DIFFICULTY)},
        }
    )


def _deal(cell: NDArray[np.int64]) -> NDArray[np.int64]:
    """A student for every essay, four essays each, no two by one rater on one topic.

    Essays come sorted by rater. Each quarter of them is dealt to all students in a random order, so that
    nearly all students meet every rater once, on topics by chance.
    """
    random = np.random.default_rng(_SEED)
    while True:
        student = np.concatenate([random.permutation(_STUDENTS) for _ in range(cell.size // _STUDENTS)])
        if np.unique(student * len(_PUBLISHED) + cell).size == cell.size:
            return student


if __name__ == "__main__":
    build_example().write_parquet(example_path(), compression_level=19, statistics=False)
