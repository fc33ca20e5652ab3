"""Parts of pictures: axes, and layers of data drawn along them.

A layer is a frame with the names of its columns; rows with a number missing are left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from raterlens.base.arrays import Array
from raterlens.base.style import Align, Mark

Sizes = tuple[float, float]
"""One for wide pictures, one for narrow ones."""

APART = 40
"""Pixels between the numbers of an axis."""


@dataclass(frozen=True, slots=True)
class Axis:
    """Numbers from one end of the frame to the other."""

    low: float
    high: float
    title: str = ""
    count: Sizes | None = None
    """About how many numbers; by default one per 40 pixels"""
    labels: tuple[tuple[float, str], ...] | None = None
    """Text at some places, instead of round numbers"""
    grid: bool = False
    names: bool = False
    """The labels are names of rows: long ones are cut, and there are no ticks"""
    log: bool = False
    whole: bool = False
    """Whole numbers alone"""
    ends: tuple[str, str] | None = None
    """Which way is which, beside the title"""
    pixels: bool = False
    """In pixels, from 0 to the width of the frame, or to `high` where the frame is narrower"""

    def share(self, values: ArrayLike) -> Array:
        """How far along the axis, from 0 to 1."""
        at, ends = np.asarray(values, np.float64), np.array([self.low, self.high])
        if self.log:
            at, ends = np.log(at), np.log(ends)
        return np.asarray((at - ends[0]) / (ends[1] - ends[0]))

    def titled(self, narrow: bool) -> str:
        """The title, between the ends where these have names."""
        if self.ends is None:
            return self.title
        gap = "\u00a0" * (4 if narrow else 12)
        return f"{self.ends[0]}{gap}{self.title}{gap}{self.ends[1]}"

    def ticks(self, pixels: float, narrow: bool) -> tuple[tuple[float, str], ...]:
        """Places with their labels."""
        if self.labels is not None:
            return self.labels
        if self.log:
            return _log_ticks(self.low, self.high, pixels)
        count = pixels / APART if self.count is None else self.count[narrow]
        return round_numbers(self.low, self.high, count, whole=self.whole)


def round_numbers(
    low: float, high: float, count: float, *, whole: bool = False
) -> tuple[tuple[float, str], ...]:
    """About `count` round numbers with their text.

    Examples
    --------
    >>> [label for _, label in round_numbers(-1, 1, 4)]
    ['−1.0', '−0.5', '0.0', '0.5', '1.0']
    """
    power = np.floor(np.log10((high - low) / count))
    leading = (high - low) / count / 10**power
    step = 10**power * (
        10 if leading >= 50**0.5 else 5 if leading >= 10**0.5 else 2 if leading >= 2**0.5 else 1
    )
    step = max(step, 1) if whole else step
    digits = max(0, -int(np.floor(np.log10(step))))
    at = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1) * step
    return tuple((float(one), f"{one + 0.0:,.{digits}f}".replace("-", "−")) for one in at)


def _log_ticks(low: float, high: float, pixels: float) -> tuple[tuple[float, str], ...]:
    """As many as fit, always with 1."""
    found: list[float] = []
    for tick in (1.0, 0.5, 2.0, 0.1, 10.0, 1.5, 0.7, 0.2, 5.0, 0.3, 3.0, 0.05, 0.02, 0.01):
        apart = [abs(np.log(tick / other)) for other in found]
        if low <= tick <= high and min(apart, default=np.inf) * pixels > 30 * np.log(high / low):
            found.append(tick)
    return tuple((tick, f"{tick:g}") for tick in sorted(found))


# ----------------------------------------------------------------------------------------------------------- layers


@dataclass(frozen=True, slots=True)
class Stroke:
    """How a line is drawn."""

    role: str
    width: float = 1.0
    dash: str = ""
    opacity: float = 1.0
    words: str = ""
    """In the legend"""


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """Through points, one line for each value of `by`."""

    rows: pl.DataFrame
    x: str
    y: str
    stroke: Stroke
    by: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Area:
    """Between two lines."""

    rows: pl.DataFrame
    x: str
    low: str
    high: str
    role: str
    opacity: float


@dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """Straight lines of one look, one per row, from (x, y) to (x2, y2)."""

    rows: pl.DataFrame
    x: str
    y: str
    x2: str
    y2: str
    stroke: Stroke


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """Rectangles, one per row, from (x, y) to (x2, y2)."""

    rows: pl.DataFrame
    x: str
    y: str
    x2: str
    y2: str
    role: str
    opacity: float = 1.0
    tooltip: str = ""
    """Column of text that is shown at a bar"""
    words: str = ""
    """In the legend"""


@dataclass(frozen=True, slots=True, eq=False)
class Marks:
    """Points: one mark for all, or one for each value of the column `kind`."""

    rows: pl.DataFrame
    x: str
    y: str
    marks: Mark | Mapping[str, Mark]
    size: float = 1.0
    tooltip: str = "words"

    def present(self) -> list[Mark]:
        """The marks that occur."""
        if isinstance(self.marks, Mark):
            return [self.marks]
        kinds = set(self.rows["kind"])
        return [one for kind, one in self.marks.items() if kind in kinds]

    def each(self) -> list[Mark]:
        """The mark of every row."""
        if isinstance(self.marks, Mark):
            return [self.marks] * self.rows.height
        return [self.marks[kind] for kind in self.rows["kind"]]

    def tooltips(self) -> list[str | None]:
        """The text of every row, where a mouse could find it."""
        known = self.tooltip and self.rows.height <= MAX_TOOLTIPS
        return self.rows[self.tooltip].to_list() if known else [None] * self.rows.height


MAX_TOOLTIPS = 1000
"""Up to this many points have tooltips in an SVG; a mouse could not find one among more."""


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """Words at points, with a halo in the colour of the paper so that lines do not cross them."""

    rows: pl.DataFrame
    x: str
    y: str
    words: str
    role: str = "ink"
    dx: float = 0.0
    dy: float = 0.0
    align: Align = "left"
    cut: bool = False
    """At the right of the frame"""


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """Names of points, in the order of their importance, where there is room."""

    rows: pl.DataFrame
    x: str
    y: str
    name: str = "rater"
    clear: pl.DataFrame | None = None
    """Points that names must not cover; by default all marks of the panel"""


@dataclass(frozen=True, slots=True)
class Overlay:
    """A group that scripts of a page draw in; it tells them which numbers the corners of the frame stand for."""

    markup: str


Layer = Line | Area | Segments | Bars | Marks | Text | Names | Overlay


def known(rows: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """The rows in which these numbers are known."""
    return rows.filter(pl.all_horizontal(pl.col(name).cast(pl.Float64).is_finite() for name in columns))


def rule(axes: tuple[Axis, Axis], stroke: Stroke, *, x: float | None = None, y: float | None = None) -> Line:
    """A line across the whole frame, at an x or a y."""
    across, up = axes
    xs = (across.low, across.high) if x is None else (x, x)
    ys = (up.low, up.high) if y is None else (y, y)
    return Line(pl.DataFrame({"x": xs, "y": ys}, schema={"x": pl.Float64, "y": pl.Float64}), "x", "y", stroke)


LIMIT = Stroke("ink", dash="4 3", opacity=0.75)
"""A line that separates good from bad."""

ROLES = ("accent", "severe", "extreme", "weak", "lenient", "ink")
_DASHES = ("", "7 3", "2 2", "8 3 2 3", "12 3", "4 6")


def strokes(names: Sequence[str], width: float = 2.4) -> list[Stroke]:
    """Lines that differ in colour or dash, the first six in both."""
    n = len(ROLES)
    return [
        Stroke(ROLES[place % n], width, _DASHES[(place + place // n) % n], words=name)
        for place, name in enumerate(names)
    ]
