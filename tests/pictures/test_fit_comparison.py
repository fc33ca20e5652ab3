"""Two fits compared."""

import numpy as np
import polars as pl

import raterlens as rl
from raterlens.pictures.fit_comparison import BETTER, SAME, compared, compared_data


def test_two_fits_compared_say_who_is_capable_in_one_only(example):
    names = ["gmf", "tfm"]
    fits = example.fit, rl.fit(example.ratings, model="tfm")
    both = rl.compare(*fits, names=names)
    data = compared_data(both.raters, names)
    first, second = (fit.raters.select(pl.col("rater").cast(pl.String), "kappa") for fit in fits)
    wanted = first.join(second, on="rater", suffix=" tfm").sort("rater")
    data = data.sort("rater")
    assert np.allclose(data.select("one", "two"), wanted.select("kappa", "kappa tfm"))
    crossed = (wanted["kappa"] >= 0.7) != (wanted["kappa tfm"] >= 0.7)
    assert ((data["kind"] != SAME) == crossed).all()
    assert (data.filter(kind=BETTER)["two"] > data.filter(kind=BETTER)["one"]).all()
    drawn = rl.charts.svg(compared(both.raters, names, width=358))
    assert drawn.count("<title>") >= example.fit.n_raters
