"""The paper's figures, and the style of all."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from benchmarks.studies import named_rows
from raterlens import capability
from raterlens.base.errors import OptionError
from raterlens.base.layers import Axis, strokes
from raterlens.base.picture import Picture
from raterlens.studies import figures
from raterlens.studies.figures import HEIGHT, curves, kinds, save

DATA = pl.DataFrame({"x": [0, 1, 0, 1], "y": [0.0, 1.0, 1.0, 0.5], "kind": ["b", "b", "a", "a"]})
ENDS = Axis(0.0, 1.0)


def picture(points: bool = False) -> Picture:
    return Picture((curves(DATA, ("x", "y", "kind"), ENDS, ENDS, points=points),), "Two curves.", HEIGHT)


def test_curves_keep_the_order_of_the_data_and_differ_in_colour_and_dash():
    first, second = picture().legend()
    assert [first.words, second.words] == ["b", "a"]
    assert first.role != second.role
    assert first.dash != second.dash


def test_points_are_added_where_asked_for_and_named_once():
    (panel,) = picture(points=True).panels
    assert [type(layer).__name__ for layer in panel.layers] == ["Line", "Marks", "Line", "Marks"]
    assert [key.words for key in picture(points=True).legend()] == ["b", "a"]


def test_more_than_six_curves_and_marks_still_differ():
    names = [f"n{place}" for place in range(20)]
    looks = {(look.role, look.dash) for look in strokes(names)}
    marks = {(one.role, one.shape) for one in kinds(names).values()}
    assert len(looks) == len(marks) == 20


def test_a_row_per_name_with_a_mark_for_each_kind():
    rows = pl.DataFrame({"who": ["b", "a", "b"], "size": [0.1, 0.2, 0.3], "what": ["x", "x", "y"]})
    panel = named_rows(rows, ("who", "size", "what"), ENDS, ["a", "b"])
    (marks,) = panel.layers
    assert marks.rows["row"].to_list() == [1.25, 0.25, 1.75]
    assert [one.words for one in marks.present()] == ["x", "y"]


def test_a_figure_is_written_as_svg_and_png(tmp_path):
    svg, png = save({"one": picture()}, tmp_path)
    assert (svg.name, png.name) == ("one.svg", "one.png")
    assert b"<svg" in svg.read_bytes()[:200]
    assert png.read_bytes().startswith(b"\x89PNG")


def test_a_full_disk_leaves_the_figure_that_was_there(tmp_path, monkeypatch):
    def half(self, content):
        self.write_text("<svg")
        raise OSError(28, "No space left on device")

    svg, _ = save({"one": picture()}, tmp_path)
    before = svg.read_bytes()
    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises(OptionError, match=r"one.svg': No space left on device"):
        save({"one": picture()}, tmp_path)
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
