"""Two small tables of ratings, and how ratings are compared."""

import numpy as np
import polars as pl

from raterlens.ratings.coded import Ratings

LONG = pl.DataFrame(
    {
        "student": ["10", "10", "9", "9", "9", "11", "11", "11", "10"],
        "rater": ["Zoë", "AM", "AM", "Zoë", "AM", "AM", "Zoë", "BE, Ms", "AM"],
        "item": ["style", "style", "style", "plot", "plot", "plot", "style", "plot", "style"],
        "score": [1, 0, 1, 0, 1, 1, 0, 0, 1],
    }
)
WIDE = pl.DataFrame(
    {
        "pid": ["10", "9", "11", "9"],
        "judge": ["AM", "Zoë", "AM", "AM"],
        "style": [3, 0, 2, None],
        "plot": [1, 3, 3, 2],
    }
)


def by_rows(ratings: Ratings) -> list[tuple[str, str, str, int]]:
    """Ratings as the user would write them, in a fixed order."""
    labels = zip(
        ratings.students.cast(pl.String).gather(ratings.student),
        ratings.raters.cast(pl.String).gather(ratings.rater),
        ratings.items.cast(pl.String).gather(ratings.item),
        ratings.score.tolist(),
        strict=True,
    )
    return sorted(labels)


def assert_same(one: Ratings, other: Ratings) -> None:
    for name in ("student", "rater", "item", "score"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for name in ("students", "raters", "items"):
        assert getattr(one, name).cast(pl.String).to_list() == getattr(other, name).cast(pl.String).to_list()
