"""Plots as SVG: a frame with axes and a legend, and lines, areas, marks and names in it.

Colours are the custom properties of the page, so a plot follows its light and dark; there is no script and no inline
style, and labels from data are escaped text.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import ArrayLike

from raterlens.base.arrays import Array
from raterlens.pictures.label_placement import TYPE, legend_columns, text_width
from raterlens.pictures.style import MARKS, Mark

PADDING, TICK, LABEL, TITLE = 6, 5, TYPE, 12
"""In pixels: around the plot, of a tick, and the sizes of type."""
_LEGEND_LINE, _SYMBOL = 16, 16
_ANCHORS = {"left": "start", "center": "middle", "right": "end"}


class Axis(NamedTuple):
    """Values from one end of the frame to the other, with labels at some of them."""

    low: float
    high: float
    title: str = ""
    labels: Sequence[tuple[float, str]] = ()
    grid: bool = False
    ticks: bool = True
    """Names of rows have none."""

    def share(self, values: ArrayLike) -> Array:
        """How far along the axis, from 0 to 1."""
        return np.asarray((np.asarray(values, np.float64) - self.low) / (self.high - self.low))


def scale(
    low: float, high: float, title: str, count: float, *, grid: bool = False, whole: bool = False
) -> Axis:
    """An axis with about `count` round numbers.

    Examples
    --------
    >>> [label for _, label in scale(-1, 1, "θ", 4).labels]
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
    labels = [(float(one), f"{one + 0.0:,.{digits}f}".replace("-", "−")) for one in at]
    return Axis(low, high, title, labels, grid)


