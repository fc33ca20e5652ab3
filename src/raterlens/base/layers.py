"""Parts of pictures: axes, frames, and layers of data drawn along the axes, each with its SVG.

A layer is a table with the names of its columns; rows with a number missing are left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from markupsafe import escape
from numpy.typing import ArrayLike

from raterlens.base.arrays import Array
from raterlens.base.style import TYPE, Align, Mark, cut, place_labels, text_box, text_width

Sizes = tuple[float, float]
"""One for wide pictures, one for narrow ones."""
Ticks = tuple[tuple[float, str], ...]
"""Places on an axis with their labels."""

NARROW = 480
"""Pictures of fewer pixels are drawn for a phone."""
APART = 40
"""Pixels between the numbers of an axis."""
_LONGEST_NAME = 0.34
"""Largest share of the width for the names of rows."""
ROTATED = 90.0
"""Pixels, at most, of a label that is turned."""
MAX_TOOLTIPS = 1000
"""Up to this many points have tooltips in an SVG; a mouse could not find one among more."""


# ------------------------------------------------------------------------------------------------------------- axes


@dataclass(frozen=True, slots=True)
class Axis:
    """Numbers from one end of the frame to the other."""

    low: float
    high: float
    title: str = ""
    count: Sizes | None = None
    """About how many numbers; by default one per 40 pixels"""
    labels: Ticks | None = None
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

    def titled(self, picture: float) -> str:
        """The title in a picture of this width, between the ends where these have names."""
        gap = "\u00a0" * (4 if picture < NARROW else 12)
        return self.title if self.ends is None else f"{self.ends[0]}{gap}{self.title}{gap}{self.ends[1]}"

    def ticks(self, pixels: float, picture: float) -> Ticks:
        """Places with their labels on an axis of this length, in a picture of this width."""
        if self.labels is not None:
            room = _LONGEST_NAME * picture
            return tuple((at, cut(text, room)) for at, text in self.labels) if self.names else self.labels
        if self.log:
            return _log_ticks(self.low, self.high, pixels)
        count = pixels / APART if self.count is None else self.count[picture < NARROW]
        return round_numbers(self.low, self.high, count, whole=self.whole)

    def rotated(self, pixels: float) -> bool:
        """Whether the labels are too long to stand side by side."""
        labels = self.labels or ()
        return len(labels) > 1 and widest(labels) + 6 > pixels / len(labels)


def around(values: ArrayLike, share: float) -> tuple[float, float]:
    """Ends of an axis with this share of the distance beyond the outermost values, so that points there are whole."""
    known = np.asarray(values, np.float64)
    known = known[np.isfinite(known)]
    low, high = (float(known.min()), float(known.max())) if known.size else (-1.0, 1.0)
    beyond = share * (high - low or 1.0)
    return low - beyond, high + beyond


def widest(labels: Ticks) -> float:
    """Pixels of the longest label."""
    return max((text_width(text, TYPE) for _, text in labels), default=0.0)


def round_numbers(low: float, high: float, count: float, *, whole: bool = False) -> Ticks:
    """About `count` round numbers with their text.

    Examples
    --------
    >>> [label for _, label in round_numbers(-1, 1, 4)]
    ['−1.0', '−0.5', '0.0', '0.5', '1.0']
    """
    power = 10 ** np.floor(np.log10((high - low) / count))
    leading = (high - low) / count / power
    step = power * (1, 2, 5, 10)[np.searchsorted((2**0.5, 10**0.5, 50**0.5), leading, side="right")]
    step = max(step, 1) if whole else step
    digits = max(0, -int(np.floor(np.log10(step))))
    at = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1) * step
    return tuple((float(one), f"{one + 0.0:,.{digits}f}".replace("-", "−")) for one in at)


def _log_ticks(low: float, high: float, pixels: float) -> Ticks:
    """As many as fit, always with 1."""
    found: list[float] = []
    for tick in (1.0, 0.5, 2.0, 0.1, 10.0, 1.5, 0.7, 0.2, 5.0, 0.3, 3.0, 0.05, 0.02, 0.01):
        apart = [abs(np.log(tick / other)) for other in found]
        if low <= tick <= high and min(apart, default=np.inf) * pixels > 30 * np.log(high / low):
            found.append(tick)
    return tuple((tick, f"{tick:g}") for tick in sorted(found))


# ----------------------------------------------------------------------------------------------------------- frames


class Frame(NamedTuple):
    """A panel at its place in the picture, in pixels."""

    layers: tuple["Layer", ...]
    x: Axis
    y: Axis
    left: float
    top: float
    width: float
    height: float
    outer: float
    """Width of the picture"""
    margin: float
    """Pixels left of it for the labels and title of its vertical axis; 0 where a frame on its left has them"""

    @property
    def labelled(self) -> bool:
        """Whether it has the labels of the vertical axis."""
        return self.margin > 0

    def xs(self, values: ArrayLike) -> Array:
        """From the left of the frame."""
        return self.width * self.x.share(values)

    def ys(self, values: ArrayLike) -> Array:
        """From the top of the frame."""
        return self.height * (1 - self.y.share(values))

    def points(self, rows: pl.DataFrame, x: str, y: str) -> Array:
        """(rows, 2) where points are."""
        return np.column_stack([self.xs(rows[x]), self.ys(rows[y])])

    def x_ticks(self) -> Ticks:
        return self.x.ticks(self.width, self.outer)

    def y_ticks(self) -> Ticks:
        return self.y.ticks(self.height, self.outer)

    def below(self) -> float:
        """Height of the labels and title of the horizontal axis."""
        ticks = self.x_ticks()
        turned = 14 + 0.6 * min(ROTATED, widest(ticks))
        labels = turned if self.x.rotated(self.width) else 20 if ticks else 2
        return labels + 18 * bool(self.x.title)


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

    def look(self) -> str:
        """As attributes of an element."""
        look = f'fill="none" stroke="var(--{self.role})"'
        look += f' stroke-dasharray="{self.dash}"' if self.dash else ""
        look += f' stroke-width="{self.width:.3g}"' if self.width != 1.0 else ""
        look += ' stroke-linecap="round"' if self.width >= 3 else ""
        return look if self.opacity == 1.0 else f'{look} opacity="{self.opacity:g}"'


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """Rows of a table, drawn at the columns `x` and `y`."""

    rows: pl.DataFrame
    x: str
    y: str

    def entries(self) -> "Sequence[Mark | Stroke | Bars]":
        """Entries of the legend, as far as they have words."""
        return ()

    def svg(self, frame: Frame) -> str:
        """Its elements."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, eq=False)
