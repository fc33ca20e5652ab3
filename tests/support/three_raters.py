"""Forty pieces of work by three raters, on which agreement is known from other libraries."""

import numpy as np
import polars as pl

import raterlens as rl
from raterlens.ratings.groupings import Groups, grouped


def panel() -> np.ndarray:
    random = np.random.default_rng(5)
    truth = random.integers(0, 4, (40, 1))
    return np.clip(truth + random.integers(-1, 2, (40, 3)), 0, 3)


def read(y: np.ndarray, kept: np.ndarray | None = None) -> rl.Ratings:
    unit, rater = np.indices(y.shape)
    table = pl.DataFrame({"student": unit.ravel(), "rater": rater.ravel(), "score": y.ravel()})
    return rl.read(table if kept is None else table.filter(pl.Series(kept.ravel())))


def units(ratings: rl.Ratings) -> Groups:
    return grouped(ratings.student, ratings.n_students, ratings.item, ratings.n_items)
