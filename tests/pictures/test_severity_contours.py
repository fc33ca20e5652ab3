"""Severity against discrimination: every rater is drawn, and those who need attention are named."""

import polars as pl

import raterlens as rl
from raterlens.pictures.contour_data import severity_data
from tests.support.chart_cases import texts, titles, with_raters


def test_all_points_are_drawn_and_the_axis_holds_them(example):
    fit = with_raters(example.fit, eta=pl.lit(-4.2))
    chart = rl.charts.severity(fit)
    assert len(titles(chart)) == 16
    assert any(text in ("−4", "−4.0") for text in texts(chart))


def test_raters_that_want_attention_are_named_in_a_large_panel(many):
    wanting = severity_data(many.fit).filter(status="attention")["rater"]
    named = {text for text in texts(rl.charts.severity(many.fit)) if text.startswith("R")}
    assert named
    assert named <= set(wanting)
