"""Raters period by period: the planted shift, whatever the fit was asked for."""

import numpy as np
import polars as pl

import raterlens as rl
from benchmarks.planted_faults import panel


def test_periods_show_the_planted_shift():
    ratings = panel(2, "drift")
    first = np.flatnonzero(ratings.rater == 0)
    late = np.where(np.arange(ratings.n_ratings) >= np.median(first), "late", "early")
    table = rl.fit(ratings).diagnose(ratings, time=late).drift()
    early, after = (
        table.filter(pl.col("rater") == "R01", pl.col("period") == p).row(0, named=True)
        for p in ("early", "late")
    )
    error = np.hypot(early["eta_se"], after["eta_se"])
    assert abs(after["eta"] - early["eta"] - 1.5) < 3 * error
    assert {"rho", "kappa", "kappa_low", "kappa_high"} <= set(table.columns)
