"""Drift: a rater who became severe is found."""

from dataclasses import replace

import numpy as np
import polars as pl

import raterlens as rl
from raterlens.pictures.drift_periods import drift_data


def test_drift_finds_a_rater_who_became_severe():
    found = rl.simulate(students=600, raters=4, items=3, raters_per_student=2, seed=4)
    late = np.arange(found.ratings.n_ratings) >= found.ratings.n_ratings // 2
    rng = np.random.default_rng(1)
    score = found.ratings.score.copy()
    turned = late & (found.ratings.rater == 2) & (rng.random(len(score)) < 0.6)
    score[turned] = 0
    ratings = replace(found.ratings, score=score)
    fit = rl.fit(ratings)
    data = drift_data(fit, ratings, late.astype(int).tolist())
    by = data.pivot("order", index="rater", values="value").with_columns(rise=pl.col("1") - pl.col("0"))
    name = str(ratings.raters[2])
    assert by.sort("rise")["rater"][-1] == name
    mine = data.filter(rater=name).sort("order")
    assert mine["high"][0] < mine["low"][1]
    assert data.sort("change")["rater"][-1] == name
    assert mine["n"].sum() == (ratings.rater == 2).sum()
    assert mine["since"].to_list() == [False, True]
    assert not data.filter(pl.col("rater") != name)["since"].any()
    share = drift_data(fit, ratings, late.astype(int).tolist(), value="capability")
    assert share.sort("value").row(0, named=True)["words"].startswith(f"{name}, 1:")
    sharp = drift_data(fit, ratings, late.astype(int).tolist(), value="discrimination")
    assert (sharp["low"] >= 0).all()
    assert "Shaded: when" in rl.charts.drift(fit, ratings, late.astype(int).tolist()).to_dict()["description"]
    # As in a large panel: only those whose change is clearest are followed, the others held.
    alone = drift_data(fit, ratings, late.astype(int).tolist(), large=3, shown=1)
    assert alone["rater"].unique().to_list() == [name]
    assert np.allclose(alone["value"], mine["value"], atol=0.5 * (mine["high"] - mine["low"]).max() / 1.96)
    others = drift_data(fit, ratings, late.astype(int).tolist(), [str(ratings.raters[0])], large=3)
    assert others["rater"].unique().to_list() == [str(ratings.raters[0])]
