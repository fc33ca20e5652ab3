"""The look of every picture: each colour once by its role, one mark per verdict, and where text fits.

Colours are named by role and follow the page around a picture, light or dark; files replace each role by the colour of
a theme (pictures/files.py). Colours after Okabe and Ito (2008), adjusted for contrast with the paper: 4.5 to 1 for
text, 3 to 1 for marks (tests/pictures/test_picture.py measures it).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import cache
from math import inf
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from raterlens.base.arrays import Array

Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")


class Colour(NamedTuple):
    light: str
    dark: str


PALETTE = {
    "paper": Colour("#ffffff", "#15181c"),
    "panel": Colour("#f6f7f9", "#1d2126"),
    "line": Colour("#dfe3e8", "#343a42"),  # grids and frames
    "faint": Colour("#7a8490", "#7d8794"),  # marks that stand back
    "soft": Colour("#56606d", "#a9b2be"),  # axes, captions
    "ink": Colour("#1b1f24", "#e8eaed"),
    "accent": Colour("#0072b2", "#56b4e9"),
    "severe": Colour("#d55e00", "#ff8a3d"),
    "lenient": Colour("#b37f00", "#f0c330"),
    "weak": Colour("#b0508a", "#e29cc4"),
    "extreme": Colour("#00805c", "#33c79b"),
    "halo": Colour("#6f51b5", "#b3a0ee"),
}
TEXT_ROLES = ("ink", "soft")
MARK_ROLES = ("faint", "accent", "severe", "lenient", "weak", "extreme", "halo")


def css() -> str:
    """The palette as custom properties (`--ink`, `--accent` and so on), light or dark like the reader's system; always
    light in print.

    Examples
    --------
    >>> css().splitlines()[0][:24]
    ':root { --paper: #ffffff'
    """
    light, dark = (
        "; ".join(f"--{role}: {getattr(colour, theme)}" for role, colour in PALETTE.items())
        for theme in THEMES
    )
    return f":root {{ {light} }}\n@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"


class Mark(NamedTuple):
    """How a point is drawn, in pictures and beside text."""

    name: str
    """Class in a style sheet"""
    role: str
    """Its colour in the palette"""
    path: str
    """Outline around the origin, about 10 units across"""
    shape: str
    """The same in Vega's terms"""
    words: str
    """In a legend"""
    hollow: bool = False


_CIRCLE = "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z"

_ARROW = "M-4.5-5.5 5.5 0-4.5 5.5z"
_CROSS = "M-5-2.2-2.2-5 0-2.8 2.2-5 5-2.2 2.8 0 5 2.2 2.2 5 0 2.8-2.2 5-5 2.2-2.8 0z"
_PLUS = "M-1.8-5.5h3.6v3.7h3.7v3.6H1.8v3.7h-3.6V1.8h-3.7v-3.6h3.7z"
# The cross again, within 1 of the origin, as Vega wants it.
_SALTIRE = "M-.9-.4-.4-.9 0-.5.4-.9.9-.4.5 0 .9.4.4.9 0 .5-.4.9-.9.4-.5 0z"

MARKS = {
    one.name: one
    for one in (
        Mark("capable", "accent", _CIRCLE, "circle", "sharp or fair"),
        Mark("strict", "severe", "M-5 2.5a5 5 0 0 1 10 0z", "M-1 .5a1 1 0 0 1 2 0z", "severe"),
        Mark("generous", "lenient", "M-5-2.5a5 5 0 0 0 10 0z", "M-1-.5a1 1 0 0 0 2 0z", "lenient"),
        Mark("borderline", "soft", "M0-6 6 0 0 6-6 0z", "diamond", "borderline"),
        Mark("severe", "severe", "M0-5.5 5.5 4.5-5.5 4.5z", "triangle-up", "too severe"),
        Mark("lenient", "lenient", "M0 5.5 5.5-4.5-5.5-4.5z", "triangle-down", "too lenient"),
        Mark("weak", "weak", "M-4.5-4.5h9v9h-9z", "square", "blunt"),
        Mark("drift", "severe", _ARROW, "triangle-right", "drift alarm"),
        Mark("halo", "halo", "M-2.9-5h5.8L5.8 0 2.9 5h-5.8L-5.8 0z", "M-.5-.87h1L1 0 .5.87h-1L-1 0z", "halo"),
        Mark("blind", "ink", _CROSS, _SALTIRE, "cannot tell students apart"),
        Mark("extreme", "extreme", _PLUS, "cross", "reversed"),
        Mark("unsure", "faint", _CIRCLE, "circle", "too few ratings to say", hollow=True),
    )
}

CAPABLE = 0.7
"""The line in charts of kappa. No verdict rests on it."""

