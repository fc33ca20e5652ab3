"""Raters as pictures show them, and the panel in the order of capability: the data of a ranking."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from raterlens.base.errors import OptionError
from raterlens.pictures.ranking import (
    calibration_of,
    capability_data,
    domain,
    lowest,
    measurement_of,
    not_for,
    rater_name,
    rater_rows,
)
from tests.support.chart_cases import with_raters
from tests.support.report_fits import made


def test_two_labels_that_print_alike_stay_apart(three):
    names = ["a\nb", "a\tb", "c"]
    raters = three.fit.table("raters").with_columns(rater=pl.Series(names))
    rows = rater_rows(replace(three.fit, tables={**three.fit.tables, "raters": raters}))
    assert sorted(rows["rater"]) == ["a·b", "a·b (2)", "c"]


def test_a_rater_who_is_not_there_is_named_with_those_who_are(three):
    with pytest.raises(
        OptionError, match="no rater 'x' in this fit; give one of: 'R1', 'R2', 'R3'"
    ) as caught:
        rater_name(three.fit, "x")
    assert caught.value.option == "rater"


def test_a_chart_without_meaning_names_another(hrm, three):
    with pytest.raises(OptionError, match="no meaning for model 'hrm': why; use the chart 'severity'"):
        not_for(hrm.fit, "wright", "why", "severity")
    not_for(three.fit, "wright", "why", "severity")


def test_a_fit_without_a_calibration_is_refused(three):
    with pytest.raises(OptionError, match="so its curves are unknown; fit again"):
        measurement_of(replace(three.fit, calibration=None))
    assert calibration_of(three.fit, "") is three.fit.calibration


def test_the_measurement_is_that_of_the_fit(three):
    found = measurement_of(three.fit).raters()
    assert found.kappa.tolist() == pytest.approx(three.fit.raters["kappa"].to_list(), abs=1e-12)


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
    assert set(named["rater"]) <= set(data.filter(status="attention")["rater"])
