"""Pictures as plain records: panels of layers; where everything stands at a given width; and their SVG.

A picture is made once from plot data and knows no width: `Picture.svg(width)` draws it for a page or a file,
pictures/altair_chart.py turns it into an Altair chart.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import singledispatch
from itertools import compress
from typing import NamedTuple

import numpy as np
import polars as pl
from markupsafe import Markup, escape
from numpy.typing import ArrayLike

from raterlens.base.arrays import Array
from raterlens.base.errors import OptionError
from raterlens.base.layers import (
    Area,
    Axis,
    Bars,
    Layer,
    Line,
    Marks,
    Names,
    Overlay,
    Segments,
    Sizes,
    Stroke,
    Text,
    known,
)
from raterlens.base.style import TYPE, Mark, cut, legend_columns, place_labels, text_box, text_width

DEFAULT_WIDTH, PHONE_WIDTH = 640, 380
"""In pixels; a phone shows the second without scrolling."""
NARROWEST, WIDEST = 280, 2000
_NARROW = 480
"""Pictures of fewer pixels are drawn for a phone."""

PADDING, TICK, TITLE = 6, 5, 12
"""In pixels: around the picture, of a tick, and the size of titles."""
KEY_LINE = 16
_LONGEST_NAME = 0.34
"""Largest share of the width for the names of rows."""
_ROTATED = 90.0
"""Pixels, at most, of a label that is turned."""


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """A frame with two axes and what is drawn in it, from back to front."""

    x: Axis
    y: Axis
    layers: tuple[Layer, ...]
    title: str = ""
    share: Sizes = (1.0, 1.0)
    """Share of the width of all columns of panels"""


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """Panels in rows and columns, with a legend of what is drawn in them."""

    panels: tuple[Panel, ...]
    description: str
    """For those who cannot see it"""
    height: Sizes
    """Height of a frame, in pixels"""
    columns: tuple[int, int] = (1, 1)
    right: float = 0.0
    """Pixels that text takes beyond the frame"""
    same_unit: bool = False
    """Distances are the same along both axes"""

    def svg(self, width: float) -> Markup:
        """The picture as markup for a page, this many pixels wide.

        Colours are the custom properties of the page, so a picture follows its light and dark; there is no script and
        no inline style, and labels from data are escaped text.
        """
        return _svg(self, width)

    def legend(self) -> list[Mark | Stroke | Bars]:
        """Marks that need an explanation, once each."""
        found: dict[str, Mark | Stroke | Bars] = {}
        for layer in (layer for panel in self.panels for layer in panel.layers):
            keys: list[Mark | Stroke | Bars] = []
            if isinstance(layer, Marks):
                keys = list(layer.present())
            elif isinstance(layer, Line | Segments):
                keys = [layer.stroke] if layer.rows.height else []
            elif isinstance(layer, Bars):
                keys = [layer]
            for key in keys:
                if key.words:
                    found.setdefault(key.words, key)
        return list(found.values())


def plot(
    x: Axis, y: Axis, layers: list[Layer], description: str, height: float | Sizes, *, right: float = 0.0
) -> Picture:
    """A picture of one panel."""
    heights = height if isinstance(height, tuple) else (height, height)
    return Picture((Panel(x, y, tuple(layers)),), description, heights, right=right)


def check_width(width: int) -> int:
    """Raise if a picture of this width would not be readable."""
    if not NARROWEST <= width <= WIDEST:
        remedy = f"give pixels from {NARROWEST} to {WIDEST:,}, {PHONE_WIDTH} for a phone"
        raise OptionError(f"width is {width}", remedy, value=width, option="width")
    return int(width)


# ------------------------------------------------------------------------------------------------- rows of intervals

ROW = 18
"""Pixels per row."""


def interval_rows(
    rows: pl.DataFrame,
    columns: tuple[str, str, str, str],
    marks: Mark | Mapping[str, Mark],
    x: Axis,
    description: str,
) -> Picture:
    """A line per row with a mark at a value and its interval; `columns` are name, value, and the interval's ends."""
    name, value, low, high = columns
    n = rows.height
    rows = rows.with_columns(row=pl.int_range(n) + 0.5)
    y = Axis(n, 0.0, labels=tuple(rows.select("row", name).iter_rows()), names=True)
    layers: list[Layer] = []
    point = Marks(rows, value, "row", marks, tooltip="words" if "words" in rows.columns else "")
    sure = known(rows, low, high)
    for mark in point.present():
        own = sure if isinstance(marks, Mark) else sure.filter(kind=mark.name)
        layers.append(Segments(own, low, "row", high, "row", Stroke(mark.role, 3.0, opacity=0.45)))
    return plot(x, y, [*layers, point], description, max(60, ROW * n))


