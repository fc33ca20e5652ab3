"""Where text fits: names beside points do not overlap."""

import numpy as np

from raterlens.pictures.label_placement import TYPE, legend_columns, place_labels, text_width


def test_names_never_overlap_names_or_marks():
    rng = np.random.default_rng(1)
    points = rng.uniform(0, 100, (60, 2))
    placed = place_labels([f"Rater {i}" for i in range(60)], points, points, width=800, height=440)
    assert 10 < len(placed) <= 60
    boxes = []
    for label in placed:
        x, y = points[label.point] * (8, 4.4) + (label.dx, label.dy)
        length = text_width(label.text, TYPE)
        left = {"left": x, "center": x - length / 2, "right": x - length}[label.align]
        boxes.append((left, y - 10, left + length, y + 2))
    for i, a in enumerate(boxes):
        for b in boxes[i + 1 :]:
            assert a[2] < b[0] or a[0] > b[2] or a[3] < b[1] or a[1] > b[3]


def test_long_names_are_cut():
    point = np.array([[50.0, 50.0]])
    (label,) = place_labels(["x" * 500], point, point, width=800, height=440)
    assert len(label.text) < 30
    assert label.text.endswith("…")


def test_a_narrow_chart_has_fewer_legend_entries_side_by_side():
    assert legend_columns(["capable", "weak discrimination"], 380) < legend_columns(["capable"], 640)
