"""Charts of facets fits: the plot data against closed forms, and every chart for every kind of fit."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens import capability
from raterlens.charts.capability_curves import curves_data, panel_data, students_data
from raterlens.charts.item_information import ALL, information_data
from raterlens.charts.mean_squares import NOISY, fit_statistics_data
from raterlens.charts.observed_scores import expected_data
from raterlens.charts.palette import PALETTE
from raterlens.charts.periods import drift_data
from raterlens.charts.rater_network import SINGLE, network_data
from raterlens.charts.severity_change import BEST, NOW, what_if_data
from raterlens.charts.variable_map import HEIGHT, LINE, spread_names, wright_data
from raterlens.errors import OptionError

LATENT_CHARTS = ("capability", "severity", "network")
TIMES = 3


def rater_of(case):
    return case.fit.table("raters").sort("kappa")["rater"].cast(pl.String)[0]


def times(ratings):
    return [place % TIMES for place in range(ratings.n_ratings)]


DRAWINGS = {
    "capability": lambda case, width: rl.charts.capability(case.fit, width=width),
    "curves": lambda case, width: rl.charts.curves(case.fit, width=width),
    "drift": lambda case, width: rl.charts.drift(case.fit, case.ratings, times(case.ratings), width=width),
    "expected": lambda case, width: rl.charts.expected(case.fit, case.ratings, rater_of(case), width=width),
    "fit_statistics": lambda case, width: rl.charts.fit_statistics(case.fit, case.ratings, width=width),
    "information": lambda case, width: rl.charts.information(case.fit, width=width),
    "network": lambda case, width: rl.charts.network(case.ratings, width=width),
    "severity": lambda case, width: rl.charts.severity(case.fit, width=width),
    "what_if": lambda case, width: rl.charts.what_if(case.fit, rater_of(case), width=width),
    "wright": lambda case, width: rl.charts.wright(case.fit, width=width),
}


def test_every_public_chart_is_drawn_here():
    assert set(DRAWINGS) == set(rl.charts.__all__) - {"save", "svg"}


@pytest.mark.parametrize("name", DRAWINGS)
@pytest.mark.parametrize("kind", ["example", "hrm", "ordered"])
def test_every_chart_compiles_for_every_kind_of_fit_or_says_which_does(name, kind, request):
    case = request.getfixturevalue(kind)
    if kind == "hrm" and name not in LATENT_CHARTS:
        with pytest.raises(
            OptionError,
            match=rf"{name}.* no meaning for model 'hrm': .* use the chart '(capability|severity)'",
        ):
            DRAWINGS[name](case, 640)
        return
    width = 380 if kind == "ordered" else 640
    chart = DRAWINGS[name](case, width)
    root = ElementTree.fromstring(rl.charts.svg(chart))
    assert abs(float(root.get("width")) - width) <= 0.02 * width
    paints = {element.get(paint) for element in root.iter() for paint in ("fill", "stroke")} - {None, "none"}
    assert paints <= {f"var(--{role})" for role in PALETTE}
    assert len(list(root.iter())) > 20
    if kind == "example":
        chart.to_dict(validate=True)


# ----------------------------------------------------------------------------------------------------- curves


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


# ---------------------------------------------------------------------------------------------------- what if


def test_the_what_if_curve_passes_through_now_and_is_highest_at_best(example):
    data = what_if_data(example.fit, "DA:School")
    curve, points = (
        data.filter(pl.col("point").is_null()),
        {row[0]: row[1:] for row in data.drop_nulls().rows()},
    )
    row = example.fit.raters.filter(rater="DA:School").row(0, named=True)
    assert points[NOW] == pytest.approx((row["eta"], row["kappa"]), abs=1e-9)
    closed = capability.gmf(rho=row["rho"], eta=curve["severity"].to_numpy(), sigma=example.fit.sigma)
    np.testing.assert_allclose(curve["kappa"], closed, atol=1e-9)
    assert points[BEST][0] == pytest.approx(0, abs=1e-4)  # logit: an average severity is best
    assert points[BEST][1] >= curve["kappa"].max() - 1e-9


# ------------------------------------------------------------------------------------------------- Wright map


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
    facet = rl.ratings.Facet("day", day.rank("dense").to_numpy().astype(np.int32) - 1, day.unique().sort())
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


# ------------------------------------------------------------------------------------------------ information


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
    fit = rl.fit(ordered.ratings, scale=scale, standard_errors=False)
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


# ----------------------------------------------------------------------------------------------------- network


def test_links_and_groups_are_those_of_the_design():
    table = {
        "student": [1, 1, 2, 2, 3, 3, 4, 4],
        "rater": ["A", "B", "A", "B", "B", "C", "X", "Y"],
        "score": [0, 1, 1, 0, 1, 1, 0, 1],
    }
    found = network_data(rl.read(pl.DataFrame(table)))
    links = {
        (row["rater"], row["other"]): (row["students"], row["kind"] == SINGLE)
        for row in found.links.rows(named=True)
    }
    assert links == {("A", "B"): (2, False), ("B", "C"): (1, True), ("X", "Y"): (1, True)}
    assert dict(found.raters.select("rater", "group").rows()) == {"A": 1, "B": 1, "C": 1, "X": 2, "Y": 2}


def test_links_end_at_their_raters(example):
    found = network_data(example.ratings)
    at = {row["rater"]: (row["x"], row["y"]) for row in found.raters.rows(named=True)}
    for row in found.links.rows(named=True):
        assert at[row["rater"]] == (row["x"], row["y"])
        assert at[row["other"]] == (row["x2"], row["y2"])


# ---------------------------------------------------------------------------------------------------- evidence


def test_fit_statistics_are_those_of_the_diagnosis_and_a_random_rater_stands_out():
    found = rl.simulate(students=400, raters=6, items=3, raters_per_student=3, seed=9).ratings
    score = found.score.copy()
    mine = found.rater == 0
    score[mine] = np.random.default_rng(0).integers(0, 2, mine.sum())
    ratings = replace(found, score=score)
    fit = rl.fit(ratings, model="tfm")
    data, diagnosis = fit_statistics_data(fit, ratings), fit.diagnose(ratings)
    assert data.equals(fit_statistics_data(fit, diagnosis))
    assert data["infit"].to_list() == diagnosis.table("raters")["infit"].to_list()
    assert data.filter(kind=NOISY)["rater"].to_list() == [str(ratings.raters[0])]


def test_observed_means_are_those_of_the_ratings(example):
    data = expected_data(example.fit, example.ratings, "AM:Sport")
    code = example.ratings.raters.to_list().index("AM:Sport")
    mine = example.ratings.score[example.ratings.rater == code]
    assert data["n"].sum() == len(mine)
    assert (data["observed"] * data["n"]).sum() == pytest.approx(mine.sum())
    assert (data["low"] < data["expected"]).all()


def test_drift_finds_a_rater_who_became_severe(monkeypatch):
    found = rl.simulate(students=600, raters=4, items=3, raters_per_student=2, seed=4)
    late = np.arange(found.ratings.n_ratings) >= found.ratings.n_ratings // 2
    rng = np.random.default_rng(1)
    score = found.ratings.score.copy()
    turned = late & (found.ratings.rater == 2) & (rng.random(len(score)) < 0.6)
    score[turned] = 0
    ratings = replace(found.ratings, score=score)
    fit = rl.fit(ratings)
    data = drift_data(fit, ratings, late.astype(int).tolist())
    by = data.pivot("order", index="rater", values="value").with_columns(rise=pl.col("1") - pl.col("0"))
    name = str(ratings.raters[2])
    assert by.sort("rise")["rater"][-1] == name
    mine = data.filter(rater=name).sort("order")
    assert mine["high"][0] < mine["low"][1]
    assert data.sort("change")["rater"][-1] == name
    assert mine["n"].sum() == (ratings.rater == 2).sum()
    assert mine["since"].to_list() == [False, True]
    assert not data.filter(pl.col("rater") != name)["since"].any()
    share = drift_data(fit, ratings, late.astype(int).tolist(), value="capability")
    assert share.sort("value").row(0, named=True)["words"].startswith(f"{name}, 1:")
    sharp = drift_data(fit, ratings, late.astype(int).tolist(), value="discrimination")
    assert (sharp["low"] >= 0).all()
    assert "Shaded: when" in rl.charts.drift(fit, ratings, late.astype(int).tolist()).to_dict()["description"]
    # As in a large panel: only those whose change is clearest are followed, the others held.
    monkeypatch.setattr("raterlens.charts.periods.LARGE", 3)
    monkeypatch.setattr("raterlens.charts.periods.SHOWN", 1)
    alone = drift_data(fit, ratings, late.astype(int).tolist())
    assert alone["rater"].unique().to_list() == [name]
    assert np.allclose(alone["value"], mine["value"], atol=0.5 * (mine["high"] - mine["low"]).max() / 1.96)
    others = drift_data(fit, ratings, late.astype(int).tolist(), [str(ratings.raters[0])])
    assert others["rater"].unique().to_list() == [str(ratings.raters[0])]
