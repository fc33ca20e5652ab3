"""Bias and RMSE over replications, and the pages about them."""

import math

import numpy as np
import polars as pl
import pytest

from raterlens.studies.study_summary import accuracy, page, table, with_error


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


def test_a_table_has_a_heading_an_alignment_and_rows():
    assert table(["Rater", "κ̄"], [["AM", "0.83"]]) == "| Rater | κ̄ |\n| --- | ---: |\n| AM | 0.83 |"


def test_errors_stand_behind_their_numbers():
    assert with_error(-0.0004, 0.0021) == "0.000 ± 0.002"
    assert with_error(math.nan, 0.1) == "– ± 0.100"


def test_a_page_leaves_out_what_is_empty():
    assert page("# Title", "", "Text. ") == "# Title\n\nText.\n"
