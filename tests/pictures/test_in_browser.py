"""Every chart as a browser shows it, in light and dark, for a desk and a phone, with 3, 16, 300 and 3,000 raters."""

from pathlib import Path

import polars as pl
import pytest

import raterlens as rl
from raterlens.base.style import css
from tests.support.chart_cases import DRAWINGS, ORDERED, Case
from tests.support.screens import look

WIDTHS = {"desk": 600, "phone": 360}
SLOW = ("drift",)
"""Charts that are slow for thousands of raters: it takes ten seconds to find out who changed."""

STYLE = """
body { margin: 0; background: var(--paper); color: var(--ink); font: 14px "DejaVu Sans", sans-serif }
main { display: flex; flex-wrap: wrap; gap: 12px }
figure { margin: 4px 14px } figcaption { color: var(--soft) } svg { display: block }
"""


@pytest.fixture(scope="session")
def thousands() -> Case:
    """Three thousand raters, held at their true values: estimating them takes longer than all else."""
    drawn = rl.simulate(students=6000, raters=3000, items=2, raters_per_student=4, seed=3)
    labels = drawn.ratings.raters.cast(pl.String).to_list()
    known = zip(drawn.truth.slope.tolist(), drawn.truth.severity.tolist(), strict=True)
    held = rl.Anchors(raters=dict(zip(labels, known, strict=True)))
    return Case(rl.fit(drawn.ratings, model="gmf", anchors=held, standard_errors=False), drawn.ratings)


NIGHTLY = [
    pytest.param(kind, marks=pytest.mark.nightly) for kind in ("three", "ordered", "many", "thousands")
]


@pytest.mark.parametrize("kind", ["example", *NIGHTLY])
def test_every_chart_can_be_read(kind: str, page, request, tmp_path: Path):
    case: Case = request.getfixturevalue(kind)
    for size, width in WIDTHS.items():
        if size == "desk" and kind != "example":
            continue  # what fits a phone fits a desk, and drawing takes its time
        left_out = (*SLOW, *ORDERED) if kind == "thousands" else () if kind == "ordered" else ORDERED
        charts = [draw(case, width) for name, draw in DRAWINGS.items() if name not in left_out]
        figures = (f"<figure style='width:{width}px'>{rl.charts.svg(chart)}</figure>" for chart in charts)
        path = tmp_path / f"{size}.html"
        head = f"<!doctype html><html lang=en><meta charset=utf-8><title>Charts</title><style>{css()}{STYLE}</style>"
        path.write_text(f"{head}<main>{''.join(figures)}</main>", encoding="utf-8")
        page.goto(path.as_uri())
        drawn = page.locator("svg[role=img]").evaluate_all(
            "all => all.map(one => one.getBoundingClientRect().width)"
        )
        assert len(drawn) == len(charts)
        assert all(0.95 * width <= found <= width + 1 for found in drawn), drawn
        look(page, f"charts-{kind}", sizes=[size], accessible=False)
