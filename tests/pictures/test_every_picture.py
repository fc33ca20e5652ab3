"""Every picture for every kind of fit: as SVG, and as an Altair chart."""

import json
from xml.etree import ElementTree

import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import OptionError
from raterlens.base.style import PALETTE
from raterlens.charts import CHART_HELP, CHARTS
from raterlens.pictures.rater_pictures import capability_data, severity_data
from tests.support.chart_cases import DRAWINGS, ORDERED, texts, titles, with_raters

LATENT_CHARTS = ("capability", "severity", "network")
BY_VEGA = ("capability", "wright", "drift", "categories")
"""Names, text, panels side by side and areas: charts that differ in what Vega has to draw."""


def test_every_public_chart_is_drawn_here_and_listed_once():
    assert set(DRAWINGS) == set(CHARTS) == set(rl.charts.__all__) - {"save", "svg"}
    assert all(name in CHART_HELP for name in CHARTS)


def test_a_chart_of_named_raters_says_how_many():
    assert all(chart.fewest <= chart.most or chart.most == 0 for chart in CHARTS.values())
    assert CHARTS["what_if"].fewest == CHARTS["what_if"].most == 1


@pytest.mark.parametrize("name", DRAWINGS)
@pytest.mark.parametrize("kind", ["example", "hrm", "ordered"])
def test_every_chart_is_drawn_for_every_kind_of_fit_or_says_which_is(name, kind, request):
    case = request.getfixturevalue(kind)
    if kind == "hrm" and name not in LATENT_CHARTS:
        with pytest.raises(
            OptionError,
            match=rf"{name}.* no meaning for model 'hrm': .* use the chart '(capability|severity)'",
        ):
            DRAWINGS[name](case, 640)
        return
    if kind == "example" and name in ORDERED:
        with pytest.raises(OptionError, match=f"the chart '{name}' is for ordered scores"):
            DRAWINGS[name](case, 640)
        return
    width = 380 if kind == "ordered" else 640
    chart = DRAWINGS[name](case, width)
    root = ElementTree.fromstring(rl.charts.svg(chart))
    assert (root.get("viewBox") or "").split()[2] == str(width)
    paints = {element.get(paint) for element in root.iter() for paint in ("fill", "stroke")} - {None, "none"}
    assert paints <= {f"var(--{role})" for role in PALETTE}
    assert len(list(root.iter())) > 20
    if kind == "example" or name in ORDERED:
        chart.to_dict(validate=True)


@pytest.mark.parametrize(
    "name", [name if name in BY_VEGA else pytest.param(name, marks=pytest.mark.nightly) for name in DRAWINGS]
)
def test_the_altair_chart_has_what_the_picture_has(name, example, ordered):
    """Drawn by Vega, offline as in a notebook: every point with its words, every label and name."""
    chart = DRAWINGS[name](ordered if name in ORDERED else example, 640)
    bundle = chart._repr_mimebundle_()
    vega = ElementTree.fromstring(bundle["image/svg+xml"])
    said = {element.get("aria-label") for element in vega.iter()}
    assert set(titles(chart, "circle")) <= said
    shown = {element.text for element in vega.iter("{http://www.w3.org/2000/svg}text")}
    missing = {text for text in texts(chart) if text not in shown}
    assert len(missing) <= 0.1 * len(texts(chart)), missing  # Vega leaves out labels that overlap
    assert bundle["text/plain"] == json.loads(json.dumps(chart.to_dict()))["description"]


def test_a_chart_that_was_restyled_shows_and_saves_what_people_made_of_it(example, tmp_path):
    chart = rl.charts.capability(example.fit).properties(title="Our panel")
    assert "Our panel" in chart._repr_mimebundle_()["image/svg+xml"]
    assert b"Our panel" in rl.charts.save(chart, tmp_path / "x.svg").read_bytes()
    page = rl.charts.save(chart, tmp_path / "x.html").read_text(encoding="utf-8")
    assert "Our panel" in page
    assert "https://cdn" not in page.split("<body")[0]
    with pytest.raises(OptionError, match="its colours are its own; leave the theme out"):
        rl.charts.save(chart, tmp_path / "x.svg", theme="dark")
    with pytest.raises(OptionError, match=r"use chart\.save"):
        rl.charts.svg(chart)
    changed = rl.charts.capability(example.fit)
    changed.description = "changed in place"
    with pytest.raises(OptionError, match="was changed"):
        rl.charts.svg(changed)


def test_large_charts_hold_their_rows_inline(many):
    rows = [
        layer["data"]["values"]
        for layer in rl.charts.curves(many.fit).to_dict()["layer"]
        if "values" in layer.get("data", {})
    ]
    assert all(value is not None for part in rows for row in part[:5] for value in row.values())
    rl.charts.capability(many.fit).to_dict(validate=True)


# ----------------------------------------------------------------------------------------- every rater, where it is


def test_every_rater_is_drawn_with_name_and_numbers(case):
    chart = rl.charts.capability(case.fit)
    data = capability_data(case.fit)
    assert titles(chart) == data["words"].to_list()
    if data.height <= 60:
        assert set(data["rater"]) <= set(texts(chart))


def test_a_missing_interval_leaves_the_point(three):
    fit = with_raters(three.fit, kappa_low=pl.lit(float("nan")), kappa_high=pl.lit(None, dtype=pl.Float64))
    assert len(titles(rl.charts.capability(fit))) == 3


def test_the_axis_reaches_below_zero_where_a_rater_does(three):
    fit = with_raters(three.fit, kappa=pl.lit(-0.5), kappa_low=pl.lit(-0.75), kappa_high=pl.lit(-0.25))
    assert "−0.8" in texts(rl.charts.capability(fit))


def test_all_points_of_severity_are_drawn_and_the_axis_holds_them(example):
    fit = with_raters(example.fit, eta=pl.lit(-4.2))
    chart = rl.charts.severity(fit)
    assert len(titles(chart, "circle")) + len(titles(chart, "path")) >= 16
    assert any(text in ("−4", "−4.0") for text in texts(chart))


def test_raters_that_want_attention_are_named_in_a_large_panel(many):
    wanting = severity_data(many.fit).filter(status="attention")["rater"]
    named = {text for text in texts(rl.charts.severity(many.fit)) if text.startswith("R")}
    assert named
    assert named <= set(wanting)
