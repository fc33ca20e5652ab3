"""Bias and RMSE by hand, and their standard errors against repeated studies."""

import numpy as np
import polars as pl
import pytest

from raterlens.studies.accuracy import accuracy


def test_accuracy_by_hand():
    rows = pl.DataFrame(
        {
            "replication": [0, 0, 1, 1],
            "level": ["a", "b", "a", "b"],
            "truth": 1.0,
            "estimate": [1.1, 0.9, 1.3, 0.9],
        }
    )
    each = accuracy(rows, ["level"])
    assert each["bias"].to_list() == pytest.approx([0.2, -0.1])
    assert each["rmse"].to_list() == pytest.approx([np.sqrt((0.01 + 0.09) / 2), 0.1])
    assert each["bias_se"].to_list() == pytest.approx([np.std([0.1, 0.3], ddof=1) / np.sqrt(2), 0.0])
    pooled = accuracy(rows.with_columns(all=pl.lit("all")), ["all"])
    assert pooled["bias"].item() == pytest.approx(0.05)
    assert pooled["rmse"].item() == pytest.approx(np.sqrt(np.mean([0.01, 0.01, 0.09, 0.01])))


def test_standard_errors_are_those_of_repeated_studies():
    # 400 studies of 50 replications each: the spread of their bias and RMSE is the mean standard error they report.
    random = np.random.default_rng(1)
    rows = pl.DataFrame(
        {
            "study": np.repeat(np.arange(400), 50),
            "replication": np.tile(np.arange(50), 400),
            "truth": 0.0,
            "estimate": random.normal(0.3, 1.0, 20_000),
        }
    )
    found = accuracy(rows, ["study"])
    assert found["bias"].std() == pytest.approx(found["bias_se"].mean(), rel=0.15)
    assert found["rmse"].std() == pytest.approx(found["rmse_se"].mean(), rel=0.15)
