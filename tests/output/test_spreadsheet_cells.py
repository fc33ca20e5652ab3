"""Labels that a spreadsheet would compute."""

import polars as pl
import pytest

from raterlens.output.folder import harmless


@pytest.mark.parametrize("label", ["=1+1", "+cmd", "-cmd", "@SUM(A1)", "\tx", "\r=1", "＝1"])
def test_formulas_get_an_apostrophe(label):
    assert harmless(pl.DataFrame({"rater": [label]}))["rater"].item() == f"'{label}"


@pytest.mark.parametrize("label", ["-3", "+2.5e-3", ".5", "AM:Sport", "a=b", ""])
def test_numbers_and_plain_labels_stay(label):
    assert harmless(pl.DataFrame({"rater": [label]}))["rater"].item() == label


def test_other_columns_stay():
    table = pl.DataFrame({"n": [-1, 2], "rater": pl.Series(["=x", "y"], dtype=pl.Categorical)})
    found = harmless(table)
    assert found["n"].to_list() == [-1, 2]
    assert found["rater"].to_list() == ["'=x", "y"]
