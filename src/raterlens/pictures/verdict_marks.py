"""One mark per kind of verdict: a colour that everyone can tell apart, and a shape for print in grey."""

from typing import NamedTuple


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
        Mark("unsure", "faint", _CIRCLE, "circle", "too few ratings to say"),
    )
}

_BY_LABEL = {one.words: one for one in MARKS.values()} | dict.fromkeys(("sharp", "fair"), MARKS["capable"])


def mark(label: str) -> Mark:
    """The mark of a verdict's label.

    Examples
    --------
    >>> mark("too severe").name, mark("fair").name
    ('severe', 'capable')
    """
    return _BY_LABEL[label]
