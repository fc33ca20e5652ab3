"""Plot data of the calibration study."""

import polars as pl
import pytest

from raterlens.studies.calibration_figure import calibration_data, draw
from raterlens.studies.calibration_page import DEFAULT, PROFILE
from raterlens.studies.study import Results


@pytest.fixture
def results() -> Results:
    row = {"design": "writing", "group": "inside", "coverage": 0.99, "coverage_se": 0.01, "width": 0.2}
    rows = [
        row | {"method": DEFAULT},
        row | {"method": PROFILE, "width": None},
        row | {"method": DEFAULT, "group": "truly best"},
        row | {"method": DEFAULT, "design": "8 raters, 100 students"},
    ]
    return Results("", {"coverage": pl.DataFrame(rows, infer_schema_length=None)})


def test_only_raters_inside_of_the_main_designs_are_shown(results):
    data = calibration_data(results)
    assert data["method"].to_list() == [DEFAULT, PROFILE]
    assert data["default"].to_list() == [True, False]
    assert data["low"].to_list() == pytest.approx([0.97, 0.97])
    assert data["high"].to_list() == [1.0, 1.0]


def test_a_design_without_rows_has_no_panel(results):
    assert len(draw(results).to_dict()["vconcat"]) == 1
