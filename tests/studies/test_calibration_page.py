"""Tables of the calibration page."""

import polars as pl

from raterlens.studies.calibration_page import BOOTSTRAPS, CORRECTED, DEFAULT, METHODS, page


def test_every_interval_has_a_place_in_the_table():
    assert len(set(METHODS)) == len(METHODS)
    assert {name for kind in BOOTSTRAPS.values() for name in kind} <= set(METHODS)


def test_estimators_are_compared_with_the_plain_one():
    where = {"design": "writing", "model": "gmf"}
    counts = {"replications": 10, "intervals": 160}
    share = {"truth": 0.5, "coverage": 0.95, "coverage_se": 0.01, "width": 0.2, "too_high": 0.01}
    interval = where | counts | share
    estimator = where | {"replications": 10, "bias": 0.0, "bias_se": 0.0}
    tables = {
        "overall": pl.DataFrame([interval | {"method": DEFAULT}]),
        "coverage": pl.DataFrame([interval | {"method": DEFAULT, "group": "inside"}]),
        "raters": pl.DataFrame([interval | {"rater": "AM:Sport"}]),
        "curves": pl.DataFrame([interval | {"quantity": "kappa(0)", "group": "inside"}]),
        "estimators": pl.DataFrame(
            [
                estimator | {"method": DEFAULT, "absolute_bias": 0.02, "rmse": 0.10},
                estimator | {"method": CORRECTED, "absolute_bias": 0.01, "rmse": 0.11},
            ]
        ),
    }
    text = page(tables)
    assert "| writing, GMF | draws (the default) | 10 | 95.0 ± 1.0 | 0.200 | 1.0 |" in text
    assert "| writing, GMF | corrected yardstick | 10 | 0.0100 | -50 % | 0.1100 | +10 % |" in text
    assert "| writing, GMF | κ(0) | 95.0 ± 1.0 | 0.200 |" in text
