"""Every colour once by its role, one mark per kind of verdict, and names that do not overlap."""

import numpy as np
import pytest

from raterlens.base.style import (
    MARK_ROLES,
    MARKS,
    PALETTE,
    TEXT_ROLES,
    THEMES,
    TYPE,
    css,
    legend_columns,
    mark_of_verdict,
    place_labels,
    text_width,
)

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
