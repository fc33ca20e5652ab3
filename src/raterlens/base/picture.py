"""Pictures as plain records: panels of layers; where everything stands at a given width; and their SVG.

A picture is made once from plot data and knows no width: `Picture.svg(width)` draws it for a page or a file,
pictures/altair_chart.py turns it into an Altair chart.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import polars as pl
from markupsafe import Markup, escape

from raterlens.base.errors import OptionError
from raterlens.base.layers import (
    NARROW,
    ROTATED,
    Axis,
    Bars,
    Frame,
    Layer,
    Marks,
    Segments,
    Sizes,
    Stroke,
    known,
    symbol_at,
    text_at,
    widest,
)
from raterlens.base.style import TYPE, Mark, cut, legend_columns, text_width

DEFAULT_WIDTH, PHONE_WIDTH = 640, 380
"""In pixels; a phone shows the second without scrolling."""
NARROWEST, WIDEST = 280, 2000

PADDING, TICK, TITLE, KEY_LINE, GAP = 6, 5, 12, 16, 10
"""In pixels: around the picture, of a tick, the size of titles, of a line of the legend, and between panels."""
ROW = 18
"""Pixels per row of a picture that has a row per name."""


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """A frame with two axes and what is drawn in it, from back to front."""

    x: Axis
    y: Axis
    layers: tuple[Layer, ...]
    title: str = ""
    share: Sizes = (1.0, 1.0)
    """Share of the width of all columns of panels"""
    overlay: str = ""
    """Markup that scripts of a page draw in; they are told which numbers the corners of the frame stand for"""


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
        at, said = layout(self, width), escape(self.description)
        panels = "".join(_panel(panel, frame) for panel, frame in zip(self.panels, at.frames, strict=True))
        return Markup(
            f'<svg viewBox="0 0 {width:g} {at.height:g}" role="img" aria-label="{said}" font-size="{TYPE}">'
            f"<title>{said}</title>{_legend(self, at)}{panels}</svg>"
        )

    def legend(self) -> list[Mark | Stroke | Bars]:
        """Marks that need an explanation, once each."""
        found: dict[str, Mark | Stroke | Bars] = {}
        for key in (key for panel in self.panels for layer in panel.layers for key in layer.entries()):
            if key.words:
                found.setdefault(key.words, key)
        return list(found.values())


def plot(
    x: Axis,
    y: Axis,
    layers: list[Layer],
    description: str,
    height: float | Sizes,
    *,
    right: float = 0.0,
    overlay: str = "",
) -> Picture:
    """A picture of one panel."""
    heights = height if isinstance(height, tuple) else (height, height)
    return Picture((Panel(x, y, tuple(layers), overlay=overlay),), description, heights, right=right)


def check_width(width: int) -> int:
    """Raise if a picture of this width would not be readable."""
    if not NARROWEST <= width <= WIDEST:
        remedy = f"give pixels from {NARROWEST} to {WIDEST:,}, {PHONE_WIDTH} for a phone"
        raise OptionError(f"width is {width}", remedy, value=width, option="width")
    return int(width)


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
    point = Marks(rows, value, "row", marks, tooltip="words" if "words" in rows.columns else "")
    return plot(
        x, y, [*intervals(point, (low, "row", high, "row"), 3.0, 0.45), point], description, max(60, ROW * n)
    )


def intervals(points: Marks, ends: tuple[str, str, str, str], width: float, opacity: float) -> list[Layer]:
    """The intervals of points, from (x, y) to (x2, y2), in the colours of their marks."""
    sure = known(points.rows, *ends)
    return [
        Segments(
            sure if isinstance(points.marks, Mark) else sure.filter(kind=mark.name),
            *ends,
            Stroke(mark.role, width, opacity=opacity),
        )
        for mark in points.entries()
    ]


# ------------------------------------------------------------------------------------------------------------ layout


class Layout(NamedTuple):
    """A picture at one width."""

    frames: list[Frame]
    keys: int
    """Columns of the legend"""
    height: float


def layout(picture: Picture, outer: float) -> Layout:
    """Where everything stands in a picture of this width."""
    narrow, panels = outer < NARROW, picture.panels
    height, columns = picture.height[narrow], picture.columns[narrow]
    words = [key.words for key in picture.legend()]
    keys = max(1, min(len(words), legend_columns(words, int(outer))))
    labelled = [
        place % columns == 0 or panel.y != panels[place - place % columns].y
        for place, panel in enumerate(panels)
    ]
    heads = [panel.y for panel, labels in zip(panels, labelled, strict=True) if labels]
    title = TITLE + 8 if any(y.title for y in heads) else 0
    names = max((widest(y.ticks(height, outer)) for y in heads), default=0.0)
    left = round(PADDING + title + names + beside(panels[0].y))
    above = 18 if any(panel.title for panel in panels) else 0
    top: float = PADDING + -(-len(words) // keys) * KEY_LINE + 4 + above
    frames: list[Frame] = []
    for start in range(0, len(panels), columns):
        row, own = panels[start : start + columns], labelled[start : start + columns]
        total = sum(panel.share[narrow] for panel in row) * columns / len(row)
        last = row[-1].x
        ticks = last.ticks(outer, outer)
        ends = [text_width(text, TYPE) for _, text in (*ticks[:1], *ticks[-1:])]
        right = round(max(*(end / 2 for end in ends[1:]), picture.right, 0.0))
        apart, own_width = sum(ends) / 2 + 6, (outer - left - PADDING) / columns - GAP
        if last.rotated(own_width):  # then labels are turned to the left
            first = own_width * float(last.share(ticks[0][0]))
            apart, right = 0.82 * min(ROTATED, ends[0]) - first + 6, 0
            left = max(left, round(apart))
        # Labels of neighbouring panels do not touch.
        gap = 0 if columns == 1 else round(max(GAP, apart))
        before = [float(left), *(left if labels else gap for labels in own[1:])]
        room = outer - sum(before) - gap * (columns - len(row)) - PADDING - right
        at = 0.0
        for panel, space, labels in zip(row, before, own, strict=True):
            width = room * panel.share[narrow] / total
            x, y = _sized(panel, width, height, picture.same_unit)
            margin = left if labels else 0.0
            frames.append(Frame(panel.layers, x, y, at + space, top, width, height, outer, margin))
            at += space + width
        top += height + max(frame.below() for frame in frames[start:]) + above + 8
    end = max(frame.top + height + frame.below() for frame in frames) + PADDING
    return Layout(frames, keys, end)


def _sized(panel: Panel, width: float, height: float, same_unit: bool) -> tuple[Axis, Axis]:
    """The axes as they are in a frame of this size."""
    x, y = panel.x, panel.y
    if x.pixels:
        x = replace(x, low=0.0, high=max(width, x.high))
    if same_unit:
        unit = 1.16 * max((x.high - x.low) / width, (y.high - y.low) / height, 1e-6)
        x, y = (
            replace(axis, low=middle - unit * size / 2, high=middle + unit * size / 2)
            for axis, size in ((x, width), (y, height))
            for middle in ((axis.low + axis.high) / 2,)
        )
    return x, y


def beside(axis: Axis) -> int:
    """Pixels from a label of the vertical axis to the frame."""
    return 8 if axis.names else TICK + 2


# --------------------------------------------------------------------------------------------------------------- SVG


def _panel(panel: Panel, frame: Frame) -> str:
    x, y = frame.x, frame.y
    parts = [layer.svg(frame) for layer in panel.layers]
    if panel.overlay:
        parts.append(
            f'<g class="overlay" data-left="{x.low}" data-right="{x.high}" data-bottom="{y.low}" data-top="{y.high}" '
            f'data-width="{frame.width}" data-height="{frame.height}">{panel.overlay}</g>'
        )
    if panel.title:
        parts.append(text_at(frame.width / 2, -7, cut(panel.title, frame.width), "ink", "center"))
    place = f"translate({frame.left + 0.5:g} {frame.top + 0.5:g})"
    return f'<g transform="{place}">{_axes(frame)}{"".join(parts)}</g>'


def _axes(frame: Frame) -> str:
    """Grid, ticks and labels of both axes."""
    w, h, x, y = frame.width, frame.height, frame.x, frame.y
    at_x = [(float(frame.xs(at)), text) for at, text in frame.x_ticks()]
    at_y = [(float(frame.ys(at)), text) for at, text in frame.y_ticks()]
    grid = [f"M{at:.1f} 0v{h:g}" for at, _ in at_x if x.grid]
    grid += [f"M0 {at:.1f}h{w:g}" for at, _ in at_y if y.grid]
    ticks = [f"M0 {h:g}h{w:g}", *(f"M{at:.1f} {h:g}v{TICK}" for at, _ in at_x)]
    if x.rotated(w):
        texts = [
            f'<text transform="translate({at + 4:.1f} {h + 14:g}) rotate(-35)" text-anchor="end">'
            f"{escape(cut(text, ROTATED))}</text>"
            for at, text in at_x
        ]
    else:
        texts = [
            f'<text x="{at:.1f}" y="{h + 17:g}" text-anchor="middle">{escape(text)}</text>'
            for at, text in at_x
        ]
    titles = [(w / 2, h + frame.below() - 2, "", x.titled(frame.outer))]
    if frame.labelled:
        role, gap = "ink" if y.names else "soft", beside(y)
        if not y.names:
            ticks += [f"M0 0v{h:g}", *(f"M0 {at:.1f}h-{TICK}" for at, _ in at_y)]
        texts += [
            f'<text x="-{gap}" y="{at + 4:.1f}" text-anchor="end" fill="var(--{role})">{escape(text)}</text>'
            for at, text in at_y
        ]
        turned = ' transform="rotate(-90)"'
        titles.append((-h / 2, TITLE - frame.margin + PADDING - 2, turned, y.titled(frame.outer)))
    texts += [
        f'<text x="{across:g}" y="{down:g}"{turned} text-anchor="middle" font-size="{TITLE}" fill="var(--ink)">'
        f"{escape(title)}</text>"
        for across, down, turned, title in titles
        if title
    ]
    return (
        f'<path fill="none" stroke="var(--line)" d="M0 0h{w:g}v{h:g}h-{w:g}Z{"".join(grid)}"/>'
        f'<path fill="none" stroke="var(--faint)" d="{"".join(ticks)}"/>'
        f'<g fill="var(--soft)">{"".join(texts)}</g>'
    )


def _legend(picture: Picture, at: Layout) -> str:
    keys, out = picture.legend(), []
    x, lengths = at.frames[0].left, {key.words: text_width(key.words, TYPE) for key in keys}
    if at.keys == 1 and keys:  # long words have the whole width
        x = min(x, max(PADDING, at.frames[0].outer - 40 - max(lengths.values())))
    for column in range(at.keys if keys else 0):
        own = keys[column :: at.keys]
        symbol = 32 if any(isinstance(key, Stroke) for key in own) else 16
        for line, key in enumerate(own):
            y = PADDING + line * KEY_LINE + 5
            words = f'<text x="{x + symbol:.1f}" y="{y + 4:g}" fill="var(--soft)">{escape(key.words)}</text>'
            out += [symbol_at(key, x, y), words]
        x += symbol + max(lengths[key.words] for key in own) + 14
    return "".join(out)
