"""Names beside points, without overlap."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Anchor = Literal["start", "middle", "end"]

CHARACTER, LINE, CLEARANCE = 6.6, 14.0, 8.0
"""Pixels: the width of a character and the height of a line at 12 px, and the room that a mark takes."""

LONGEST = 22
"""Longer names are cut: the full one is in the tooltip and in the table."""


class Label(NamedTuple):
    """A name, its point in percent of the plot, and its offset from it in pixels."""

    text: str
    x: float
    y: float
    dx: float
    dy: float
    anchor: Anchor


def place_labels(
    names: Sequence[str],
    anchors: NDArray[np.float64],
    marks: NDArray[np.float64],
    *,
    width: float,
    height: float,
) -> list[Label]:
    """Place names in the order given; one that finds no free side of its point is left out.

    `anchors` (the points to name) and `marks` (all points, to be kept clear) are in percent of the plot.
    """
    size = np.array([width, height])
    obstacles = marks * size / 100
    boxes: list[tuple[float, float, float, float]] = []
    placed = []
    for name, (x, y) in zip(names, anchors, strict=True):
        text = str(name) if len(str(name)) <= LONGEST else str(name)[: LONGEST - 1] + "…"
        for dx, dy, anchor in _sides():
            box = _box(x * width / 100 + dx, y * height / 100 + dy, len(text) * CHARACTER, anchor)
            if _free(box, boxes, obstacles, width, height):
                boxes.append(box)
                placed.append(Label(text, float(x), float(y), dx, dy, anchor))
                break
    return placed


def _sides() -> tuple[tuple[float, float, Anchor], ...]:
    beside, above = CLEARANCE + 1, LINE / 3
    return (
        (beside, above, "start"),
        (-beside, above, "end"),
        (0, -CLEARANCE - 2, "middle"),
        (0, CLEARANCE + LINE - 3, "middle"),
    )


def _box(x: float, baseline: float, length: float, anchor: Anchor) -> tuple[float, float, float, float]:
    left = {"start": x, "middle": x - length / 2, "end": x - length}[anchor]
    return left, baseline - 0.8 * LINE, left + length, baseline + 0.2 * LINE


def _free(
    box: tuple[float, float, float, float],
    taken: list[tuple[float, float, float, float]],
    obstacles: NDArray[np.float64],
    width: float,
    height: float,
) -> bool:
    left, top, right, bottom = box
    if left < 0 or right > width or top < -LINE or bottom > height:
        return False
    near = CLEARANCE / 2
    covers = (
        (obstacles[:, 0] > left - near)
        & (obstacles[:, 0] < right + near)
        & (obstacles[:, 1] > top - near)
        & (obstacles[:, 1] < bottom + near)
    )
    if covers.any():
        return False
    return all(right < x0 or left > x1 or bottom < y0 or top > y1 for x0, y0, x1, y1 in taken)
