"""The calibration study: coverage by hand, its designs, and that it runs from draw to page and picture."""

import numpy as np
import polars as pl
import pytest

from raterlens.studies import study_calibration as calibration
from raterlens.studies.calibration_designs import CONDITIONS
from raterlens.studies.calibration_figure import calibration_data, draw
from raterlens.studies.calibration_page import CORRECTED, DEFAULT, INSIDE, METHODS, PROFILE, SAMPLED
from raterlens.studies.study import Task
from raterlens.studies.study_calibration import AT_ZERO, BEST, coverage, estimators


def made_up(held: list[list[bool]]) -> pl.DataFrame:
    """One row per replication, one column per rater."""
    rows = [
        {
            "replication": i,
            "rater": f"R{r}",
            "truth": 0.5,
            "estimate": 0.52 + 0.1 * (-1) ** i,
            "low": 0.4 if held[i][r] else 0.6,
            "high": 0.8,
            "held": held[i][r],
        }
        for i in range(len(held))
        for r in range(len(held[0]))
    ]
    return pl.DataFrame(rows)


def test_coverage_by_hand():
    rows = made_up([[True, True], [True, False], [True, True], [False, False]])
    found = coverage(rows.with_columns(design=pl.lit("d")), ["design"]).row(0, named=True)
    assert found["coverage"] == 5 / 8
    # Raters of a replication fail together: the error is that of four shares 1, 1/2, 1, 0.
    assert found["coverage_se"] == pytest.approx(np.std([1, 0.5, 1, 0]) / 2)
    assert found["width"] == pytest.approx((5 * 0.4 + 3 * 0.2) / 8)
    assert found["too_high"] == 3 / 8
    assert (found["replications"], found["intervals"]) == (4, 8)


def test_bias_and_error_by_hand():
    rows = made_up([[True], [True]]).with_columns(
        quantity=pl.lit("kappa"), method=pl.lit(SAMPLED), design=pl.lit("d"), model=pl.lit("gmf")
    )
    found = estimators(rows).row(0, named=True)
    assert found["absolute_bias"] == pytest.approx(0.02)
    assert found["rmse"] == pytest.approx(np.sqrt((0.12**2 + 0.08**2) / 2))


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    """Two replications of the writing design and one small one, with profiles but without bootstraps."""
    chosen = (CONDITIONS[0], CONDITIONS[4])
    frames = [
        calibration.replicate(Task(3, index), chosen).select(pl.lit(index).alias("replication"), pl.all())
        for index in (5, 6)
    ]
    return pl.concat(frames)


def test_every_quick_interval_is_there_and_holds_most_of_the_time(rows):
    kappa = rows.filter(quantity="kappa", design="writing")
    assert set(kappa["method"]) >= {DEFAULT, SAMPLED, CORRECTED, PROFILE}
    assert set(kappa["method"]) <= set(METHODS)
    for _, part in kappa.group_by("method"):
        assert part["held"].mean() > 0.6
    assert set(rows["group"]) <= {AT_ZERO, BEST, INSIDE}
    assert rows.filter(group=BEST, design="writing")["rater"].unique().to_list() == ["AM:Family"]
    inside = (rows["low"] <= rows["truth"] + 1e-9) & (rows["truth"] - 1e-9 <= rows["high"])
    with_ends = rows["low"].is_not_nan()
    assert (inside == rows["held"]).filter(with_ends).all()


def test_the_page_and_the_picture(rows):
    results = calibration.summarise(rows)
    for words in (
        "# Calibration",
        DEFAULT,
        "writing, GMF",
        "κ(0)",
        "corrected yardstick",
        "raters, 100 students",
    ):
        assert words in results.markdown
    assert "nan" not in results.markdown.lower()
    data = calibration_data(results)
    assert data.filter("default")["method"].unique().to_list() == [DEFAULT]
    drawn = draw(results).to_dict()
    assert "Coverage of 95 % intervals" in str(drawn)
