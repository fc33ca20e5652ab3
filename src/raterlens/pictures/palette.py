"""Every colour, once: its role, and its value on light and on dark paper.

Charts are drawn in the light colours; files and pages replace each by its role (output.py), so a chart follows the page
around it. After Okabe and Ito (2008), adjusted for contrast with the paper: 4.5 to 1 for text, 3 to 1 for marks
(tests/pictures/test_palette.py measures it).
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