@dataclass(slots=True, eq=False)
class Plot:
    """A drawing of a given width over all, whose frame has a given height."""

    outer: float
    height: float
    x: Axis
    y: Axis
    legend: Sequence[Mark] = ()
    right: float = 0.0
    above: float = 0.0
    """Room that text takes beyond the frame, to its right and above it."""
    left: float = field(init=False)
    top: float = field(init=False)
    width: float = field(init=False)
    """Where the frame starts, and its width."""
    _columns: int = field(init=False)
    _parts: list[str] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        widest = max((text_width(label, LABEL) for _, label in self.y.labels), default=0.0)
        title = TITLE + 8 if self.y.title else 0
        last = text_width(self.x.labels[-1][1], LABEL) / 2 if self.x.labels else 0.0
        fitting = legend_columns([one.words for one in self.legend], int(self.outer))
        self._columns = max(1, min(len(self.legend), fitting))
        self.left = round(PADDING + title + widest + self._beside)
        self.top = PADDING + -(-len(self.legend) // self._columns) * _LEGEND_LINE + 4 + self.above
        self.width = self.outer - self.left - PADDING - round(max(last, self.right))

    @property
    def _beside(self) -> int:
        """From a label of the vertical axis to the frame."""
        return TICK + 2 if self.y.ticks else 8

    def xs(self, values: ArrayLike) -> list[float]:
        """In pixels from the left of the frame."""
        found: list[float] = (self.width * self.x.share(values)).tolist()
        return found

    def ys(self, values: ArrayLike) -> list[float]:
        """In pixels from the top of the frame."""
        found: list[float] = (self.height * (1 - self.y.share(values))).tolist()
        return found

    def line(self, x: ArrayLike, y: ArrayLike, role: str, look: str = "") -> None:
        """Through points; `look` has further attributes of the path."""
        self._parts.append(f'<path fill="none" stroke="var(--{role})" {look} d="{self._path(x, y)}"/>')

    def area(self, x: ArrayLike, low: ArrayLike, high: ArrayLike, role: str, opacity: float) -> None:
        """Between two lines."""
        there, back = self._path(x, high), self._path(np.flip(x), np.flip(low))
        look = f'fill="var(--{role})" fill-opacity="{opacity}"'
        self._parts.append(f'<path {look} d="{there}L{back[1:]}Z"/>')

    def segments(self, starts: Sequence[ArrayLike], ends: Sequence[ArrayLike], role: str, look: str) -> None:
        """Many straight lines of one look, each from (x, y) to (x, y)."""
        (x0, y0), (x1, y1) = ((self.xs(x), self.ys(y)) for x, y in (starts, ends))
        path = "".join(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for a, b, c, d in zip(x0, y0, x1, y1, strict=True))
        if path:
            self._parts.append(f'<path fill="none" stroke="var(--{role})" {look} d="{path}"/>')

    def marks(
        self, x: ArrayLike, y: ArrayLike, kinds: Iterable[str], words: Iterable[str | None], size: float = 1.0
    ) -> None:
        """A verdict's mark at each point, with words where there are any."""
        for across, down, kind, said in zip(self.xs(x), self.ys(y), kinds, words, strict=True):
            self._parts.append(_mark(MARKS[kind], across, down, size, said))

    def symbols(
        self, x: ArrayLike, y: ArrayLike, mark: Mark, words: Iterable[str | None], size: float = 1.0
    ) -> None:
        """The same mark at each point."""
        for across, down, said in zip(self.xs(x), self.ys(y), words, strict=True):
            self._parts.append(_mark(mark, across, down, size, said))

    def dots(
        self, x: ArrayLike, y: ArrayLike, role: str, words: Iterable[str | None], radius: float = 3.6
    ) -> None:
        """Plain points of one colour, with words where there are any."""
        for across, down, said in zip(self.xs(x), self.ys(y), words, strict=True):
            told = "" if said is None else f"<title>{escape(said)}</title>"
            self._parts.append(
                f'<circle cx="{across:.1f}" cy="{down:.1f}" r="{radius:g}" fill="var(--{role})">{told}</circle>'
            )

    def text(
        self, x: float, y: float, words: str, role: str, dx: float, dy: float, align: str = "left"
    ) -> None:
        """Words beside a point, outlined so that lines do not cross them."""
        (across,), (down,) = self.xs([x]), self.ys([y])
        place = f'x="{across + dx:.1f}" y="{down + dy:.1f}"'
        outline = 'stroke="var(--paper)" stroke-width="3" stroke-linejoin="round" paint-order="stroke"'
        self._parts.append(
            f'<text {place} text-anchor="{_ANCHORS[align]}" fill="var(--{role})" {outline}>{escape(words)}</text>'
        )

    def overlay(self, marks: str) -> None:
        """A group for scripts to draw in, which says which numbers the corners of the frame stand for."""
        self._parts.append(
            f'<g class="overlay" data-left="{self.x.low}" data-right="{self.x.high}" data-bottom="{self.y.low}" '
            f'data-top="{self.y.high}" data-width="{self.width}" data-height="{self.height}">{marks}</g>'
        )

    def svg(self, description: str) -> Markup:
        """The whole drawing; the description is for those who cannot see it."""
        below = 38 if self.x.title else 20 if self.x.labels else 2
        total = self.top + self.height + below + PADDING
        said = escape(description)
        return Markup(
            f'<svg viewBox="0 0 {self.outer:g} {total:g}" role="img" aria-label="{said}" font-size="{LABEL}">'
            f"<title>{said}</title>{self._legend()}"
            f'<g transform="translate({self.left + 0.5:g} {self.top + 0.5:g})">'
            f"{self._axes()}{''.join(self._parts)}</g></svg>"
        )

    def _path(self, x: ArrayLike, y: ArrayLike) -> str:
        return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(self.xs(x), self.ys(y), strict=True))

    def _axes(self) -> str:
        w, h = self.width, self.height
        at_x = list(zip(self.xs([at for at, _ in self.x.labels]), (t for _, t in self.x.labels), strict=True))
        at_y = list(zip(self.ys([at for at, _ in self.y.labels]), (t for _, t in self.y.labels), strict=True))
        grid = [f"M{x:.1f} 0v{h:g}" for x, _ in at_x if self.x.grid]
        grid += [f"M0 {y:.1f}h{w:g}" for y, _ in at_y if self.y.grid]
        ticks = [f"M0 {h:g}h{w:g}", *(f"M{x:.1f} {h:g}v{TICK}" for x, _ in at_x)]
        if self.y.ticks:
            ticks += [f"M0 0v{h:g}", *(f"M0 {y:.1f}h-{TICK}" for y, _ in at_y)]
        texts = [f'<text x="{x:.1f}" y="{h + 17:g}" text-anchor="middle">{t}</text>' for x, t in at_x]
        role = "soft" if self.y.ticks else "ink"
        texts += [
            f'<text x="-{self._beside}" y="{y + 4:.1f}" text-anchor="end" fill="var(--{role})">{escape(t)}</text>'
            for y, t in at_y
        ]
        names = [(w / 2, h + 36, "", self.x.title)]
        names += [(-h / 2, TITLE - self.left + PADDING - 2, ' transform="rotate(-90)"', self.y.title)]
        titles = [
            f'<text x="{x:g}" y="{y:g}"{turned} text-anchor="middle" font-size="{TITLE}" fill="var(--ink)">'
            f"{escape(title)}</text>"
            for x, y, turned, title in names
            if title
        ]
        return (
            f'<path fill="none" stroke="var(--line)" d="M0 0h{w:g}v{h:g}h-{w:g}Z{"".join(grid)}"/>'
            f'<path fill="none" stroke="var(--faint)" d="{"".join(ticks)}"/>'
            f'<g fill="var(--soft)">{"".join(texts)}{"".join(titles)}</g>'
        )

    def _legend(self) -> str:
        columns, out = self._columns, []
        x = float(self.left)
        for column in range(columns if self.legend else 0):
            own = self.legend[column::columns]
            for line, one in enumerate(own):
                y = PADDING + line * _LEGEND_LINE + 5
                out.append(_mark(one, x + 5, y, 1.0, None))
                out.append(f'<text x="{x + _SYMBOL:.1f}" y="{y + 4:g}" fill="var(--soft)">{one.words}</text>')
            x += _SYMBOL + max(text_width(one.words, LABEL) for one in own) + 14
        return "".join(out)


def _mark(mark: Mark, x: float, y: float, size: float, said: str | None) -> str:
    inside = "paper" if mark.name == "unsure" else mark.role
    place = f"translate({x:.1f} {y:.1f}){'' if size == 1.0 else f' scale({size})'}"
    look = f'd="{mark.path}" transform="{place}" fill="var(--{inside})" stroke="var(--{mark.role})"'
    return f"<path {look}/>" if said is None else f"<path {look}><title>{escape(said)}</title></path>"


def cut(name: str, room: float) -> str:
    """As much of a name as there is room for, in pixels.

    Examples
    --------
    >>> cut("AM:Sport", 80), cut("AM:Sport", 40)
    ('AM:Sport', 'AM:…')
    """
    if text_width(name, LABEL) <= room:
        return name
    name = name[: int(room / 4)]
    while text_width(f"{name}…", LABEL) > room:
        name = name[:-1]
    return f"{name}…"