SHAPES = ("circle", "triangle-up", "square", "diamond", "triangle-down", "cross")
"""Shapes that are told apart at a glance."""

_PATHS = {one.shape: one.path for one in MARKS.values()}


def mark(shape: str, role: str, words: str = "", *, hollow: bool = False) -> Mark:
    """A mark that is not a verdict's, in one of `SHAPES`."""
    return Mark(words, role, _PATHS[shape], shape, words, hollow)


_BY_LABEL = {one.words: one for one in MARKS.values()}
_BY_LABEL |= dict.fromkeys(("sharp", "fair or sharp", "fair", "probably fair"), MARKS["capable"])
_BY_LABEL |= {"random": MARKS["blind"], "alternating": MARKS["blind"], "cannot be compared": MARKS["unsure"]}


def mark_of_verdict(label: str) -> Mark:
    """The mark of a verdict's label.

    Examples
    --------
    >>> mark_of_verdict("too severe").name, mark_of_verdict("fair").name
    ('severe', 'capable')
    """
    return _BY_LABEL[label]


Align = Literal["left", "center", "right"]

TYPE, LINE, CLEARANCE = 11, 14.0, 8.0
"""In pixels: the size of type, the height of a line, and the room that a mark takes."""

LONGEST = 22
"""Longer names are cut; the tooltip and the table have them in full."""

_NARROW, _WIDE = frozenset(" .,:;'!|()[]/\\-fijlrtI\u00a0"), frozenset("mwMW@%…")
_IDEOGRAPHS = "\u2e80"


Box = tuple[float, float, float, float]
"""Left, top, right and bottom, in pixels."""


class Label(NamedTuple):
    """A name, and its offset in pixels from the point that it names."""

    point: int
    text: str
    dx: float
    dy: float
    align: Align


_SIDES: tuple[tuple[float, float, Align], ...] = (
    (CLEARANCE + 1, LINE / 3, "left"),
    (-CLEARANCE - 1, LINE / 3, "right"),
    (0, -CLEARANCE - 2, "center"),
    (0, CLEARANCE + LINE - 3, "center"),
)


def place_labels(
    names: Sequence[str],
    anchors: "Array",
    marks: "Array",
    size: tuple[float, float],
    taken: Iterable[Box] = (),
) -> list[Label]:
    """Place names in the given order; one without a free side at its point is left out.

    `anchors` (the points to name) and `marks` (all points, to be kept clear) are in pixels from the top left of a plot
    of this size; `taken` are boxes of other text.
    """
    # From left to right, so that a name looks at those near it alone.
    obstacles = sorted(map(tuple, marks.tolist()))
    boxes = list(taken)
    placed = []
    for point, (name, (x, y)) in enumerate(zip(names, anchors.tolist(), strict=True)):
        text = name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"
        for dx, dy, align in _SIDES:
            box = text_box(x + dx, y + dy, text, align)
            if _free(box, boxes, obstacles, size):
                boxes.append(box)
                placed.append(Label(point, text, dx, dy, align))
                break
    return placed


def text_box(x: float, baseline: float, text: str, align: Align) -> Box:
    """The box that a line of text takes."""
    length = text_width(text, TYPE)
    left = {"left": x, "center": x - length / 2, "right": x - length}[align]
    return left, baseline - 0.8 * LINE, left + length, baseline + 0.2 * LINE


def _free(
    box: Box, taken: list[Box], obstacles: Sequence[tuple[float, float]], size: tuple[float, float]
) -> bool:
    """Whether a box is inside the plot and clear of others; `obstacles` are sorted."""
    (left, top, right, bottom), (width, height) = box, size
    if left < 0 or right > width or top < -LINE or bottom > height:
        return False
    near = CLEARANCE / 2
    first, last = bisect_right(obstacles, (left - near, inf)), bisect_left(obstacles, (right + near,))
    above, below = top - near, bottom + near
    for _, y in obstacles[first:last]:
        if above < y < below:
            return False
    return all(right < x0 or left > x1 or bottom < y0 or top > y1 for x0, y0, x1, y1 in taken)


def legend_columns(names: Iterable[str], width: int) -> int:
    """How many entries of a legend fit side by side."""
    longest = max((len(name) for name in names), default=1)
    return max(1, min(6, int((width - 70) / (6.6 * longest + 46))))


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


def cut(text: str, room: float) -> str:
    """As much of a text as there is room for, in pixels.

    Examples
    --------
    >>> cut("AM:Sport", 80), cut("AM:Sport", 40)
    ('AM:Sport', 'AM:…')
    """
    if text_width(text, TYPE) <= room:
        return text
    text = text[: int(room / 4)]
    while text and text_width(f"{text}…", TYPE) > room:
        text = text[:-1]
    return f"{text}…"
