"""A picture: its layout and SVG, its look, its files."""

import re
import subprocess
import sys
from dataclasses import replace
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
    Segments,
    Stroke,
    Text,
    round_numbers,
)
from raterlens.base.picture import Panel, Picture, interval_rows, layout, plot
from raterlens.base.style import (
    MARK_ROLES,
    MARKS,
    PALETTE,
    TEXT_ROLES,
    THEMES,
    TYPE,
    css,
    legend_columns,
    mark,
    mark_of_verdict,
    place_labels,
    text_width,
)

# --------------------------- pictures: round numbers on the axes, everything where its numbers say, labels as text


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
    ticks = Axis(0.45, 1.6, log=True).ticks(400, 640)
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
    picture = plot(ACROSS, UP, [], "three points", 200, overlay="<path/>")
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


@pytest.mark.parametrize("width", [380, 640])
def test_turned_labels_stay_inside_and_leave_panels_their_width(width):
    days = tuple((float(at), f"2026-05-{at:02d}") for at in range(1, 5))
    panel = Panel(Axis(0.5, 4.5, labels=days), UP, (), "one")
    picture = Picture((panel,) * 6, "", (150, 130), columns=(3, 2))
    frames = layout(picture, width).frames
    columns = 3 if width > 480 else 2
    assert all(frame.x.rotated(frame.width) and frame.width > 0.7 * width / columns for frame in frames)
    reach = 0.82 * text_width("2026-05-01", TYPE)  # at 35 degrees
    for frame, before in zip(frames, (None, *frames), strict=False):
        first = frame.left + frame.xs([1.0])[0] + 4 - reach
        assert first > (before.left + before.width if before and before.top == frame.top else 0)


@pytest.mark.parametrize("width", [200, 5000])
def test_a_width_that_nobody_could_read_is_refused(three, width):
    with pytest.raises(OptionError, match="380 for a phone"):
        rl.charts.capability(three.fit, width=width)


# ---------------------- every colour once by its role, one mark per kind of verdict, and names that do not overlap


# WCAG 2.2: contrast of text (1.4.3) and of graphics (1.4.11) with what they stand on.
TEXT, GRAPHICS = 4.5, 3.0


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_the_standard():
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)  # the usual example just below AA


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("ground", ["paper", "panel"])
def test_text_and_marks_stand_out(theme, ground):
    def of(role):
        return getattr(PALETTE[role], theme)

    assert all(contrast(of(role), of(ground)) >= TEXT for role in TEXT_ROLES)
    assert all(contrast(of(role), of(ground)) >= GRAPHICS for role in MARK_ROLES)


def test_every_mark_has_a_shape_of_its_own_unless_it_is_hollow():
    shapes = [one.shape for name, one in MARKS.items() if name != "unsure"]
    assert len(set(shapes)) == len(shapes)
    assert {one.role for one in MARKS.values()} <= set(PALETTE)


def test_the_style_sheet_has_every_role_in_light_and_dark():
    light, dark = css().splitlines()
    assert dark.startswith("@media screen")
    for role, colour in PALETTE.items():
        assert f"--{role}: {colour.light}" in light
        assert f"--{role}: {colour.dark}" in dark


def test_marks_differ_in_name_and_shape():
    paths = [m.path for name, m in MARKS.items() if name != "unsure"]  # drawn hollow instead
    assert len(set(paths)) == len(paths)
    assert all(name == m.name for name, m in MARKS.items())
    assert mark_of_verdict("too severe") != mark_of_verdict("too lenient")


def test_names_never_overlap_names_or_marks():
    rng = np.random.default_rng(1)
    points = rng.uniform(0, 1, (60, 2)) * (800, 440)
    placed = place_labels([f"Rater {i}" for i in range(60)], points, points, (800, 440))
    assert 10 < len(placed) <= 60
    boxes = []
    for label in placed:
        x, y = points[label.point] + (label.dx, label.dy)
        length = text_width(label.text, TYPE)
        left = {"left": x, "center": x - length / 2, "right": x - length}[label.align]
        boxes.append((left, y - 10, left + length, y + 2))
    for i, a in enumerate(boxes):
        for b in boxes[i + 1 :]:
            assert a[2] < b[0] or a[0] > b[2] or a[3] < b[1] or a[1] > b[3]


def test_long_names_are_cut():
    point = np.array([[50.0, 50.0]])
    (label,) = place_labels(["x" * 500], point, point, (800, 440))
    assert len(label.text) < 30
    assert label.text.endswith("…")


def test_a_narrow_chart_has_fewer_legend_entries_side_by_side():
    assert legend_columns(["capable", "weak discrimination"], 380) < legend_columns(["capable"], 640)


# --------------------------------------------------------------------------- files and markup: whole, themed, safe


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
