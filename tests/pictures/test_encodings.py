"""Encodings: colour and shape or dash together."""

import polars as pl

from raterlens.pictures.encodings import line_scales, point_scales
from raterlens.pictures.style import light


def test_lines_differ_in_colour_and_dash():
    scales = line_scales(["a", "b"], "rater", 640)
    for name in ("stroke", "strokeDash"):
        scale = scales[name].to_dict()["scale"]
        assert scale["domain"] == ["a", "b"]
        assert scale["range"][0] != scale["range"][1]


def test_points_have_a_legend_of_the_kinds_that_occur():
    kinds = {"fine": ("accent", "circle"), "odd": ("severe", "square")}
    found = point_scales(pl.DataFrame({"kind": ["odd", "odd"]}), kinds, 640)
    scales = {name: encoding.to_dict()["scale"] for name, encoding in found.items()}
    assert scales["color"] == {"domain": ["odd"], "range": [light("severe")]}
    assert scales["shape"] == {"domain": ["odd"], "range": ["square"]}
