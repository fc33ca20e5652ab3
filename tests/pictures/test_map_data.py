"""The Wright map: locations, and names that do not overlap."""

from dataclasses import replace

import numpy as np
import polars as pl

import raterlens as rl
from raterlens.pictures.map_data import HEIGHT, LINE, spread_names, wright_data
from raterlens.ratings.coded import Facet


def test_a_student_level_with_a_rater_passes_half(example):
    data, fit = wright_data(example.fit), example.fit
    slope = fit.calibration.effects["slope"].mean()
    students = data.filter(facet="Students")["location"].to_numpy()
    np.testing.assert_allclose(students, slope * fit.students["theta"].to_numpy() + fit.alpha)
    assert data.filter(facet="Raters")["location"].to_list() == fit.raters["eta"].to_list()
    assert data.filter(facet="Items")["location"].to_list() == fit.items["delta"].to_list()


def test_the_probit_rater_model_is_mapped_on_the_scale_of_ability(three):
    fit = rl.fit(three.ratings, model="probit")
    data = wright_data(fit)
    assert data.filter(facet="Students")["location"].to_list() == fit.students["theta"].to_list()
    effects = fit.calibration.effects
    np.testing.assert_allclose(
        data.filter(facet="Raters")["location"], effects["severity"] / effects["slope"]
    )


def test_further_facets_have_columns_of_their_own():
    found = rl.simulate(students=60, raters=3, items=2, seed=1).ratings
    day = pl.Series("day", [f"day {i % 2}" for i in range(found.n_ratings)])
    facet = Facet("day", day.rank("dense").to_numpy().astype(np.int32) - 1, day.unique().sort())
    fit = rl.fit(replace(found, facets=(facet,)))
    data = wright_data(fit)
    assert data["facet"].unique(maintain_order=True).to_list() == ["Students", "Raters", "Items", "day"]
    rl.charts.wright(fit)


def test_names_keep_apart_in_order_and_near_their_points():
    location = np.array([0.0, 0.01, 0.02, 1.0, 2.99, 3.0])
    rows = pl.DataFrame({"facet": ["x"] * 6, "label": list("abcdef"), "location": location})
    data = spread_names(rows, (0.0, 3.0))
    least = 3.0 * LINE / HEIGHT
    assert data["label"].to_list() == list("abcdef")
    assert (np.diff(data["at"]) >= 0.999 * least).all()
    assert data["at"].is_between(0, 3 + 1e-9).all()
    assert data["at"][3] == 1.0  # alone, it stays
