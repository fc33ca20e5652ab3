"""Capability: every rater is drawn with its interval."""

from xml.etree import ElementTree

import polars as pl
import pytest

import raterlens as rl
from raterlens.pictures.ranking import capability_data
from tests.support.chart_cases import texts, titles, with_raters


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