class Line(Layer):
    """Through points, one line for each value of `by`."""

    stroke: Stroke
    by: str = ""

    def entries(self) -> Sequence[Stroke]:
        return [self.stroke] if self.rows.height else []

    def svg(self, frame: Frame) -> str:
        rows, words = known(self.rows, self.x, self.y), self.stroke.words or None
        parts = rows.group_by(self.by, maintain_order=True) if self.by else [((words,), rows)]
        return "".join(
            f'<path {self.stroke.look()} d="{_path(frame.points(part, self.x, self.y))}"'
            f"{_title(name if isinstance(name, str) else words)}"
            for (name,), part in parts
            if part.height
        )


@dataclass(frozen=True, slots=True, eq=False)
class Area(Layer):
    """Between two lines, `y` and `high`."""

    high: str
    role: str
    opacity: float

    def svg(self, frame: Frame) -> str:
        rows = known(self.rows, self.x, self.y, self.high)
        there, back = frame.points(rows, self.x, self.high), frame.points(rows, self.x, self.y)[::-1]
        return f'<path {_fill(self)} d="{_path(np.vstack([there, back]))}Z"/>' if rows.height else ""


@dataclass(frozen=True, slots=True, eq=False)
class _Spans(Layer):
    """From (x, y) to (x2, y2), row by row."""

    x2: str
    y2: str

    def corners(self, frame: Frame) -> tuple[pl.DataFrame, list[list[float]]]:
        """The rows that are known, with where they begin and end."""
        rows = known(self.rows, self.x, self.y, self.x2, self.y2)
        ends = [frame.points(rows, self.x, self.y), frame.points(rows, self.x2, self.y2)]
        return rows, np.hstack(ends).tolist()


@dataclass(frozen=True, slots=True, eq=False)
class Segments(_Spans):
    """Straight lines of one look, one per row."""

    stroke: Stroke

    def entries(self) -> Sequence[Stroke]:
        return [self.stroke] if self.rows.height else []

    def svg(self, frame: Frame) -> str:
        d = "".join(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for a, b, c, d in self.corners(frame)[1])
        return f'<path {self.stroke.look()} d="{d}"/>' if d else ""


@dataclass(frozen=True, slots=True, eq=False)
class Bars(_Spans):
    """Rectangles, one per row."""

    role: str
    opacity: float = 1.0
    tooltip: str = ""
    """Column of text that is shown at a bar"""
    words: str = ""
    """In the legend"""

    def entries(self) -> "Sequence[Bars]":
        return [self]

    def svg(self, frame: Frame) -> str:
        rows, corners = self.corners(frame)
        said = rows[self.tooltip].to_list() if self.tooltip else [None] * rows.height
        return "".join(
            f'<path {_fill(self)} d="M{a:.1f} {b:.1f}H{c:.1f}V{d:.1f}H{a:.1f}Z"{_title(one)}'
            for (a, b, c, d), one in zip(corners, said, strict=True)
        )


@dataclass(frozen=True, slots=True, eq=False)
class Marks(Layer):
    """Points: one mark for all, or one for each value of the column `kind`."""

    marks: Mark | Mapping[str, Mark]
    size: float = 1.0
    tooltip: str = "words"

    def entries(self) -> Sequence[Mark]:
        """The marks that occur."""
        if isinstance(self.marks, Mark):
            return [self.marks]
        kinds = set(self.rows["kind"])
        return [one for kind, one in self.marks.items() if kind in kinds]

    def svg(self, frame: Frame) -> str:
        one, rows = self.marks, self.rows
        each = [one] * rows.height if isinstance(one, Mark) else [one[kind] for kind in rows["kind"]]
        told = self.tooltip and rows.height <= MAX_TOOLTIPS
        said = rows[self.tooltip].to_list() if told else [None] * rows.height
        points = frame.points(rows, self.x, self.y).tolist()
        return "".join(
            mark_at(mark, x, y, self.size, words)
            for mark, (x, y), words in zip(each, points, said, strict=True)
            if x + y == x + y  # not NaN
        )


