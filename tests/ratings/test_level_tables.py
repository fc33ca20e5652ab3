"""A row per level, with what was counted and estimated."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.ratings.level_tables import level_table


@pytest.mark.parametrize("unit", [1, 0.5])
def test_label_count_mean_and_estimates(unit):
    columns = {"student": [1, 2, 3, 1, 2, 3], "rater": [*"aaabbb"]}
    scores = [unit * score for score in (2, 3, 3, 4, 5, 7)]
    ratings = rl.read(
        pl.DataFrame(columns | {"score": scores}), student="student", rater="rater", score="score"
    )
    table = level_table(ratings, ratings.raters, "rater", {"eta": np.array([0.5, -0.5])})
    assert table.drop("mean_score").rows() == [("a", 3, 0.5), ("b", 3, -0.5)]
    np.testing.assert_allclose(table["mean_score"], [unit * 8 / 3, unit * 16 / 3])
