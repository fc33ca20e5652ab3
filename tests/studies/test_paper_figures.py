"""Figures: their data against the index, and the files that come of them."""

import numpy as np
import polars as pl
import pytest

from raterlens import capability
from raterlens.studies import paper_figures
from raterlens.studies.print_figures import save


def test_curves_of_the_three_facets_model_peak_at_their_severity():
    left, right = paper_figures.tfm_data()
    for name, peak in (("η = −5", -5), ("η = 0", 0), ("η = 5", 5)):
        curve = left.filter(pl.col("curve") == name)
        top = curve.row(int(curve["y"].arg_max()), named=True)
        assert top["x"] == pytest.approx(peak, abs=0.05)
        assert top["y"] == pytest.approx(0.25 / 0.206621, abs=1e-3)
    assert right["y"].max() == pytest.approx(1)


def test_curves_of_the_probit_model_have_the_printed_discriminations_at_severity_zero():
    _, right = paper_figures.probit_data()
    at_zero = right.filter(pl.col("x").abs() < 1e-9)
    assert at_zero["y"].to_list() == pytest.approx([0.80, 0.62, 0.50], abs=0.006)


def test_curves_of_the_hierarchical_model_rise_with_the_slope():
    data = paper_figures.hrm_data()
    tops = data.group_by("curve", maintain_order=True).agg(pl.col("y").max())["y"].to_list()
    assert tops == sorted(tops)
    np.testing.assert_allclose(
        tops, capability.hrm(criterion=np.array([1, 3, 5, 7, 9]) / 2, slope=[1, 3, 5, 7, 9])
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    return {path.name: path for path in save(paper_figures.figures(), folder)}


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