@dataclass(frozen=True, slots=True, eq=False)
class Text(Layer):
    """Words at points, with a halo in the colour of the paper so that lines do not cross them."""

    words: str
    role: str = "ink"
    dx: float = 0.0
    dy: float = 0.0
    align: Align = "left"
    cut: bool = False
    """At the right of the frame"""

    def svg(self, frame: Frame) -> str:
        points = frame.points(self.rows, self.x, self.y).tolist()
        shown = (
            (x, y, cut(words, frame.width - x - self.dx) if self.cut else words)
            for (x, y), words in zip(points, self.rows[self.words], strict=True)
        )
        return "".join(text_at(x + self.dx, y + self.dy, text, self.role, self.align) for x, y, text in shown)


_LABELS = {"point": pl.Int64, "text": pl.String, "dx": pl.Float64, "dy": pl.Float64, "align": pl.String}


@dataclass(frozen=True, slots=True, eq=False)
class Names(Layer):
    """Names of points, in the order of their importance, where there is room."""

    name: str = "rater"
    clear: pl.DataFrame | None = None
    """Points that names must not cover; by default all marks of the panel"""

    def placed(self, frame: Frame) -> pl.DataFrame:
        """The rows whose name finds room, with text, dx, dy and align."""
        rows, size = known(self.rows, self.x, self.y), (frame.width, frame.height)
        clear = [(one.rows, one.x, one.y) for one in frame.layers if isinstance(one, Marks)]
        clear = clear if self.clear is None else [(self.clear, self.x, self.y)]
        marks = np.vstack([frame.points(known(table, x, y), x, y) for table, x, y in clear])
        taken = [
            text_box(x + layer.dx, y + layer.dy, words, layer.align)
            for layer in frame.layers
            if isinstance(layer, Text)
            for (x, y), words in zip(
                frame.points(layer.rows, layer.x, layer.y), layer.rows[layer.words], strict=True
            )
        ]
        points = frame.points(rows, self.x, self.y)
        labels = place_labels(rows[self.name].to_list(), points, marks, size, taken)
        placed = pl.DataFrame(labels, _LABELS, orient="row")
        return rows[placed["point"]].hstack(placed.drop("point"))

    def svg(self, frame: Frame) -> str:
        placed = self.placed(frame)
        points = frame.points(placed, self.x, self.y).tolist()
        labels = placed.select("text", "dx", "dy", "align").iter_rows()
        return "".join(
            text_at(x + dx, y + dy, text, "ink", align)
            for (x, y), (text, dx, dy, align) in zip(points, labels, strict=True)
        )


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


# --------------------------------------------------------------------------------------------------------- elements

_ANCHORS = {"left": "start", "center": "middle", "right": "end"}
_HALO = 'stroke="var(--paper)" stroke-width="3" stroke-linejoin="round" paint-order="stroke"'


def text_at(x: float, y: float, words: str, role: str, align: str) -> str:
    """Words with a halo."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{_ANCHORS[align]}" fill="var(--{role})" {_HALO}>'
        f"{escape(words)}</text>"
    )


def mark_at(mark: Mark, x: float, y: float, size: float, words: str | None) -> str:
    """A mark with its tooltip."""
    inside = "paper" if mark.hollow else mark.role
    if mark.shape == "circle" and not mark.hollow:
        look = f'cx="{x:.1f}" cy="{y:.1f}" r="{5 * size:.3g}" fill="var(--{inside})"'
        return f"<circle {look}{_title(words, 'circle')}"
    place = f"translate({x:.1f} {y:.1f}){'' if size == 1.0 else f' scale({size:g})'}"
    look = f'd="{mark.path}" transform="{place}" fill="var(--{inside})" stroke="var(--{mark.role})"'
    return f"<path {look}{_title(words)}"


def symbol_at(key: Mark | Stroke | Bars, x: float, y: float) -> str:
    """The sign of a legend's entry."""
    if isinstance(key, Mark):
        return mark_at(key, x + 5, y, 1.0, None)
    if isinstance(key, Stroke):
        return f'<path {key.look()} d="M{x:.1f} {y:g}h26"/>'
    return f'<path {_fill(key)} d="M{x:.1f} {y - 5:g}h10v10h-10z"/>'


def _path(points: Array) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points.tolist())


def _fill(of: Area | Bars) -> str:
    return f'fill="var(--{of.role})" fill-opacity="{of.opacity:g}"'


def _title(said: str | None, element: str = "path") -> str:
    """The end of an element, with its tooltip."""
    return "/>" if said is None else f"><title>{escape(said)}</title></{element}>"
