"""Pictures of students and items, against the tables, closed forms and differences."""

import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import stats

import raterlens as rl
from raterlens.base.picture import layout
from raterlens.models.terms.students import SHAPE
from raterlens.pictures.line_charts import ALL, abilities, information_data, students_data
from raterlens.pictures.scatter_plots import SAFE, UNSAFE, decision_points, decisions
from raterlens.pictures.wright import HEIGHT, LINE, spread_names, wright, wright_data
from raterlens.ratings.coded import Facet
from tests.support.report_fits import made


def test_a_student_level_with_a_rater_passes_half(example):
    """Whatever its slope: S is 0 there, on an average item or with an average rater."""
    data, fit = wright_data(example.fit), example.fit
    assert data.filter(facet="Students")["location"].to_list() == fit.students["theta"].to_list()
    slope = fit.calibration.effects["slope"]
    raters, items = (data.filter(facet=name)["location"].to_numpy() for name in ("Raters", "Items"))
    np.testing.assert_allclose(slope * raters - fit.raters["eta"].to_numpy() + fit.alpha, 0, atol=1e-12)
    np.testing.assert_allclose(
        slope.mean() * items - fit.items["delta"].to_numpy() + fit.alpha, 0, atol=1e-12
    )


def test_the_probit_rater_model_is_mapped_on_the_scale_of_ability(three):
    fit = rl.fit(three.ratings, model="probit")
    data = wright_data(fit)
    assert data.filter(facet="Students")["location"].to_list() == fit.students["theta"].to_list()
    effects = fit.calibration.effects
    np.testing.assert_allclose(
        data.filter(facet="Raters")["location"], effects["severity"] / effects["slope"]
    )


def test_students_alone_have_a_place_where_no_score_follows_ability():
    rows = [(student, rater, rater) for student in range(4) for rater in range(2)]
    fit = rl.fit(pl.DataFrame(rows, ["student", "rater", "score"], orient="row"), model="gmf")
    assert not fit.calibration.effects["slope"].any()
    assert wright_data(fit)["facet"].unique().to_list() == ["Students"]
    assert layout(wright(fit), 600)


def test_further_facets_have_columns_of_their_own():
    found = rl.simulate(students=60, raters=3, items=2, seed=1).ratings
    day = pl.Series("day", [f"day {i % 2}" for i in range(found.n_ratings)])
    facet = Facet("day", day.rank("dense").to_numpy().astype(np.int32) - 1, day.unique().sort())
    fit = rl.fit(replace(found, facets=(facet,)), model="gmf")
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


def test_points_stand_at_their_locations():
    fit = made(16)
    picture = wright(fit)
    axis = picture.panels[0].y
    raters = wright_data(fit).filter(facet="Raters").sort("location")
    drawn = re.findall(r'<circle cx="[\d.]+" cy="([\d.]+)" r="3.75" fill="var\(--severe\)"', picture.svg(960))
    expected = [f"{HEIGHT * (axis.high - at) / (axis.high - axis.low):.1f}" for at in raters["location"]]
    assert drawn == expected
    assert picture.svg(960).count("R0003") == 2  # the name, and the words of the point


def test_large_panels_are_dots():
    picture = wright(made(300)).svg(360)
    assert ">R0003<" not in picture
    assert picture.count("<circle") >= 300


# --------------------------------------------------------------------------------------------------------- information


def test_information_of_pass_and_fail_is_slope_squared_p_q(example):
    data, effects = information_data(example.fit), example.fit.calibration.effects
    item = example.fit.items["item"][0]
    one = data.filter(item=item)
    s = np.multiply.outer(effects["slope"], one["theta"].to_numpy()) - effects["severity"][:, None]
    p = 1 / (1 + np.exp(-(s - effects["difficulty"][0])))
    np.testing.assert_allclose(
        one["information"], (effects["slope"][:, None] ** 2 * p * (1 - p)).mean(axis=0)
    )
    whole = data.filter(item=ALL)["information"].to_numpy()
    parts = (
        data.filter(pl.col("item") != ALL)
        .group_by("theta", maintain_order=True)
        .agg(pl.col("information").sum())
    )
    np.testing.assert_allclose(whole, parts["information"])


@pytest.mark.parametrize("scale", ["rating scale", "partial credit", "graded"])
def test_information_of_ordered_scores_is_that_of_their_probabilities(ordered, scale):
    """sum (dP/dtheta)^2 / P with derivatives by differences of the model's own expected curve."""
    fit = rl.fit(ordered.ratings, model="gmf", scale=scale, standard_errors=False)
    item = fit.items["item"][0]
    data = information_data(fit).filter(item=item)
    theta = data["theta"].to_numpy()
    calibration, step = fit.calibration, 1e-5
    tau = calibration.effects["threshold"][0]
    panel = calibration.panel(item)

    def probabilities(t):
        s = np.multiply.outer(panel.slope, t) - panel.severity[:, None]
        if scale == "graded":
            above = [np.ones_like(s), *(1 / (1 + np.exp(-(s - x))) for x in tau), np.zeros_like(s)]
            return -np.diff(above, axis=0)
        logits = [k * s - tau[:k].sum() for k in range(len(tau) + 1)]
        return np.exp(logits) / np.exp(logits).sum(axis=0)

    rise = (probabilities(theta + step) - probabilities(theta - step)) / (2 * step)
    closed = (rise**2 / probabilities(theta)).sum(axis=0).mean(axis=0)
    np.testing.assert_allclose(data["information"], closed, rtol=1e-5)


# ----------------------------------------------------------------------------------------------------------- decisions


def test_one_point_per_student_those_that_are_not_safe_on_top():
    ratings = rl.simulate(students=80, raters=4, items=3, raters_per_student=2, seed=8).ratings
    found = rl.fit(ratings, model="gmf").decisions(ratings, cut=0.5)
    points = decision_points(found)
    assert points.height == 80
    assert points["kind"].to_list() == [SAFE] * (80 - found.unsafe) + [UNSAFE] * found.unsafe
    assert ((points["sure"] < 0.9) == (points["kind"] == UNSAFE)).all()
    assert points["words"][0].startswith(f"{points['student'][0]}: raw ")
    assert decision_points(found, most=20).height == 20
    assert (
        decisions(found).description
        == f"Ability against the raw result of 80 students; {found.unsafe} decisions are not safe."
    )


# ----------------------------------------------------------------------------------------------------------- abilities


def test_a_normal_fit_has_no_picture_of_abilities_and_a_normal_density(three):
    theta = np.linspace(-3, 3, 7)
    assert abilities(three.fit) is None
    np.testing.assert_allclose(students_data(three.fit, theta)["density"], stats.norm.pdf(theta))


def test_skewed_abilities_are_drawn_beside_a_normal_distribution(three):
    known = three.fit.calibration
    effects = {**known.effects, SHAPE: np.array([0.25, -0.02])}
    picture = abilities(replace(three.fit, calibration=replace(known, effects=effects)))
    assert picture is not None
    rows = picture.panels[0].layers[0].rows
    theta, density = rows["theta"].to_numpy(), rows["density"].to_numpy()
    assert np.interp(3.0, theta, density) > 2 * stats.norm.pdf(3.0)
    assert np.trapezoid(density, theta) == pytest.approx(1, abs=3e-3)  # but for 0.1 % at either end
    np.testing.assert_allclose(rows["normal"], stats.norm.pdf(theta))
