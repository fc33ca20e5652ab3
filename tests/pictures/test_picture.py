"""Pictures: round numbers on the axes, everything where its numbers say, labels as text."""

import re
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import OptionError
from raterlens.base.layers import (
    Area,
    Axis,
    Bars,
    Layer,
    Line,
    Marks,
    Names,
    Overlay,
    Segments,
    Stroke,
    Text,
    round_numbers,
)
from raterlens.base.picture import Panel, Picture, interval_rows, layout, plot
from raterlens.base.style import MARKS, mark

THREE = pl.DataFrame(
    {"x": [0.0, 5.0, 10.0], "y": [0.0, 0.5, 1.0], "kind": ["weak"] * 3, "words": ["a", None, "c"]}
)
ACROSS, UP = Axis(0, 10, "across", (5, 5)), Axis(0, 1, "up", (5, 5))


def drawn(*layers: Layer, x: Axis = ACROSS, y: Axis = UP) -> Picture:
    return plot(x, y, list(layers), "three points", 200)


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
    found = [text for _, text in round_numbers(low, high, count)]
    assert [*found[:2], found[-1]] == labels


def test_counts_are_whole_and_logarithms_include_1():
    assert [text for _, text in round_numbers(0.5, 3.5, 20, whole=True)] == ["1", "2", "3"]
    ticks = Axis(0.45, 1.6, log=True).ticks(400, False)
    assert [text for _, text in ticks] == ["0.5", "0.7", "1", "1.5"]
    np.testing.assert_allclose(Axis(0.1, 10, log=True).share([0.1, 1, 10]), [0, 0.5, 1])


def test_points_stand_where_the_axes_say():
    picture = drawn(Marks(THREE, "x", "y", MARKS))
    root = ElementTree.fromstring(picture.svg(400))
    (frame,) = layout(picture, 400).frames
    marks = [p for p in root.iter("path") if p.get("d") == MARKS["weak"].path][
        1:
    ]  # the first is the legend's
    at = [tuple(map(float, re.findall(r"[-\d.]+", p.get("transform") or ""))) for p in marks]
    assert at == [(0, 200), (round(frame.width / 2, 1), 100), (round(frame.width, 1), 0)]
    assert [title.text for title in root.iter("title")] == ["three points", "a", "c"]


def test_rows_with_a_number_missing_are_left_out():
    rows = pl.DataFrame({"x": [0.0, float("nan"), 4.0], "y": [0.0, 0.5, None], "z": [1.0, 1.0, 1.0]})
    layers = [
        Line(rows, "x", "y", Stroke("ink")),
        Area(rows, "x", "y", "z", "ink", 1.0),
        Segments(rows, "x", "y", "x", "z", Stroke("ink")),
        Bars(rows, "x", "y", "x", "z", "ink"),
        Marks(rows, "x", "y", mark("square", "ink"), tooltip=""),
        Names(rows.with_columns(rater=pl.lit("R")), "x", "y"),
    ]
    markup = drawn(*layers).svg(400)
    assert "nan" not in markup
    assert markup.count(MARKS["weak"].path) == 1


def test_a_reversed_axis_counts_rows_from_the_top():
    rows = pl.DataFrame({"name": ["a", "b"], "value": [0.2, 0.6], "low": [0.1, None], "high": [0.4, 0.9]})
    columns = ("name", "value", "low", "high")
    picture = interval_rows(rows, columns, mark("circle", "accent"), Axis(0, 1), "two")
    (frame,) = layout(picture, 400).frames
    assert frame.ys([0.5, 1.5]).tolist() == pytest.approx([15, 45])
    (segments,) = (
        p.get("d")
        for p in ElementTree.fromstring(picture.svg(400)).iter("path")
        if p.get("stroke-width") == "3"
    )
    ends = [float(end) / frame.width for end in re.findall(r"[ML]([\d.]+) ", segments or "")]
    assert ends == pytest.approx([0.1, 0.4], abs=0.001)  # b has no interval


def test_labels_are_text_only():
    hostile = "</text><script>alert(1)</script>"
    x, y = Axis(0, 1, hostile), Axis(1, 0, hostile, labels=((0.5, hostile),))
    rows = pl.DataFrame({"x": [0.5], "y": [0.5], "words": [hostile]})
    square = mark("square", "ink", hostile)
    picture = plot(x, y, [Text(rows, "x", "y", "words"), Marks(rows, "x", "y", square)], hostile, 60)
    root = ElementTree.fromstring(picture.svg(400))
    assert not list(root.iter("script"))
    assert [one.text for one in root.iter("text")].count(hostile) == 5  # with the legend
    assert root.get("aria-label") == hostile


def test_colours_are_the_page_s_own():
    every = THREE.with_columns(kind=pl.Series(list(MARKS)[:3]))
    marks = Marks(every, "x", "y", MARKS)
    markup = drawn(
        marks, Line(THREE, "x", "y", Stroke("accent")), Area(THREE, "x", "x", "y", "ink", 0.5)
    ).svg(400)
    assert not re.search(r'(fill|stroke)="(?!var\(--|none)', markup)
    assert "style=" not in markup


def test_a_narrow_legend_takes_more_lines():
    n = len(MARKS)
    rows = pl.DataFrame({"x": [1.0] * n, "y": [0.5] * n, "kind": list(MARKS), "words": [""] * n})
    every = drawn(Marks(rows, "x", "y", MARKS))
    top = [
        layout(picture, width).frames[0].top
        for picture, width in ((every, 300), (every, 1000), (drawn(), 400))
    ]
    assert top == sorted(top, reverse=True)
    assert len(set(top)) == 3
    assert [one.words for one in every.legend()] == [one.words for one in MARKS.values()]


def test_an_overlay_covers_the_frame():
    picture = drawn(Overlay("<path/>"))
    size = dict(re.findall(r'data-(\w+)="([^"]+)"', picture.svg(400)))
    (frame,) = layout(picture, 400).frames
    assert (float(size["width"]), float(size["height"])) == (frame.width, 200)
    assert (size["left"], size["right"], size["top"]) == ("0", "10", "1")


def test_panels_stand_side_by_side_and_below_each_other():
    panel = Panel(ACROSS, UP, (), "one")
    frames = layout(Picture((panel,) * 5, "", (100, 100), columns=(3, 2)), 640).frames
    assert [frame.labelled for frame in frames] == [True, False, False, True, False]
    assert frames[3].top > frames[0].top + 100 + frames[0].below()
    assert frames[1].left == pytest.approx(frames[4].left)
    assert len({round(frame.width, 6) for frame in frames}) == 1
    assert frames[2].left + frames[2].width < 640


def test_long_labels_below_are_turned():
    labels = tuple((float(at), f"a long label {at}") for at in range(8))
    picture = drawn(x=Axis(0, 7, labels=labels))
    assert "rotate(-35)" in picture.svg(400)
    assert "rotate(-35)" not in picture.svg(1200)


@pytest.mark.parametrize("width", [200, 5000])
def test_a_width_that_nobody_could_read_is_refused(three, width):
    with pytest.raises(OptionError, match="380 for a phone"):
        rl.charts.capability(three.fit, width=width)