# ------------------------------------------------------------------------------------------------------------ layout


class Frame(NamedTuple):
    """A panel at its place in the picture, in pixels."""

    panel: Panel
    x: Axis
    y: Axis
    left: float
    top: float
    width: float
    height: float
    outer: float
    margin: float
    """Pixels left of it for the labels and title of its vertical axis; 0 where a frame on its left has them"""

    @property
    def narrow(self) -> bool:
        return self.outer < _NARROW

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

    def x_ticks(self) -> tuple[tuple[float, str], ...]:
        return self.x.ticks(self.width, self.narrow)

    def y_ticks(self) -> tuple[tuple[float, str], ...]:
        return _y_ticks(self.y, self.height, self.outer)

    def rotated(self) -> bool:
        """Whether the labels of the horizontal axis are too long to stand side by side."""
        return _rotated(self.x, self.width)

    def below(self) -> float:
        """Height of the labels and title of the horizontal axis."""
        ticks = self.x_ticks()
        turned = 14 + 0.6 * min(_ROTATED, _widest(ticks))
        labels = turned if self.rotated() else 20 if ticks else 2
        return labels + 18 * bool(self.x.title)

    def names(self, layer: Names) -> pl.DataFrame:
        """The rows whose name finds room, with text, dx, dy and align."""
        rows = known(layer.rows, layer.x, layer.y)
        clear = [layer.clear.select(layer.x, layer.y)] if layer.clear is not None else []
        taken = []
        for other in self.panel.layers:
            if isinstance(other, Marks) and layer.clear is None:
                clear.append(
                    other.rows.select(pl.col(other.x).alias(layer.x), pl.col(other.y).alias(layer.y))
                )
            if isinstance(other, Text):
                taken += [
                    text_box(x + other.dx, y + other.dy, words, other.align)
                    for x, y, words in zip(
                        self.xs(other.rows[other.x]),
                        self.ys(other.rows[other.y]),
                        other.rows[other.words],
                        strict=True,
                    )
                ]
        marks = self._points(pl.concat(clear, how="vertical_relaxed"), layer)
        placed = place_labels(
            rows[layer.name].to_list(), self._points(rows, layer), marks, (self.width, self.height), taken
        )
        return rows[[label.point for label in placed]].with_columns(
            pl.Series("text", [label.text for label in placed], dtype=pl.String),
            pl.Series("dx", [label.dx for label in placed], dtype=pl.Float64),
            pl.Series("dy", [label.dy for label in placed], dtype=pl.Float64),
            pl.Series("align", [label.align for label in placed], dtype=pl.String),
        )

    def _points(self, rows: pl.DataFrame, layer: Names) -> Array:
        at = known(rows, layer.x, layer.y)
        return np.column_stack([self.xs(at[layer.x]), self.ys(at[layer.y])])


def _rotated(axis: Axis, width: float) -> bool:
    labels = axis.labels or ()
    return len(labels) > 1 and _widest(labels) + 6 > width / len(labels)


def _widest(labels: Iterable[tuple[float, str]]) -> float:
    return max((text_width(text, TYPE) for _, text in labels), default=0.0)


