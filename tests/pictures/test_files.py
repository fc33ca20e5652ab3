"""Files and markup: whole, themed, safe."""

import re
import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree

import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import OptionError
from raterlens.base.style import PALETTE

SVG = "{http://www.w3.org/2000/svg}"
PAINTS = ("fill", "stroke")


@pytest.fixture(scope="module")
def chart(example):
    return rl.charts.severity(example.fit)


def paints(text):
    root = ElementTree.fromstring(text)
    return {element.get(paint) for element in root.iter() for paint in PAINTS} - {None, "none"}


@pytest.mark.parametrize(
    ("ending", "start"),
    [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")],
)
def test_the_ending_decides_the_kind_of_file(chart, tmp_path, ending, start):
    path = rl.charts.save(chart, tmp_path / f"x.{ending}")
    assert path.read_bytes().startswith(start)


def test_a_page_needs_nothing_else_and_follows_the_reader_s_system(chart, tmp_path):
    page = rl.charts.save(chart, tmp_path / "x.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert not re.search("(src=|href=|@import|<script)", page)
    assert "prefers-color-scheme: dark" in page
    assert str(rl.charts.svg(chart)) in page


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_file_has_the_colours_of_its_theme_and_no_others(chart, tmp_path, theme):
    text = rl.charts.save(chart, tmp_path / "x.svg", theme=theme).read_text(encoding="utf-8")
    assert paints(text) <= {getattr(colour, theme) for colour in PALETTE.values()}


def test_markup_has_roles_for_colours_and_nothing_that_a_policy_forbids(chart):
    text = rl.charts.svg(chart)
    assert paints(text) <= {f"var(--{role})" for role in PALETTE}
    root = ElementTree.fromstring(text)
    assert root.get("role") == "img"
    assert root.get("aria-label") == root[0].text != ""
    assert root[0].tag == "title"
    for element in root.iter():
        assert element.tag not in ("script", "style", "foreignObject", "image", "a")
        assert not any(name == "style" or name.startswith("on") or "href" in name for name in element.attrib)


def test_labels_are_text(example):
    names = ["<script>alert(1)</script>", '"><b onx=1>', "=cmd()", "#0072b2", "line\nbreak"]
    table = example.fit.table("raters")
    labels = pl.Series("rater", names + table["rater"].to_list()[len(names) :])
    fit = replace(example.fit, tables={**example.fit.tables, "raters": table.with_columns(labels)})
    for draw in (rl.charts.capability, rl.charts.severity):
        text = str(rl.charts.svg(draw(fit)))
        assert "<script" not in text
        assert "<b " not in text
        root = ElementTree.fromstring(text)
        seen = "".join(root.itertext())
        assert "<script>alert" in seen
        assert "#0072b2" in seen  # a label that looks like a colour stays a label
        assert {element.tag for element in root.iter()} <= {*("svg", "g", "path", "circle", "text", "title")}


def test_the_same_chart_has_the_same_bytes(example):
    assert rl.charts.svg(rl.charts.capability(example.fit)) == rl.charts.svg(
        rl.charts.capability(example.fit)
    )


@pytest.mark.parametrize("name", ["x.jpg", "x", "nowhere/x.svg", "."])
def test_what_cannot_be_written_is_said_before(chart, tmp_path, name):
    with pytest.raises(OptionError, match=r"\.svg, \.png, \.pdf, \.html|folder that exists"):
        rl.charts.save(chart, tmp_path / name)


def test_an_unknown_theme_names_the_known(chart, tmp_path):
    with pytest.raises(OptionError, match="unknown theme 'sepia'; choose one of: light, dark"):
        rl.charts.save(chart, tmp_path / "x.svg", theme="sepia")


@pytest.mark.parametrize(("ending", "loaded"), [("svg", ""), ("html", ""), ("png", "vl_convert")])
def test_a_picture_is_written_without_altair(ending, loaded, tmp_path):
    code = (
        "import sys; import raterlens as rl; from raterlens.charts import picture; "
        "from raterlens.pictures.files import write; "
        f"write(picture('network', rl.load_example()), 640, {str(tmp_path / 'x')!r} + '.{ending}'); "
        "print(*[m for m in ('altair', 'vl_convert') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == loaded
