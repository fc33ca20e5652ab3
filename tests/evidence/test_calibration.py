"""The study of intervals."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from benchmarks.studies import calibration
from benchmarks.studies.calibration import (
    AT_ZERO,
    BEST,
    BOOTSTRAPS,
    CONDITIONS,
    CORRECTED,
    DEFAULT,
    INSIDE,
    METHODS,
    PROFILE,
    SAMPLED,
    bias_corrected,
    calibration_data,
    coverage,
    draw,
    estimators,
    page,
    percentile,
)
from raterlens.simulation import example as assessment
from raterlens.studies import paper
from raterlens.studies.study import WIDTH, Results, Task

pytestmark = pytest.mark.nightly


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
    assert "Coverage of 95 % intervals" in draw(results).svg(WIDTH)


def test_bias_corrected_percentiles():
    """Without bias they are the percentiles; replicates that lie low by half a standard deviation shift them up."""
    z = np.sort(np.random.default_rng(3).normal(size=20_000))
    assert percentile(z) == pytest.approx((-1.96, 1.96), abs=0.05)
    assert bias_corrected(z, float(np.median(z))) == pytest.approx(percentile(z), abs=1e-3)
    assert bias_corrected(z, 0.5) == pytest.approx((1 - 1.96, 1 + 1.96), abs=0.1)


def test_replicates_that_equal_the_estimate_count_half():
    """30 of 100 are the estimate, the others above: 15 % lie below, and the percentiles are shifted accordingly."""
    drawn, tails = np.concatenate([np.zeros(30), np.linspace(0.01, 0.7, 70)]), [0.025, 0.975]
    shares = stats.norm.cdf(2 * stats.norm.ppf(0.15) + stats.norm.ppf(tails))
    assert bias_corrected(drawn, 0.0) == pytest.approx(tuple(np.quantile(drawn, shares)))
    # No replicate below the estimate, or none above: taken for one in a hundred.
    for estimate, share in ((-1.0, 0.01), (2.0, 0.99)):
        shares = stats.norm.cdf(2 * stats.norm.ppf(share) + stats.norm.ppf(tails))
        assert bias_corrected(drawn, estimate) == pytest.approx(tuple(np.quantile(drawn, shares)))


def test_designs_have_the_published_truth():
    writing, study1, fixed, shuffled = (condition.simulate([1, 2]) for condition in CONDITIONS[:4])
    assert writing.ratings.n_ratings == 7260
    assert writing.truth.sigma == assessment.SIGMA
    np.testing.assert_allclose(writing.truth.kappa, assessment.KAPPA, atol=0.01)
    assert study1.truth.kappa[[0, 19]].round(2).tolist() == [0.04, 0.79]
    np.testing.assert_array_equal(fixed.truth.ability, paper.ABILITY)
    assert not np.array_equal(study1.truth.ability, paper.ABILITY)
    np.testing.assert_allclose(np.sort(shuffled.truth.severity), np.sort(study1.truth.severity))
    assert abs(np.corrcoef(shuffled.truth.severity, shuffled.truth.slope)[0, 1]) < 0.4


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
    assert len(draw(results).panels) == 2


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
