"""Figures for print."""

from pathlib import Path

import altair as alt
import polars as pl
import pytest

from raterlens.base.errors import OptionError
from raterlens.studies.print_figures import BLUE, VERMILION, lines, save, two_kinds

DATA = pl.DataFrame({"x": [0, 1, 0, 1], "y": [0.0, 1.0, 1.0, 0.5], "kind": ["b", "b", "a", "a"]})


def test_lines_keep_the_order_of_the_data_and_differ_in_colour_and_dash():
    chart = lines(DATA, alt.X("x:Q"), alt.Y("y:Q"), "kind").to_dict()
    for channel in ("color", "strokeDash"):
        scale = chart["encoding"][channel]["scale"]
        assert scale["domain"] == ["b", "a"]
        assert scale["range"][0] != scale["range"][1]


def test_points_are_added_where_asked_for():
    chart = lines(DATA, alt.X("x:Q"), alt.Y("y:Q"), "kind", points=True).to_dict()
    assert [layer["mark"]["type"] for layer in chart["layer"]] == ["line", "point"]


def test_two_kinds_in_either_order():
    first, second = (two_kinds("kind", ["a", "b"], "Kind", blue_first=blue) for blue in (True, False))
    assert first["color"].to_dict()["scale"]["range"] == [BLUE, VERMILION]
    assert second["color"].to_dict()["scale"]["range"] == [VERMILION, BLUE]


def test_a_figure_is_written_as_svg_and_png(tmp_path):
    svg, png = save({"one": lines(DATA, alt.X("x:Q"), alt.Y("y:Q"), "kind")}, tmp_path)
    assert (svg.name, png.name) == ("one.svg", "one.png")
    assert b"<svg" in svg.read_bytes()[:200]
    assert png.read_bytes().startswith(b"\x89PNG")


def test_a_full_disk_leaves_the_figure_that_was_there(tmp_path, monkeypatch):
    def half(self, path, **_):
        Path(path).write_text("<svg")
        raise OSError(28, "No space left on device")

    chart = lines(DATA, alt.X("x:Q"), alt.Y("y:Q"), "kind")
    svg, _ = save({"one": chart}, tmp_path)
    before = svg.read_bytes()
    monkeypatch.setattr(alt.TopLevelMixin, "save", half)
    with pytest.raises(OptionError, match=r"one.svg': No space left on device"):
        save({"one": chart}, tmp_path)
    assert svg.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 2
