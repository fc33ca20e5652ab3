"""Charts of raters: the plot data against known values, and that the drawing holds it."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens import capability
from raterlens.charts.contours import LEVELS, contours, severity_data, surface
from raterlens.charts.fit_comparison import BETTER, SAME, compared, compared_data
from raterlens.charts.intervals import capability_data
from raterlens.charts.label_placement import CHARACTER, place_labels
from raterlens.charts.marks import MARKS, mark
from raterlens.diagnostics.capability_scale import Scale
from raterlens.errors import OptionError

# Contours are drawn, not read off: interpolation on their grid may err by this much in kappa.
DRAWING = 2e-3


def texts(chart) -> list[str]:
    root = ElementTree.fromstring(rl.charts.svg(chart))
    return [element.text or "" for element in root.iter("text")]


def titles(chart) -> list[str]:
    root = ElementTree.fromstring(rl.charts.svg(chart))
    return [element.text or "" for element in root.iter("title")][1:]


def with_raters(fit, **columns):
    table = fit.table("raters").with_columns(**columns)
    return replace(fit, tables={**fit.tables, "raters": table})


# ------------------------------------------------------------------------------------------------- capability


def test_raters_are_in_the_order_of_their_capability(example):
    data = capability_data(example.fit)
    table = example.fit.raters.sort("kappa", descending=True)
    assert data["rater"].to_list() == table["rater"].to_list()
    np.testing.assert_array_equal(
        data.select("kappa", "kappa_low", "kappa_high"), table.select("^kappa(_low|_high)?$")
    )
    assert data["place"].to_list() == list(range(1, 17))


def test_every_rater_is_drawn_with_name_and_numbers(case):
    chart = rl.charts.capability(case.fit)
    data = capability_data(case.fit)
    assert titles(chart) == data["words"].to_list()
    if data.height <= 60:
        assert set(data["rater"]) <= set(texts(chart))


def test_the_interval_is_drawn_where_it_is(three):
    fit = with_raters(three.fit, kappa=pl.lit(0.5), kappa_low=pl.lit(0.25), kappa_high=pl.lit(0.75))
    root = ElementTree.fromstring(rl.charts.svg(rl.charts.capability(fit)))
    frame = float(
        next(p for p in root.iter("path") if p.get("stroke") == "var(--line)")
        .get("d")
        .split("h")[1]
        .split("v")[0]
    )
    rules = [line for line in root.iter("line") if line.get("stroke-width") == "3"]
    assert len(rules) == 3
    for rule in rules:
        start = float(rule.get("transform").removeprefix("translate(").split(",")[0])
        assert start / frame == pytest.approx(0.25, abs=0.005)
        assert float(rule.get("x2")) / frame == pytest.approx(0.5, abs=0.005)


def test_a_missing_interval_leaves_the_point(three):
    fit = with_raters(three.fit, kappa_low=pl.lit(float("nan")), kappa_high=pl.lit(None, dtype=pl.Float64))
    assert len(titles(rl.charts.capability(fit))) == 3


def test_the_axis_reaches_below_zero_where_a_rater_does(three):
    fit = with_raters(three.fit, kappa=pl.lit(-0.5), kappa_low=pl.lit(-0.75), kappa_high=pl.lit(-0.25))
    assert "−0.8" in texts(rl.charts.capability(fit))


@pytest.mark.parametrize("width", [200, 5000])
def test_a_width_that_nobody_could_read_is_refused(three, width):
    with pytest.raises(OptionError, match="380 for a phone"):
        rl.charts.capability(three.fit, width=width)


# --------------------------------------------------------------------------------------------------- severity


@pytest.mark.parametrize(
    ("model", "link"),
    [
        ("gmf", "logit"),
        ("gmf", "probit"),
        ("gmf", "cauchit"),
        ("gmf", "cloglog"),
        ("gmf", "log"),
        ("probit", "probit"),
    ],
)
@pytest.mark.parametrize("sigma", [0.3, 2.1])
def test_capability_is_the_level_along_each_contour(model, link, sigma):
    scale = Scale(sigma, link, model)
    curves = contours(scale.capability, reach=3.0)
    kappa = scale.capability(curves["rho"].to_numpy(), curves["eta"].to_numpy())
    np.testing.assert_allclose(kappa, curves["level"], atol=DRAWING)
    assert set(curves["level"]) <= set(LEVELS)
    assert curves["eta"].abs().max() <= 3.0
    assert curves["rho"].is_between(0, 1).all()


def test_contours_end_at_full_discrimination_or_at_the_edge():
    for _, curve in contours(Scale(2.1).capability, reach=3.0).group_by("level"):
        for end in (0, -1):
            assert curve["rho"][end] == 1.0 or abs(curve["eta"][end]) == 3.0


def test_the_surface_is_the_index(case):
    """At every rater's own discrimination and severity it gives the rater's kappa, whatever the model."""
    points = severity_data(case.fit)
    kappa = surface(case.fit)(points["rho"].to_numpy(), points["eta"].to_numpy())
    np.testing.assert_allclose(kappa, points["kappa"], atol=1e-8)


def test_the_surface_of_a_facets_fit_is_the_closed_form(example):
    rho, eta = np.array([0.4, 0.9]), np.array([-1.0, 2.0])
    expected = capability.gmf(rho=rho, eta=eta, sigma=example.fit.sigma)
    np.testing.assert_allclose(surface(example.fit)(rho, eta), expected, atol=1e-10)


def test_all_points_are_drawn_and_the_axis_holds_them(example):
    fit = with_raters(example.fit, eta=pl.lit(-4.2))
    chart = rl.charts.severity(fit)
    assert len(titles(chart)) == 16
    assert any(text in ("−4", "−4.0") for text in texts(chart))


def test_raters_that_want_attention_are_named_in_a_large_panel(many):
    wanting = severity_data(many.fit).filter(standing="attention")["rater"]
    named = {text for text in texts(rl.charts.severity(many.fit)) if text.startswith("R")}
    assert named
    assert named <= set(wanting)


# ------------------------------------------------------------------------------------------------------ names


def test_names_never_overlap_names_or_marks():
    rng = np.random.default_rng(1)
    points = rng.uniform(0, 100, (60, 2))
    placed = place_labels([f"Rater {i}" for i in range(60)], points, points, width=800, height=440)
    assert 10 < len(placed) <= 60
    boxes = []
    for label in placed:
        x, y = points[label.point] * (8, 4.4) + (label.dx, label.dy)
        length = len(label.text) * CHARACTER
        left = {"left": x, "center": x - length / 2, "right": x - length}[label.align]
        boxes.append((left, y - 10, left + length, y + 2))
    for i, a in enumerate(boxes):
        for b in boxes[i + 1 :]:
            assert a[2] < b[0] or a[0] > b[2] or a[3] < b[1] or a[1] > b[3]


def test_long_names_are_cut():
    point = np.array([[50.0, 50.0]])
    (label,) = place_labels(["x" * 500], point, point, width=800, height=440)
    assert len(label.text) < 30
    assert label.text.endswith("…")


def test_marks_differ_in_name_and_shape():
    paths = [m.path for name, m in MARKS.items() if name != "unsure"]  # drawn hollow instead
    assert len(set(paths)) == len(paths)
    assert all(name == m.name for name, m in MARKS.items())
    assert mark("too severe") != mark("too lenient")


def test_two_fits_compared_say_who_is_capable_in_one_only(example):
    names = ["gmf", "tfm"]
    fits = example.fit, rl.fit(example.ratings, model="tfm")
    both = rl.compare(*fits, names=names)
    data = compared_data(both.raters, names)
    first, second = (fit.raters.select(pl.col("rater").cast(pl.String), "kappa") for fit in fits)
    wanted = first.join(second, on="rater", suffix=" tfm").sort("rater")
    data = data.sort("rater")
    assert np.allclose(data.select("one", "two"), wanted.select("kappa", "kappa tfm"))
    crossed = (wanted["kappa"] >= 0.7) != (wanted["kappa tfm"] >= 0.7)
    assert ((data["kind"] != SAME) == crossed).all()
    assert (data.filter(kind=BETTER)["two"] > data.filter(kind=BETTER)["one"]).all()
    drawn = rl.charts.svg(compared(both.raters, names, width=358))
    assert drawn.count("<title>") >= example.fit.n_raters
