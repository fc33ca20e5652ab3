"""A row per level, with what was counted and estimated."""

import numpy as np
import polars as pl

from raterlens.ratings.coded import Tally
from raterlens.ratings.level_tables import level_table


def test_label_count_mean_and_estimates():
    tally = Tally(np.array([4, 2]), np.array([1.0, 2.0]))
    table = level_table(pl.Series("rater", ["a", "b"]), tally, {"eta": np.array([0.5, -0.5])})
    assert table.rows(named=True) == [
        {"rater": "a", "n": 4, "mean_score": 0.25, "eta": 0.5},
        {"rater": "b", "n": 2, "mean_score": 1.0, "eta": -0.5},
    ]
