"""Printed cells beside ours."""

import polars as pl

from raterlens.studies import paper_tables as paper
from raterlens.studies.study1_page import ROUNDING, Cell, cells


def cell(ours: float, error: float, replications: int = 200) -> Cell:
    return Cell("gmf", "kappa", "R01", "bias", 0.10, ours, error, replications)


def test_chance_counts_in_both_numbers():
    # Both of 200 replications: the difference has the standard error sqrt(2) times 0.01.
    within = ROUNDING + 2.576 * 2**0.5 * 0.01
    assert not cell(0.10 + 0.999 * within, 0.01).beyond_chance
    assert cell(0.10 + 1.001 * within, 0.01).beyond_chance
    assert str(cell(0.2, 0.01)) == "0.200 ± 0.010*"


def test_near_is_within_the_tolerance():
    assert cell(0.13, 0.0).near
    assert not cell(0.131, 0.0).near


def test_tfm_columns_have_the_conventions_of_the_paper():
    keys = {"model": "tfm", "replications": 20, "bias": 0.1, "bias_se": 0.0, "rmse": 0.2, "rmse_se": 0.0}
    rows = [
        keys | {"method": "hl", "parameter": "kappa at sigma 1", "level": "R01"},
        keys | {"method": "hl", "parameter": "kappa", "level": "R02"},
        keys | {"method": "glm", "parameter": "theta in logits", "level": "S01"},
    ]
    found = cells(pl.DataFrame(rows), "hl")
    assert {(one.parameter, one.level, one.statistic) for one in found} == {
        (parameter, level, statistic)
        for parameter, level in (("kappa", "R01"), ("theta", "S01"))
        for statistic in ("bias", "rmse")
    }
    assert found[0].printed == paper.RATER_TABLE[0][1]
