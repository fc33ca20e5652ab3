"""Items that follow ability less, or more, than the model says."""

import numpy as np
import polars as pl

import raterlens as rl
from raterlens.diagnostics.flags import item_flags


def ratings_of(slopes, seed):
    """Items with slopes of their own: items of a simulated panel, each drawn by itself."""
    random = np.random.default_rng(seed)
    theta, rows = random.normal(size=400), []
    for item, slope in enumerate(slopes):
        for rater in range(3):
            passed = random.random(400) < 1 / (1 + np.exp(-1.5 * slope * theta))
            rows += [(s, f"r{rater}", f"i{item}", int(y)) for s, y in enumerate(passed)]
    table = pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row")
    return rl.read(table, student="student", rater="rater", item="item", score="score")


def test_an_item_that_measures_something_else_is_named_with_a_remedy():
    ratings = ratings_of([1.0, 1.0, 1.0, 0.2], 1)
    found = rl.fit(ratings, model="gmf").diagnose(ratings)
    flags = found.table("item flags")
    assert flags.filter(effect="noisy")["item"].to_list() == ["i3"]
    assert "description" in flags["next_step"][0]
    assert any(text.startswith("item 'i3' is noisy") for text in found.warnings())
    assert "item i3: noisy" in found.summary()
    slopes = rl.fit(ratings, model="gmf", item_slopes=True)
    assert slopes.diagnose(ratings).table("item flags").filter(effect="flat")["item"].to_list() == ["i3"]


def test_items_alike_are_left_alone():
    flagged = 0
    for seed in range(4):
        ratings = ratings_of([1.0] * 4, 10 + seed)
        flagged += rl.fit(ratings, model="gmf").diagnose(ratings).table("item flags").height
    assert flagged == 0


def test_small_misfit_is_not_worth_a_word():
    table = pl.DataFrame({"item": ["a", "b"], "infit": [1.05, 1.3], "infit_z": [9.0, 1.0]})
    assert item_flags(table, pl.DataFrame({"item": ["a", "b"]})).height == 0


def test_a_single_item_has_no_other_to_be_compared_with():
    table = pl.DataFrame({"item": ["a"], "infit": [1.5], "infit_z": [9.0]})
    assert item_flags(table, pl.DataFrame({"item": ["a"]})).height == 0
    two = pl.concat([table, table.with_columns(pl.lit("b").alias("item"), pl.lit(1.0).alias("infit"))])
    assert item_flags(two, two.select("item"))["item"].to_list() == ["a"]
