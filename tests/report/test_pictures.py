"""Frames that scripts draw in."""

import re

import altair as alt
import polars as pl
import pytest
from markupsafe import Markup

import raterlens as rl
from raterlens.charts.theme import finished
from raterlens.report.pictures import overlaid


def test_an_overlay_covers_the_frame_of_the_chart():
    data = pl.DataFrame({"x": [0.0, 1.0], "y": [0.0, 1.0]})
    chart = finished(alt.Chart(data).mark_line().encode(x="x:Q", y="y:Q"), "a line", width=400, height=240)
    drawn = overlaid(rl.charts.svg(chart), (0.0, 1.0), (0.0, 2.0), "<path/>")
    size = dict(re.findall(r'data-(\w+)="([^"]+)"', drawn))
    assert float(size["height"]) == 240
    assert 300 < float(size["width"]) < 400
    assert (size["left"], size["top"]) == ("0.0", "2.0")
    assert drawn.endswith("<path/></g></svg>")


def test_a_drawing_without_a_frame_is_refused():
    with pytest.raises(RuntimeError, match="frame"):
        overlaid(Markup("<svg></svg>"), (0, 1), (0, 1), "")
