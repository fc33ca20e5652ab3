"""Every colour once, by its role, and one mark per kind of verdict.

Charts are drawn in the light colours; files and pages replace each by its role (files.py), so a chart follows the page
around it. Colours after Okabe and Ito (2008), adjusted for contrast with the paper: 4.5 to 1 for text, 3 to 1 for marks
(tests/pictures/test_style.py measures it).
"""

from typing import Literal, NamedTuple

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
"""No two roles share a light colour, so it identifies the role."""

ROLE_OF = {colour.light: role for role, colour in PALETTE.items()}

CAPABLE = 0.7
"""The line in charts of kappa. No verdict rests on it."""

TEXT_ROLES = ("ink", "soft")
MARK_ROLES = ("faint", "accent", "severe", "lenient", "weak", "extreme", "halo")


def light(role: str) -> str:
    """The colour in which charts are drawn."""
    return PALETTE[role].light


def css() -> str:
    """The palette as custom properties (`--ink`, `--accent` and so on), light or dark like the reader's system; always
    light in print.

    Examples
    --------
    >>> css().splitlines()[0][:24]
    ':root { --paper: #ffffff'
    """
    return (
        f":root {{ {_properties('light')} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {_properties('dark')} }} }}\n"
    )


def _properties(theme: Theme) -> str:
    return "; ".join(f"--{role}: {getattr(colour, theme)}" for role, colour in PALETTE.items())


class Mark(NamedTuple):
    """How a verdict is drawn, in charts and beside text."""

    name: str
    """Class in a style sheet."""
    role: str
    """Its colour in the palette."""
    path: str
    """Outline around the origin, about 10 units across."""
    shape: str
    """The same in Vega's terms."""
    words: str
    """In a legend."""


_CIRCLE = "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z"

_CROSS = "M-5-2.2-2.2-5 0-2.8 2.2-5 5-2.2 2.8 0 5 2.2 2.2 5 0 2.8-2.2 5-5 2.2-2.8 0z"
_ARROW = "M-4.5-5.5 5.5 0-4.5 5.5z"
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
        Mark("halo", "halo", "M-2.9-5h5.8L5.8 0 2.9 5h-5.8L-5.8 0z", "M-.5-.87h1L1 0 .5.87h-1L-1 0z", "halo"),
        Mark("blind", "ink", _CROSS, _SALTIRE, "cannot tell students apart"),
        Mark("extreme", "extreme", _PLUS, "cross", "reversed"),
        Mark("drift", "severe", _ARROW, "triangle-right", "drift alarm"),
        Mark("unsure", "faint", _CIRCLE, "circle", "too few ratings to say"),
    )
}

_BY_LABEL = {one.words: one for one in MARKS.values()}
_BY_LABEL |= dict.fromkeys(("sharp", "fair or sharp", "fair", "probably fair"), MARKS["capable"])
_BY_LABEL |= {"random": MARKS["blind"], "alternating": MARKS["blind"], "cannot be compared": MARKS["unsure"]}


def mark(label: str) -> Mark:
    """The mark of a verdict's label.

    Examples
    --------
    >>> mark("too severe").name, mark("fair").name
    ('severe', 'capable')
    """
    return _BY_LABEL[label]
