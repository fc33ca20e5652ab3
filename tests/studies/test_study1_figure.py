"""Plot data of Study 1."""

import polars as pl
import pytest

from raterlens.studies.study import Results
from raterlens.studies.study1_figure import draw, recovery_data, scale_data


@pytest.fixture
def results() -> Results:
    row = {"method": "hl", "level": "all", "truth": 0.5, "bias": 0.03, "rmse": 0.05}
    rows = [
        row | {"model": model, "parameter": parameter}
        for model in ("gmf", "tfm")
        for parameter in ("kappa", "rho", "eta", "theta", "delta", "sigma")
    ]
    return Results("", {"accuracy": pl.DataFrame(rows)})


def test_bars_reach_one_standard_deviation(results):
    # rmse^2 = bias^2 + sd^2: 0.05, 0.03 and 0.04.
    for data in (recovery_data(results), scale_data(results)):
        low, mean, high = data.select("low", "mean", "high").row(0)
        assert (low, mean, high) == pytest.approx((0.49, 0.53, 0.57))


def test_every_parameter_has_a_panel(results):
    drawn = str(draw(results).to_dict())
    for title in ("True mean capability κ̄", "True difficulty δ", "Mean estimate of σ ± sd"):
        assert title in drawn
