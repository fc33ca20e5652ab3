"""Where text fits: names beside points, entries of a legend, titles of axes."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from raterlens.base.arrays import Array

Align = Literal["left", "center", "right"]

TYPE, LINE, CLEARANCE = 11, 14.0, 8.0
"""In pixels: the size of type, the height of a line, and the room that a mark takes."""

LONGEST = 22
"""Longer names are cut; the tooltip and the table have them in full."""

_NARROW, _WIDE = frozenset(" .,:;'!|()[]/\\-fijlrtI\u00a0"), frozenset("mwMW@%…")
_IDEOGRAPHS = "\u2e80"


class Label(NamedTuple):
    """A name, and its offset in pixels from the point that it names."""

    point: int
    text: str
    dx: float
    dy: float
    align: Align


def place_labels(
    names: Sequence[str],
    anchors: Array,
    marks: Array,
    *,
    width: float,
    height: float,
) -> list[Label]:
    """Place names in the given order; one without a free side at its point is left out.

    `anchors` (the points to name) and `marks` (all points, to be kept clear) are in percent of the plot.
    """
    # From left to right, so that a name looks at those near it alone.
    obstacles = sorted(map(tuple, (marks * np.array([width, height]) / 100).tolist()))
    boxes: list[tuple[float, float, float, float]] = []
    placed, sides = [], _sides()
    for point, (name, (x, y)) in enumerate(zip(names, anchors, strict=True)):
        text = str(name) if len(str(name)) <= LONGEST else str(name)[: LONGEST - 1] + "…"
        length = text_width(text, TYPE)
        for dx, dy, align in sides:
            box = _box(x * width / 100 + dx, y * height / 100 + dy, length, align)
            if _free(box, boxes, obstacles, width, height):
                boxes.append(box)
                placed.append(Label(point, text, dx, dy, align))
                break
    return placed


def placed_names(
    rows: pl.DataFrame, every: pl.DataFrame, at: tuple[pl.Expr, pl.Expr], width: float, height: float
) -> pl.DataFrame:
    """The rows whose `rater` finds room beside its point, with name, dx, dy and align for a chart's text.

    `every` has all points, to be kept clear; `at` gives their place in percent of the plot, from the left and from the
    top.
    """
    anchors, marks = (part.select(x=at[0], y=at[1]).to_numpy() for part in (rows, every))
    found = place_labels(rows["rater"].to_list(), anchors, marks, width=width, height=height)
    return rows[[label.point for label in found]].with_columns(
        pl.Series("name", [label.text for label in found], dtype=pl.String),
        pl.Series("dx", [label.dx for label in found], dtype=pl.Float64),
        pl.Series("dy", [label.dy for label in found], dtype=pl.Float64),
        pl.Series("align", [label.align for label in found], dtype=pl.String),
    )


def _sides() -> tuple[tuple[float, float, Align], ...]:
    beside, above = CLEARANCE + 1, LINE / 3
    return (
        (beside, above, "left"),
        (-beside, above, "right"),
        (0, -CLEARANCE - 2, "center"),
        (0, CLEARANCE + LINE - 3, "center"),
    )


def _box(x: float, baseline: float, length: float, align: Align) -> tuple[float, float, float, float]:
    left = {"left": x, "center": x - length / 2, "right": x - length}[align]
    return left, baseline - 0.8 * LINE, left + length, baseline + 0.2 * LINE


def _free(
    box: tuple[float, float, float, float],
    taken: list[tuple[float, float, float, float]],
    obstacles: Sequence[tuple[float, float]],
    width: float,
    height: float,
) -> bool:
    """Whether a box is inside the plot and clear of others; `obstacles` are sorted."""
    left, top, right, bottom = box
    if left < 0 or right > width or top < -LINE or bottom > height:
        return False
    near = CLEARANCE / 2
    first, last = bisect_right(obstacles, (left - near, np.inf)), bisect_left(obstacles, (right + near,))
    above, below = top - near, bottom + near
    for _, y in obstacles[first:last]:
        if above < y < below:
            return False
    return all(right < x0 or left > x1 or bottom < y0 or top > y1 for x0, y0, x1, y1 in taken)


def legend_columns(names: Iterable[str], width: int) -> int:
    """How many entries of a legend fit side by side."""
    longest = max((len(name) for name in names), default=1)
    return max(1, min(6, int((width - 70) / (6.6 * longest + 46))))


def severity_title(width: int, title: str = "Severity η") -> str:
    """The title of an axis of severity, with its directions."""
    gap = "\u00a0" * (12 if width >= 480 else 4)
    return f"← lenient{gap}{title}{gap}severe →"


def text_width(text: str, size: float) -> float:
    """Pixels that text takes at most, in the fonts of browsers.

    Examples
    --------
    >>> text_width("R0015", 11) < text_width("WOMBAT", 11)
    True
    """
    return size * sum(map(_character_width, text))


@cache
def _character_width(c: str) -> float:
    if c in _NARROW:
        return 0.42
    return 1.0 if c in _WIDE or c >= _IDEOGRAPHS else 0.66 + 0.1 * c.isupper()
