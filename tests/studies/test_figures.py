"""The paper's figures, and the style of all."""

from pathlib import Path

import altair as alt
import numpy as np
import polars as pl
import pytest

from raterlens import capability
from raterlens.base.errors import OptionError
from raterlens.studies import figures
from raterlens.studies.figures import BLUE, VERMILION, lines, save, two_kinds

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


def test_curves_of_the_three_facets_model_peak_at_their_severity():
    left, right = figures.tfm_data()
    for name, peak in (("η = −5", -5), ("η = 0", 0), ("η = 5", 5)):
        curve = left.filter(pl.col("curve") == name)
        top = curve.row(int(curve["y"].arg_max()), named=True)
        assert top["x"] == pytest.approx(peak, abs=0.05)
        assert top["y"] == pytest.approx(0.25 / 0.206621, abs=1e-3)
    assert right["y"].max() == pytest.approx(1)


def test_curves_of_the_probit_model_have_the_printed_discriminations_at_severity_zero():
    _, right = figures.probit_data()
    at_zero = right.filter(pl.col("x").abs() < 1e-9)
    assert at_zero["y"].to_list() == pytest.approx([0.80, 0.62, 0.50], abs=0.006)


def test_curves_of_the_hierarchical_model_rise_with_the_slope():
    data = figures.hrm_data()
    tops = data.group_by("curve", maintain_order=True).agg(pl.col("y").max())["y"].to_list()
    assert tops == sorted(tops)
    np.testing.assert_allclose(
        tops, capability.hrm(criterion=np.array([1, 3, 5, 7, 9]) / 2, slope=[1, 3, 5, 7, 9])
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    return {path.name: path for path in save(figures.figures(), folder)}


def test_every_figure_is_written_as_svg_and_png(written):
    assert len(written) == 8
    for name, path in written.items():
        start = path.read_bytes()[:200]
        assert start.startswith(b"\x89PNG") if name.endswith("png") else b"<svg" in start


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("figure1-tfm.svg", ["Ability θ", "Capability κ(θ)", "Severity η", "Mean capability κ̄", "η = −5"]),
        ("figure3-probit.svg", ["noise 1.25, η = 0", "noise 1.75"]),
        ("figure4-hrm.svg", ["Criterion c", "a = 9"]),
    ],
)
def test_axes_and_legends_are_in_words_and_symbols(written, name, words):
    text = written[name].read_text(encoding="utf-8")
    for word in words:
        assert word in text
