"""The panel in the order of capability."""

import numpy as np
import polars as pl

from raterlens.pictures.ranking_data import capability_data, domain, lowest
from tests.support.chart_cases import with_raters
from tests.support.report_fits import made


def test_raters_are_in_the_order_of_their_capability(example):
    data = capability_data(example.fit)
    table = example.fit.raters.sort("kappa", descending=True)
    assert data["rater"].to_list() == table["rater"].to_list()
    np.testing.assert_array_equal(
        data.select("kappa", "kappa_low", "kappa_high"), table.select("^kappa(_low|_high)?$")
    )
    assert data["place"].to_list() == list(range(1, 17))


def test_the_axis_is_from_0_to_1_unless_a_rater_is_beyond(three):
    inside = with_raters(three.fit, kappa=pl.lit(0.5), kappa_low=pl.lit(0.2), kappa_high=pl.lit(0.8))
    beyond = with_raters(three.fit, kappa=pl.lit(0.5), kappa_low=pl.lit(-0.3), kappa_high=pl.lit(1.1))
    assert domain(capability_data(inside)) == (0.0, 1.0)
    assert domain(capability_data(beyond)) == (-0.4, 1.2)


def test_only_raters_who_need_attention_are_named_in_a_large_panel():
    data = capability_data(made(300))
    named = lowest(data, 800)
    assert 0 < named.height <= 6
    assert set(named["rater"]) <= set(data.filter(standing="attention")["rater"])
