"""κ(θ): the plot data against the closed form."""

from dataclasses import replace

import numpy as np
import pytest

import raterlens as rl
from raterlens import capability
from raterlens.base.errors import OptionError
from raterlens.pictures.capability_curves import curves_data, panel_data, students_data


def test_curves_are_the_index_at_each_ability(example):
    data = curves_data(example.fit, ["AM:Sport", "CO:School"])
    for row in example.fit.raters.iter_rows(named=True):
        one = data.filter(rater=row["rater"])
        closed = capability.gmf(
            rho=row["rho"], eta=row["eta"], sigma=example.fit.sigma, theta=one["theta"].to_numpy()
        )
        np.testing.assert_allclose(one["kappa"], closed, atol=1e-9)
    assert data.drop_nulls("place").sort("place")["rater"].unique(maintain_order=True).to_list() == [
        "AM:Sport",
        "CO:School",
    ]


def test_intervals_of_a_few_are_those_of_all(example):
    data = curves_data(example.fit, ["CO:School", "AM:Family"])  # the latter is the yardstick
    theta = data["theta"].unique().sort().to_list()
    every = example.fit.capability(theta=theta[::8])
    both = data.drop_nulls("place").join(every, on=["rater", "theta"], suffix="_all")
    assert both.height == 2 * len(theta[::8])
    for column in ("kappa", "kappa_low", "kappa_high"):
        np.testing.assert_allclose(both[column], both[f"{column}_all"], rtol=1e-9)


def test_kappa_bar_is_the_average_over_the_students_that_are_drawn(example):
    data, students = curves_data(example.fit), students_data(example.fit)
    weight = students["density"].to_numpy() / students["density"].sum()
    for row in example.fit.raters.iter_rows(named=True):
        mean = data.filter(rater=row["rater"])["kappa"].to_numpy() @ weight
        assert mean == pytest.approx(row["kappa"], abs=2e-3)  # the drawing ends at 3.5


def test_students_of_another_population_are_drawn(example):
    shifted = replace(example.fit, yardstick=replace(example.fit.yardstick, population="window 0.5 1"))
    hill = students_data(shifted)
    inside = hill["theta"].is_between(-0.5, 1.5, closed="none")
    assert hill.filter(inside)["density"].to_list() == pytest.approx([0.5] * int(inside.sum()))
    assert hill.filter(~hill["theta"].is_between(-0.5, 1.5))["density"].sum() == 0


def test_the_band_is_between_the_tenths(many):
    data = curves_data(many.fit)
    for row in panel_data(data).gather_every(20).iter_rows(named=True):
        here = data.filter(theta=row["theta"])["kappa"].to_numpy()
        assert (row["low"], row["high"]) == pytest.approx(tuple(np.quantile(here, [0.1, 0.9])))


def test_too_many_lines_and_unknown_raters_are_refused(example):
    names = example.fit.raters["rater"].to_list()
    with pytest.raises(OptionError, match="from 1 to 6"):
        rl.charts.curves(example.fit, names[:7])
    with pytest.raises(
        OptionError, match=r"no rater 'sport' in this fit; give one of: 'AM:Sport', 'BE:Sport'"
    ):
        rl.charts.curves(example.fit, ["sport"])
