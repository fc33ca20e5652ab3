"""Charts: the plot data, and that the drawing holds it."""

import numpy as np
import polars as pl
import pytest

from raterlens.charts.intervals import draw_intervals, interval_data
from raterlens.charts.labels import place_labels
from raterlens.charts.marks import MARKS, mark
from raterlens.charts.severity import LEVELS, contours, draw_severity, severity_data
from raterlens.diagnostics.scale import Scale

# Contours are drawn, not read off: interpolation on their grid may err by this much in kappa.
DRAWING = 2e-3


def panel(n: int, label: str = "capable", standing: str = "fine") -> pl.DataFrame:
    kappa = np.linspace(0.2, 0.95, n)
    table = pl.DataFrame(
        {"rater": [f"R{i}" for i in range(n)], "kappa": kappa, "rho": kappa, "eta": 1 - 2 * kappa}
    )
    return table.with_columns(
        kappa_low=kappa - 0.1, kappa_high=kappa + 0.1, label=pl.lit(label), standing=pl.lit(standing)
    )


def test_small_panel_has_a_line_each_highest_first() -> None:
    data = interval_data(panel(5))
    assert data.left_out == 0
    assert data.rows["rater"].to_list() == ["R4", "R3", "R2", "R1", "R0"]
    assert data.rows["place"].to_list() == [0, 1, 2, 3, 4]


def test_large_panel_shows_both_ends_and_counts_the_rest() -> None:
    data = interval_data(panel(100), shown=10)
    assert data.left_out == 90
    assert data.rows["rater"].to_list() == ["R99", "R98", "R97", "R96", "R95", "R4", "R3", "R2", "R1", "R0"]
    assert data.rows["place"].to_list() == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10]
    assert "90 raters between" in draw_intervals(data)


def test_interval_is_drawn_where_it_is() -> None:
    one = panel(1).with_columns(kappa=pl.lit(0.5), kappa_low=pl.lit(0.25), kappa_high=pl.lit(0.75))
    svg = draw_intervals(interval_data(one))
    assert 'class="whisker" x1="25.0%" x2="75.0%"' in svg
    assert 'x="50.0%"' in svg


def test_missing_interval_leaves_the_point() -> None:
    svg = draw_intervals(
        interval_data(panel(1).with_columns(kappa_low=pl.lit(None), kappa_high=pl.lit(float("nan"))))
    )
    assert "whisker" not in svg
    assert svg.count('class="mark"') == 1


def test_axis_reaches_below_zero_where_a_rater_does() -> None:
    against = panel(1, "scores against ability").with_columns(
        kappa=pl.lit(-0.5), kappa_low=pl.lit(-0.75), kappa_high=pl.lit(-0.25)
    )
    svg = draw_intervals(interval_data(against))
    assert 'x="25.0%"' in svg
    assert ">-1.00<" in svg


@pytest.mark.parametrize(
    ("model", "link"),
    [
        ("gmf", "logit"),
        ("gmf", "probit"),
        ("gmf", "cauchit"),
        ("gmf", "cloglog"),
        ("gmf", "log"),
        ("probit", "probit"),
    ],
)
@pytest.mark.parametrize("sigma", [0.3, 2.1])
def test_capability_is_the_level_along_each_contour(model: str, link: str, sigma: float) -> None:
    scale = Scale(sigma, link, model)
    curves = contours(scale, reach=3.0)
    kappa = scale.capability(curves["rho"].to_numpy(), curves["eta"].to_numpy())
    np.testing.assert_allclose(kappa, curves["level"], atol=DRAWING)
    assert set(curves["level"]) <= set(LEVELS)
    assert curves["eta"].abs().max() <= 3.0
    assert curves["rho"].is_between(0, 1).all()


def test_contours_end_at_full_discrimination_or_at_the_edge() -> None:
    for _, curve in contours(Scale(2.1), reach=3.0).group_by("level"):
        for end in (0, -1):
            assert curve["rho"][end] == 1.0 or abs(curve["eta"][end]) == 3.0


def test_ordered_scores_have_no_contours() -> None:
    plot = severity_data(panel(5), Scale(2.0, ordered=True))
    assert plot.contours.is_empty()
    assert "equal capability" not in draw_severity(plot)


def test_all_points_are_drawn_and_axis_holds_them() -> None:
    plot = severity_data(panel(30).with_columns(eta=pl.lit(-4.2)), Scale(2.0))
    assert plot.reach >= 4.2
    assert draw_severity(plot).count('class="mark"') == 30


def test_raters_that_want_attention_are_named_in_a_large_panel() -> None:
    table = pl.concat([panel(299), panel(1, "too severe", "attention").with_columns(rater=pl.lit("strict"))])
    svg = draw_severity(severity_data(table, Scale(2.0)))
    assert svg.count(">strict</text>") == 2  # once for a desk, once for a phone
    assert ">R7</text>" not in svg


def test_labels_are_text() -> None:
    table = panel(2).with_columns(rater=pl.Series(["<script>alert(1)</script>", '"><b onx=1>']))
    for svg in (
        draw_intervals(interval_data(table)),
        draw_severity(severity_data(table, Scale(2.0))),
    ):
        assert "<script" not in svg
        assert "<b " not in svg
        assert "&lt;script&gt;" in svg


def test_names_never_overlap_names_or_marks() -> None:
    rng = np.random.default_rng(1)
    points = rng.uniform(0, 100, (60, 2))
    placed = place_labels([f"Rater {i}" for i in range(60)], points, points, width=800, height=440)
    assert 10 < len(placed) <= 60
    boxes = []
    for label in placed:
        x, y = label.x * 8 + label.dx, label.y * 4.4 + label.dy
        left = {"start": x, "middle": x - len(label.text) * 3.3, "end": x - len(label.text) * 6.6}[
            label.anchor
        ]
        boxes.append((left, y - 10, left + len(label.text) * 6.6, y + 2))
    for i, a in enumerate(boxes):
        for b in boxes[i + 1 :]:
            assert a[2] < b[0] or a[0] > b[2] or a[3] < b[1] or a[1] > b[3]


def test_long_names_are_cut() -> None:
    point = np.array([[50.0, 50.0]])
    (label,) = place_labels(["x" * 500], point, point, width=800, height=440)
    assert len(label.text) < 30
    assert label.text.endswith("…")


def test_marks_differ_in_name_and_shape() -> None:
    paths = [m.path for name, m in MARKS.items() if name != "unsure"]  # drawn hollow instead
    assert len(set(paths)) == len(paths)
    assert all(name == m.name for name, m in MARKS.items())
    assert mark("too severe") != mark("too lenient")
