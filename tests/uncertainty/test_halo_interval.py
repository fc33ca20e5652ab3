import numpy as np
import pytest

import raterlens as rl
from raterlens.uncertainty import halo_interval


def fit_of(true: float, **options):
    drawn = rl.simulate(students=150, raters=4, items=4, raters_per_student=2, halo=true, seed=4)
    return rl.fit(drawn.ratings, **options)


def test_a_clear_spread_has_an_interval_around_it():
    row = fit_of(1.2, halo="common").raters.row(0, named=True)
    assert 0.5 < row["halo_low"] < row["halo"] < row["halo_high"] < 2.2
    assert row["halo_se"] == pytest.approx((row["halo_high"] - row["halo_low"]) / 3.92, rel=0.2)


@pytest.mark.parametrize("true", [0.8, 1.4])
def test_the_interval_allows_for_what_other_parameters_take_up(monkeypatch, true):
    with_it = fit_of(true, halo="common").raters
    assert (with_it["halo"][0] < 1) == (true < 1)
    monkeypatch.setattr(halo_interval, "_MOST_PARAMETERS", 0)
    without = fit_of(true, halo="common").raters
    assert with_it["halo"][0] == without["halo"][0]
    assert with_it["halo_high"][0] > without["halo_high"][0]


def test_a_spread_of_0_has_a_one_sided_interval():
    found = fit_of(0.0, halo="rater").raters
    none = found.filter(found["halo"] == 0)
    assert none.height > 0
    assert (none["halo_low"] == 0).all()
    assert (none["halo_high"] > 0).all()
    assert np.isnan(none["halo_se"].to_numpy()).all()


def test_without_standard_errors_there_is_no_interval():
    found = fit_of(1.2, halo="common", standard_errors=False).raters
    assert found["halo"][0] > 0.5
    assert np.isnan(found["halo_low"].to_numpy()).all()
