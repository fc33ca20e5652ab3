"""Raters as charts show them."""

from dataclasses import replace

import polars as pl
import pytest

from raterlens.base.errors import OptionError
from raterlens.pictures.rater_marks import calibration_of, measurement_of, not_for, rater_name, rater_rows


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
