"""Plots: round numbers on the axes, everything where its numbers say, labels as text."""

import re
from xml.etree import ElementTree

import pytest

from raterlens.output.report.drawing import Axis, Plot, scale
from raterlens.pictures.style import MARKS


def plot(outer: float = 400, **options) -> Plot:
    return Plot(outer, 200, scale(0, 10, "across", 5), scale(0, 1, "up", 5), **options)


@pytest.mark.parametrize(
    ("low", "high", "count", "labels"),
    [
        (0, 1, 10, ["0.0", "0.1", "1.0"]),
        (-4, 4, 6, ["−4", "−3", "4"]),
        (0.5, 1200.5, 24, ["50", "100", "1,200"]),
        (-0.2, 1.04, 10, ["−0.2", "−0.1", "1.0"]),
    ],
)
def test_axes_have_round_numbers(low, high, count, labels):
    found = [text for _, text in scale(low, high, "", count).labels]
    assert [*found[:2], found[-1]] == labels


def test_counts_are_whole():
    assert [text for _, text in scale(0.5, 3.5, "", 20, whole=True).labels] == ["1", "2", "3"]


def test_points_stand_where_the_axes_say():
    drawn = plot()
    drawn.marks([0, 5, 10], [0, 0.5, 1], ["capable"] * 3, ["first", None, "last"])
    root = ElementTree.fromstring(drawn.svg("three points"))
    marks = [p for p in root.iter("path") if p.get("d") == MARKS["capable"].path]
    at = [tuple(map(float, re.findall(r"[-\d.]+", p.get("transform")))) for p in marks]
    assert at == [(0, 200), (round(drawn.width / 2, 1), 100), (round(drawn.width, 1), 0)]
    assert [title.text for title in root.iter("title")] == ["three points", "first", "last"]


def test_a_reversed_axis_counts_rows_from_the_top():
    rows = Plot(400, 60, scale(0, 1, "", 5), Axis(3, 0, labels=[(0.5, "a"), (2.5, "c")], ticks=False))
    assert rows.ys([0.5, 2.5]) == pytest.approx([10, 50])


def test_labels_are_text_only():
    hostile = "</text><script>alert(1)</script>"
    drawn = Plot(400, 60, scale(0, 1, hostile, 5), Axis(1, 0, hostile, labels=[(0.5, hostile)]))
    drawn.text(0.5, 0.5, hostile, "ink", 0, 0)
    drawn.marks([0.5], [0.5], ["severe"], [hostile])
    root = ElementTree.fromstring(drawn.svg(hostile))
    assert not list(root.iter("script"))
    assert [one.text for one in root.iter("text")].count(hostile) == 4
    assert root.get("aria-label") == hostile


def test_colours_are_the_page_s_own():
    drawn = plot(legend=list(MARKS.values()))
    drawn.line([0, 10], [0, 1], "accent")
    drawn.area([0, 10], [0, 0], [1, 1], "faint", 0.5)
    markup = drawn.svg("")
    assert not re.search(r'(fill|stroke)="(?!var\(--|none)', markup)
    assert "style=" not in markup


def test_a_narrow_legend_takes_more_lines():
    every = list(MARKS.values())
    assert plot(300, legend=every).top > plot(1000, legend=every).top > plot().top


def test_an_overlay_covers_the_frame():
    drawn = plot()
    drawn.overlay("<path/>")
    size = dict(re.findall(r'data-(\w+)="([^"]+)"', drawn.svg("")))
    assert (float(size["width"]), float(size["height"])) == (drawn.width, 200)
    assert (size["left"], size["right"], size["top"]) == ("0", "10", "1")
