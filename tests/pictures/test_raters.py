"""Pictures of raters, against the tables, closed forms, and planted faults."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens import capability
from raterlens.base.errors import OptionError
from raterlens.base.layers import Names
from raterlens.base.picture import layout
from raterlens.pictures import rater_pictures
from raterlens.pictures.category_use import (
    MOST_ROWS,
    categories,
    categories_data,
    category_use,
    category_use_data,
)
from raterlens.pictures.drift_panels import drift, drift_data
from raterlens.pictures.line_charts import (
    BEST,
    NOW,
    curves_data,
    panel_data,
    students_data,
    what_if_data,
)
from raterlens.pictures.rater_network import SINGLE, network_data
from raterlens.pictures.rater_pictures import (
    LEVELS,
    ability_calibration,
    capability_data,
    capability_function,
    contours,
    rater_name,
    rater_rows,
    severity_data,
)
from raterlens.pictures.scatter_plots import (
    BETTER,
    NOISY,
    SAME,
    diagnosis_table,
    expected_data,
    fit_statistics_data,
    two_fits,
    two_fits_data,
)
from tests.support.chart_cases import with_raters
from tests.support.report_fits import made


def test_two_labels_that_print_alike_stay_apart(three):
    names = ["a\nb", "a\tb", "c"]
    raters = three.fit.table("raters").with_columns(rater=pl.Series(names))
    rows = rater_rows(replace(three.fit, tables={**three.fit.tables, "raters": raters}))
    assert sorted(rows["rater"]) == ["a·b", "a·b (2)", "c"]


def test_a_rater_who_is_not_there_is_named_with_those_who_are(three):
    with pytest.raises(
        OptionError, match="no rater 'x' in this fit; give one of: 'R1', 'R2', 'R3'"
    ) as caught:
        rater_name(three.fit, "x")
    assert caught.value.option == "rater"


def test_a_chart_without_meaning_names_another(hrm, three):
    with pytest.raises(OptionError, match="no meaning for model 'hrm': why; use the chart 'severity'"):
        ability_calibration(hrm.fit, "wright", "why", "severity")
    assert ability_calibration(three.fit, "wright", "why", "severity") is three.fit.calibration


def test_raters_are_in_the_order_of_their_capability(example):
    data = capability_data(example.fit)
    table = example.fit.raters.sort("kappa", descending=True)
    assert data["rater"].to_list() == table["rater"].to_list()
    np.testing.assert_array_equal(
        data.select("kappa", "kappa_low", "kappa_high"), table.select("^kappa(_low|_high)?$")
    )
    assert data["place"].to_list() == list(range(1, 17))


def test_the_axis_is_from_0_to_1_unless_a_rater_is_beyond(three):
    def ends(fit):
        axis = rater_pictures.capability(fit).panels[0].x
        return axis.low, axis.high

    inside = with_raters(three.fit, kappa=pl.lit(0.5), kappa_low=pl.lit(0.2), kappa_high=pl.lit(0.8))
    beyond = with_raters(three.fit, kappa=pl.lit(0.5), kappa_low=pl.lit(-0.3), kappa_high=pl.lit(1.1))
    assert ends(inside) == (0.0, 1.0)
    assert ends(beyond) == (-0.4, 1.2)


def test_only_raters_who_need_attention_are_named_in_a_large_panel():
    fit = made(300)
    (frame,) = layout(rater_pictures.capability(fit), 800).frames
    (names,) = (layer for layer in frame.layers if isinstance(layer, Names))
    named = names.placed(frame)
    assert 0 < named.height <= 6
    assert set(named["rater"]) <= set(capability_data(fit).filter(status="attention")["rater"])


def test_raters_are_in_the_order_of_their_names_where_ranks_would_be_chance(example):
    labels = [name for _, name in rater_pictures.capability(example.fit, ranked=False).panels[0].y.labels]
    assert labels == sorted(labels)


# ------------------------------------------------------------------------------------------------------------ severity


# Contours are drawn, not read off: interpolation on their grid may err by this much in kappa.
DRAWING = 2e-3


@pytest.mark.parametrize("link", ["logit", "probit", "cauchit", "cloglog", "log"])
@pytest.mark.parametrize("sigma", [0.3, 2.1])
def test_capability_is_the_level_along_each_contour(link, sigma):
    def of(rho, eta):
        return capability.gmf(rho=rho, eta=eta, sigma=sigma, link=link)

    curves = contours(of, reach=3.0)
    kappa = of(curves["rho"].to_numpy(), curves["eta"].to_numpy())
    np.testing.assert_allclose(kappa, curves["level"], atol=DRAWING)
    assert set(curves["level"]) <= set(LEVELS)
    assert curves["eta"].abs().max() <= 3.0
    assert curves["rho"].is_between(0, 1).all()


def test_contours_end_at_full_discrimination_or_at_the_edge():
    found = contours(lambda rho, eta: capability.gmf(rho=rho, eta=eta, sigma=2.1), reach=3.0)
    for _, curve in found.group_by("level"):
        for end in (0, -1):
            assert curve["rho"][end] == 1.0 or abs(curve["eta"][end]) == 3.0


def test_the_function_is_the_index(case):
    """At every rater's own discrimination and severity it gives the rater's kappa, whatever the model."""
    points = severity_data(case.fit)
    kappa = capability_function(case.fit)(points["rho"].to_numpy(), points["eta"].to_numpy())
    np.testing.assert_allclose(kappa, points["kappa"], atol=1e-8)


def test_the_function_of_a_facets_fit_is_the_closed_form(example):
    rho, eta = np.array([0.4, 0.9]), np.array([-1.0, 2.0])
    expected = capability.gmf(rho=rho, eta=eta, sigma=example.fit.sigma)
    np.testing.assert_allclose(capability_function(example.fit)(rho, eta), expected, atol=1e-10)


# --------------------------------------------------------------------------------------------- by ability and severity


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


# ----------------------------------------------------------------------------------------------------------- over time


def test_drift_finds_a_rater_who_became_severe():
    found = rl.simulate(students=600, raters=4, items=3, raters_per_student=2, seed=4)
    late = np.arange(found.ratings.n_ratings) >= found.ratings.n_ratings // 2
    rng = np.random.default_rng(1)
    score = found.ratings.score.copy()
    turned = late & (found.ratings.rater == 2) & (rng.random(len(score)) < 0.6)
    score[turned] = 0
    ratings = replace(found.ratings, score=score)
    fit = rl.fit(ratings, model="gmf")
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
    # Times in periods: each is named by its first day.
    days = [f"2026-05-{1 + place * 20 // len(late):02d}" for place in range(len(late))]
    (axis,) = {panel.x for panel in drift(fit, ratings, days).panels}
    labels = [label for _, label in axis.labels or ()]
    assert (labels[0], len(labels), {*labels} <= {*days}) == ("2026-05-01", 4, True)
    # As in a large panel: only those whose change is clearest are followed, the others held.
    alone = drift_data(fit, ratings, late.astype(int).tolist(), large=3, shown=1)
    assert alone["rater"].unique().to_list() == [name]
    assert np.allclose(alone["value"], mine["value"], atol=0.5 * (mine["high"] - mine["low"]).max() / 1.96)
    others = drift_data(fit, ratings, late.astype(int).tolist(), [str(ratings.raters[0])], large=3)
    assert others["rater"].unique().to_list() == [str(ratings.raters[0])]


# -------------------------------------------------------------------------------------------------------------- misfit


@pytest.mark.parametrize("table", ["raters", "curves"])
def test_tables_are_those_of_the_diagnosis(three, table):
    from_ratings = diagnosis_table(three.fit, three.ratings, table)
    from_diagnosis = diagnosis_table(three.fit, three.fit.diagnose(three.ratings), table)
    assert from_ratings.equals(from_diagnosis.select(from_ratings.columns))


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


# ------------------------------------------------------------------------------------------------------------- network


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


# ------------------------------------------------------------------------------------------------------------ two fits


def test_two_fits_compared_say_who_is_capable_in_one_only(example):
    names = ["gmf", "tfm"]
    fits = example.fit, rl.fit(example.ratings, model="tfm")
    both = rl.compare(*fits, names=names)
    data = two_fits_data(both.raters, names)
    first, second = (fit.raters.select(pl.col("rater").cast(pl.String), "kappa") for fit in fits)
    wanted = first.join(second, on="rater", suffix=" tfm").sort("rater")
    data = data.sort("rater")
    assert np.allclose(data.select("one", "two"), wanted.select("kappa", "kappa tfm"))
    crossed = (wanted["kappa"] >= 0.7) != (wanted["kappa tfm"] >= 0.7)
    assert ((data["kind"] != SAME) == crossed).all()
    assert (data.filter(kind=BETTER)["two"] > data.filter(kind=BETTER)["one"]).all()
    drawn = two_fits(both.raters, names).svg(358)
    assert drawn.count("<title>") >= example.fit.n_raters


# ----------------------------------------------------------------------------------------------- how scores are used


@pytest.mark.parametrize("scale", ["rating scale", "partial credit", "graded"])
def test_category_probabilities_are_those_of_the_formulas(ordered, scale):
    fit = rl.fit(ordered.ratings, model="gmf", scale=scale, standard_errors=False)
    known, data = fit.calibration, categories_data(fit)
    items = data["item"].unique(maintain_order=True).to_list()
    assert items == (fit.items["item"].to_list() if scale == "partial credit" else ["all"])
    for place, item in enumerate(items):
        rows = data.filter(item=item).pivot("category", index="theta", values="probability")
        difficulty = 0.0 if item == "all" else known.effects["difficulty"][place]
        s = (
            known.effects["slope"].mean() * rows["theta"].to_numpy()
            - known.effects["severity"].mean()
            - difficulty
        )
        tau = known.effects["threshold"][place]
        if scale == "graded":
            above = [np.ones_like(s), *(1 / (1 + np.exp(t - s)) for t in tau), np.zeros_like(s)]
            wanted = -np.diff(above, axis=0)
        else:
            logits = np.array([k * s - tau[:k].sum() for k in range(len(tau) + 1)])
            wanted = np.exp(logits) / np.exp(logits).sum(axis=0)
        np.testing.assert_allclose(rows.drop("theta").to_numpy().T, wanted, atol=1e-9)
    assert categories(fit).description.startswith("Probabilities of 4 scores")


def test_expected_shares_are_the_sums_over_a_fine_grid_of_abilities(ordered):
    """By brute force from the formula, over a grid of its own."""
    fit, ratings = ordered.fit, ordered.ratings
    effects, theta = fit.calibration.effects, np.linspace(-7, 7, 1401)
    tau = np.append(0.0, np.cumsum(effects["threshold"][0]))
    s = (
        effects["slope"][ratings.rater][:, None] * theta
        - effects["severity"][ratings.rater][:, None]
        - effects["difficulty"][ratings.item][:, None]
    )
    logits = np.arange(4)[:, None, None] * s - tau[:, None, None]
    p = np.exp(logits - logits.max(axis=0))
    p /= p.sum(axis=0)
    log_posterior = np.tile(-(theta**2) / 2, (ratings.n_students, 1))
    np.add.at(log_posterior, ratings.student, np.log(p[ratings.score, np.arange(ratings.n_ratings)]))
    posterior = np.exp(log_posterior - log_posterior.max(axis=1, keepdims=True))
    posterior /= posterior.sum(axis=1, keepdims=True)
    each = np.einsum("knq,nq->nk", p, posterior[ratings.student])
    data = category_use_data(fit, ratings)
    for code, name in enumerate(ratings.raters):
        rows = data.filter(rater=str(name)).sort("place")
        np.testing.assert_allclose(rows["expected"], each[ratings.rater == code].mean(axis=0), atol=1e-6)
        given = np.bincount(ratings.score[ratings.rater == code], minlength=4)
        np.testing.assert_allclose(rows["observed"], given / given.sum())


def test_a_rater_who_keeps_to_the_middle_comes_first_and_is_outside_the_margin():
    found = rl.simulate(
        students=300, raters=5, items=2, raters_per_student=3, thresholds=[-1.5, -0.5, 0.5, 1.5], seed=2
    ).ratings
    score = found.score.copy()
    mine = found.rater == 3
    score[mine] = np.clip(score[mine], 1, 3)
    ratings = replace(found, score=score)
    fit = rl.fit(ratings, model="gmf")
    name = str(ratings.raters[3])
    first = category_use(fit, ratings).panels[0].y.labels
    assert first is not None
    assert first[0][1] == name
    for one in (fit, rl.fit(ratings, model="gmf", scale="rater")):  # also where the model knows of it
        alone = category_use(one, ratings, [name]).description
        assert "outside the 95 % margin: 0, " in alone
        assert alone.endswith(", 4.")


def test_a_large_panel_shows_those_who_differ_most():
    ratings = rl.simulate(
        students=400, raters=60, items=1, raters_per_student=4, thresholds=[-1.0, 1.0], seed=2
    ).ratings
    fit = rl.fit(ratings, model="gmf", standard_errors=False, halo="none", ability="normal")
    picture = category_use(fit, ratings)
    assert len(picture.panels[0].y.labels or ()) == MOST_ROWS
    with pytest.raises(OptionError, match="0 raters are given; give from 1 to 40"):
        category_use(fit, ratings, [])