def _reach(axis: Axis, width: float) -> float:
    """Pixels that a turned label takes to the left of its frame."""
    labels = axis.labels or ()
    first = width * float(axis.share(labels[0][0]))
    return 0.82 * min(_ROTATED, text_width(labels[0][1], TYPE)) - first


def _y_ticks(axis: Axis, height: float, outer: float) -> tuple[tuple[float, str], ...]:
    ticks = axis.ticks(height, outer < _NARROW)
    return tuple((at, cut(text, _LONGEST_NAME * outer)) for at, text in ticks) if axis.names else ticks


class Layout(NamedTuple):
    """A picture at one width."""

    frames: list[Frame]
    keys: int
    """Columns of the legend"""
    height: float


def layout(picture: Picture, outer: float) -> Layout:
    """Where everything stands in a picture of this width."""
    narrow = outer < _NARROW
    height, columns = picture.height[narrow], picture.columns[narrow]
    words = [key.words for key in picture.legend()]
    keys = max(1, min(len(words), legend_columns(words, int(outer))))
    every = picture.panels
    labelled = [
        place % columns == 0 or panel.y != every[place - place % columns].y
        for place, panel in enumerate(every)
    ]
    heads = list(compress(every, labelled))
    widest = max((_widest(_y_ticks(panel.y, height, outer)) for panel in heads), default=0.0)
    title = TITLE + 8 if any(panel.y.title for panel in heads) else 0
    left = round(PADDING + title + widest + beside(picture.panels[0].y))
    above = 18 if any(panel.title for panel in picture.panels) else 0
    top: float = PADDING + -(-len(words) // keys) * KEY_LINE + 4 + above
    frames: list[Frame] = []
    for start, panels in _rows(picture.panels, columns):
        total = sum(panel.share[narrow] for panel in panels) * columns / len(panels)
        last = panels[-1].x.ticks(outer, narrow)
        ends = [text_width(text, TYPE) for _, text in (*last[:1], *last[-1:])]
        right = round(max(*(end / 2 for end in ends[1:]), picture.right, 0.0))
        apart, own_width = sum(ends) / 2 + 6, (outer - left - PADDING) / columns - GAP
        if _rotated(panels[-1].x, own_width):  # then labels are turned to the left
            apart, right = _reach(panels[-1].x, own_width) + 6, 0
            left = max(left, round(apart))
        # Labels of neighbouring panels do not touch.
        gap = 0 if columns == 1 else round(max(GAP, apart))
        own = labelled[start : start + len(panels)]
        before = [float(left), *(left if labels else gap for labels in own[1:])]
        room = outer - sum(before) - gap * (columns - len(panels)) - PADDING - right
        at = 0.0
        for panel, space, labels in zip(panels, before, own, strict=True):
            width = room * panel.share[narrow] / total
            x, y = _sized(panel, width, height, picture.same_unit)
            margin = left if labels else 0.0
            frames.append(Frame(panel, x, y, at + space, top, width, height, outer, margin))
            at += space + width
        top += height + max(frame.below() for frame in frames[start:]) + above + 8
    end = max(frame.top + height + frame.below() for frame in frames) + PADDING
    return Layout(frames, keys, end)


GAP = 10
"""Pixels between panels."""


def _rows(panels: tuple[Panel, ...], columns: int) -> Iterator[tuple[int, tuple[Panel, ...]]]:
    for start in range(0, len(panels), columns):
        yield start, panels[start : start + columns]


def _sized(panel: Panel, width: float, height: float, same_unit: bool) -> tuple[Axis, Axis]:
    """The axes as they are in a frame of this size."""
    x, y = panel.x, panel.y
    if x.pixels:
        x = replace(x, low=0.0, high=max(width, x.high))
    if same_unit:
        unit = 1.16 * max((x.high - x.low) / width, (y.high - y.low) / height, 1e-6)
        x, y = (
            replace(
                axis,
                low=(axis.low + axis.high - unit * size) / 2,
                high=(axis.low + axis.high + unit * size) / 2,
            )
            for axis, size in ((x, width), (y, height))
        )
    return x, y


def beside(axis: Axis) -> int:
    """Pixels from a label of the vertical axis to the frame."""
    return 8 if axis.names else TICK + 2


# --------------------------------------------------------------------------------------------------------------- SVG

_ANCHORS = {"left": "start", "center": "middle", "right": "end"}
_HALO = 'stroke="var(--paper)" stroke-width="3" stroke-linejoin="round" paint-order="stroke"'


def _svg(picture: Picture, width: float) -> Markup:
    at = layout(picture, width)
    said = escape(picture.description)
    panels = "".join(_panel(frame) for frame in at.frames)
    return Markup(
        f'<svg viewBox="0 0 {width:g} {at.height:g}" role="img" aria-label="{said}" font-size="{TYPE}">'
        f"<title>{said}</title>{_legend(picture, at)}{panels}</svg>"
    )


def _panel(frame: Frame) -> str:
    parts = [_layer(layer, frame) for layer in frame.panel.layers]
    title = frame.panel.title
    if title:
        parts.append(_text(frame.width / 2, -7, cut(title, frame.width), "ink", "center"))
    return (
        f'<g transform="translate({frame.left + 0.5:g} {frame.top + 0.5:g})">'
        f"{_axes(frame)}{''.join(parts)}</g>"
    )


# ----------------------------------------------------------------------------------------------------- axes, legend


def _axes(frame: Frame) -> str:
    w, h = frame.width, frame.height
    x_ticks, y_ticks = frame.x_ticks(), frame.y_ticks()
    at_x = list(zip(frame.xs([at for at, _ in x_ticks]).tolist(), (text for _, text in x_ticks), strict=True))
    at_y = list(zip(frame.ys([at for at, _ in y_ticks]).tolist(), (text for _, text in y_ticks), strict=True))
    grid = [f"M{x:.1f} 0v{h:g}" for x, _ in at_x if frame.x.grid]
    grid += [f"M0 {y:.1f}h{w:g}" for y, _ in at_y if frame.y.grid]
    ticks = [f"M0 {h:g}h{w:g}", *(f"M{x:.1f} {h:g}v{TICK}" for x, _ in at_x if not frame.x.names)]
    if frame.labelled and not frame.y.names:
        ticks += [f"M0 0v{h:g}", *(f"M0 {y:.1f}h-{TICK}" for y, _ in at_y)]
    texts = _x_labels(frame, at_x)
    if frame.labelled:
        role, gap = "ink" if frame.y.names else "soft", beside(frame.y)
        texts += [
            f'<text x="-{gap}" y="{y + 4:.1f}" text-anchor="end" fill="var(--{role})">{escape(t)}</text>'
            for y, t in at_y
        ]
    return (
        f'<path fill="none" stroke="var(--line)" d="M0 0h{w:g}v{h:g}h-{w:g}Z{"".join(grid)}"/>'
        f'<path fill="none" stroke="var(--faint)" d="{"".join(ticks)}"/>'
        f'<g fill="var(--soft)">{"".join(texts)}{_titles(frame)}</g>'
    )


def _x_labels(frame: Frame, labels: list[tuple[float, str]]) -> list[str]:
    h = frame.height
    if not frame.rotated():
        return [
            f'<text x="{x:.1f}" y="{h + 17:g}" text-anchor="middle">{escape(text)}</text>'
            for x, text in labels
        ]
    return [
        f'<text transform="translate({x + 4:.1f} {h + 14:g}) rotate(-35)" text-anchor="end">'
        f"{escape(cut(text, _ROTATED))}</text>"
        for x, text in labels
    ]


def _titles(frame: Frame) -> str:
    w, h = frame.width, frame.height
    names = [(w / 2, h + frame.below() - 2, "", frame.x.titled(frame.narrow))]
    if frame.labelled:
        turned = ' transform="rotate(-90)"'
        names.append((-h / 2, TITLE - frame.margin + PADDING - 2, turned, frame.y.titled(frame.narrow)))
    return "".join(
        f'<text x="{x:g}" y="{y:g}"{turned} text-anchor="middle" font-size="{TITLE}" fill="var(--ink)">'
        f"{escape(title)}</text>"
        for x, y, turned, title in names
        if title
    )


def _legend(picture: Picture, at: Layout) -> str:
    keys, out = picture.legend(), []
    x = at.frames[0].left
    if at.keys == 1:  # long words have the whole width
        x = min(
            x,
            max(PADDING, at.frames[0].outer - 40 - max((text_width(k.words, TYPE) for k in keys), default=0)),
        )
    for column in range(at.keys if keys else 0):
        own = keys[column :: at.keys]
        symbol = 32 if any(isinstance(key, Stroke) for key in own) else 16
        for line, key in enumerate(own):
            y = PADDING + line * KEY_LINE + 5
            out.append(_symbol(key, x, y))
            out.append(
                f'<text x="{x + symbol:.1f}" y="{y + 4:g}" fill="var(--soft)">{escape(key.words)}</text>'
            )
        x += symbol + max(text_width(key.words, TYPE) for key in own) + 14
    return "".join(out)


def _symbol(key: Mark | Stroke | Bars, x: float, y: float) -> str:
    if isinstance(key, Mark):
        return _mark(key, x + 5, y, 1.0, None)
    if isinstance(key, Stroke):
        return f'<path {_look(key)} d="M{x:.1f} {y:g}h26"/>'
    return f'<path {_fill(key.role, key.opacity)} d="M{x:.1f} {y - 5:g}h10v10h-10z"/>'


# ------------------------------------------------------------------------------------------------------------ layers


@singledispatch
def _layer(layer: Layer, frame: Frame) -> str:
    """A layer's elements."""
    raise NotImplementedError


@_layer.register
def _line(layer: Line, frame: Frame) -> str:
    rows = known(layer.rows, layer.x, layer.y)
    if not layer.by:
        return _curve(frame, layer, rows)
    return "".join(
        _curve(frame, layer, part, name if isinstance(name, str) else "")
        for (name,), part in rows.group_by(layer.by, maintain_order=True)
    )


def _curve(frame: Frame, layer: Line, rows: pl.DataFrame, name: str = "") -> str:
    if not rows.height:
        return ""
    d = _path(frame.xs(rows[layer.x]), frame.ys(rows[layer.y]))
    said = _title(name or layer.stroke.words or None)
    return f'<path {_look(layer.stroke)} d="{d}"{said}'


@_layer.register
def _area(layer: Area, frame: Frame) -> str:
    rows = known(layer.rows, layer.x, layer.low, layer.high)
    if not rows.height:
        return ""
    x = frame.xs(rows[layer.x])
    there, back = _path(x, frame.ys(rows[layer.high])), _path(x[::-1], frame.ys(rows[layer.low])[::-1])
    return f'<path {_fill(layer.role, layer.opacity)} d="{there}L{back[1:]}Z"/>'


@_layer.register
def _segments(layer: Segments, frame: Frame) -> str:
    d = "".join(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for a, b, c, d in _corners(frame, layer))
    return f'<path {_look(layer.stroke)} d="{d}"/>' if d else ""


@_layer.register
def _bars(layer: Bars, frame: Frame) -> str:
    rows = known(layer.rows, layer.x, layer.y, layer.x2, layer.y2)
    said = rows[layer.tooltip].to_list() if layer.tooltip else [None] * rows.height
    return "".join(
        f'<path {_fill(layer.role, layer.opacity)} d="M{a:.1f} {b:.1f}H{c:.1f}V{d:.1f}H{a:.1f}Z"{_title(one)}'
        for (a, b, c, d), one in zip(_corners(frame, layer), said, strict=True)
    )


def _corners(frame: Frame, layer: Segments | Bars) -> list[tuple[float, float, float, float]]:
    rows = known(layer.rows, layer.x, layer.y, layer.x2, layer.y2)
    ends = (
        frame.xs(rows[layer.x]),
        frame.ys(rows[layer.y]),
        frame.xs(rows[layer.x2]),
        frame.ys(rows[layer.y2]),
    )
    return list(zip(*(end.tolist() for end in ends), strict=True))


@_layer.register
def _marks(layer: Marks, frame: Frame) -> str:
    x, y = frame.xs(layer.rows[layer.x]).tolist(), frame.ys(layer.rows[layer.y]).tolist()
    each = zip(layer.each(), x, y, layer.tooltips(), strict=True)
    return "".join(
        _mark(mark, across, down, layer.size, said)
        for mark, across, down, said in each
        if across + down == across + down
    )


def _mark(mark: Mark, x: float, y: float, size: float, said: str | None) -> str:
    inside = "paper" if mark.hollow else mark.role
    if mark.shape == "circle" and not mark.hollow:
        look = f'cx="{x:.1f}" cy="{y:.1f}" r="{5 * size:.3g}" fill="var(--{inside})"'
        return f"<circle {look}{_title(said, 'circle')}"
    place = f"translate({x:.1f} {y:.1f}){'' if size == 1.0 else f' scale({size:g})'}"
    look = f'd="{mark.path}" transform="{place}" fill="var(--{inside})" stroke="var(--{mark.role})"'
    return f"<path {look}{_title(said)}"


@_layer.register
def _words(layer: Text, frame: Frame) -> str:
    x, y = frame.xs(layer.rows[layer.x]).tolist(), frame.ys(layer.rows[layer.y]).tolist()
    out = []
    for across, down, words in zip(x, y, layer.rows[layer.words], strict=True):
        shown = cut(words, frame.width - across - layer.dx) if layer.cut else words
        out.append(_text(across + layer.dx, down + layer.dy, shown, layer.role, layer.align))
    return "".join(out)


@_layer.register
def _names(layer: Names, frame: Frame) -> str:
    placed = frame.names(layer)
    x, y = frame.xs(placed[layer.x]).tolist(), frame.ys(placed[layer.y]).tolist()
    offsets = placed.select("text", "dx", "dy", "align").iter_rows()
    return "".join(
        _text(across + dx, down + dy, text, "ink", align)
        for across, down, (text, dx, dy, align) in zip(x, y, offsets, strict=True)
    )


@_layer.register
def _overlay(layer: Overlay, frame: Frame) -> str:
    x, y = frame.x, frame.y
    return (
        f'<g class="overlay" data-left="{x.low}" data-right="{x.high}" data-bottom="{y.low}" data-top="{y.high}" '
        f'data-width="{frame.width}" data-height="{frame.height}">{layer.markup}</g>'
    )


# ---------------------------------------------------------------------------------------------------------- elements


def _path(x: Array, y: Array) -> str:
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))


def _look(stroke: Stroke) -> str:
    look = f'fill="none" stroke="var(--{stroke.role})"'
    if stroke.dash:
        look += f' stroke-dasharray="{stroke.dash}"'
    if stroke.width != 1.0:
        look += f' stroke-width="{stroke.width:.3g}"'
    if stroke.width >= 3:
        look += ' stroke-linecap="round"'
    return look if stroke.opacity == 1.0 else f'{look} opacity="{stroke.opacity:g}"'


def _fill(role: str, opacity: float) -> str:
    return f'fill="var(--{role})" fill-opacity="{opacity:g}"'


def _text(x: float, y: float, words: str, role: str, align: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{_ANCHORS[align]}" fill="var(--{role})" {_HALO}>'
        f"{escape(words)}</text>"
    )


def _title(said: str | None, element: str = "path") -> str:
    """The end of an element, with its tooltip."""
    return "/>" if said is None else f"><title>{escape(said)}</title></{element}>"
