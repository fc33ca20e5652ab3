"""One mark for each kind of verdict: a colour that every eye can tell apart, and a shape for print in grey."""

from typing import NamedTuple


class Mark(NamedTuple):
    """How a verdict is drawn."""

    name: str
    """Class in the style sheet, which holds the colour (the Okabe-Ito palette)."""
    path: str
    """Outline around the origin, about 10 units across."""


_CIRCLE = "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z"

MARKS = {
    "capable": Mark("capable", _CIRCLE),
    "borderline": Mark("borderline", "M0-6 6 0 0 6-6 0z"),
    "severe": Mark("severe", "M0-5.5 5.5 4.5-5.5 4.5z"),
    "lenient": Mark("lenient", "M0 5.5 5.5-4.5-5.5-4.5z"),
    "weak": Mark("weak", "M-4.5-4.5h9v9h-9z"),
    "blind": Mark("blind", "M-5-2.2-2.2-5 0-2.8 2.2-5 5-2.2 2.8 0 5 2.2 2.2 5 0 2.8-2.2 5-5 2.2-2.8 0z"),
    "extreme": Mark("extreme", "M-1.8-5.5h3.6v3.7h3.7v3.6H1.8v3.7h-3.6V1.8h-3.7v-3.6h3.7z"),
    "unsure": Mark("unsure", _CIRCLE),
}

_BY_LABEL = {
    "capable": "capable",
    "capable, rather severe": "capable",
    "capable, rather lenient": "capable",
    "borderline, rather severe": "borderline",
    "borderline, rather lenient": "borderline",
    "borderline discrimination": "borderline",
    "too severe": "severe",
    "too lenient": "lenient",
    "weak discrimination": "weak",
    "cannot tell students apart": "blind",
    "scores against ability": "blind",
    "passes everyone": "extreme",
    "passes nobody": "extreme",
    "always the highest score": "extreme",
    "always the lowest score": "extreme",
    "too few ratings to say": "unsure",
}


def mark(label: str) -> Mark:
    """The mark of a verdict's label."""
    return MARKS[_BY_LABEL[label]]
