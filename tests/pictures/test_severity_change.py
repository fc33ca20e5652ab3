"""What if: the curve against the closed form."""

import numpy as np
import polars as pl
import pytest

from raterlens import capability
from raterlens.pictures.severity_change import BEST, NOW, what_if_data


def test_the_what_if_curve_passes_through_now_and_is_highest_at_best(example):
    data = what_if_data(example.fit, "DA:School")
    curve, points = (
        data.filter(pl.col("point").is_null()),
        {row[0]: row[1:] for row in data.drop_nulls().rows()},
    )
    row = example.fit.raters.filter(rater="DA:School").row(0, named=True)
    assert points[NOW] == pytest.approx((row["eta"], row["kappa"]), abs=1e-9)
    closed = capability.gmf(rho=row["rho"], eta=curve["severity"].to_numpy(), sigma=example.fit.sigma)
    np.testing.assert_allclose(curve["kappa"], closed, atol=1e-9)
    assert points[BEST][0] == pytest.approx(0, abs=1e-4)  # logit: an average severity is best
    assert points[BEST][1] >= curve["kappa"].max() - 1e-9
