"""How numbers and labels are written for people."""

from collections.abc import Iterable

MISSING = "–"


def number(value: float | None, digits: int = 2) -> str:
    """A number with fixed digits, or a dash where there is none.

    Examples
    --------
    >>> number(0.5), number(-0.001), number(float("nan")), number(None)
    ('0.50', '0.00', '–', '–')
    """
    if value is None or value != value:
        return MISSING
    text = f"{value:.{digits}f}"
    return text[1:] if text.startswith("-") and not text.strip("-0.") else text


def interval(low: float | None, high: float | None, to: str = "–") -> str:
    """An interval, or a dash where either end is missing.

    Examples
    --------
    >>> interval(0.42, 0.7), interval(None, 0.7)
    ('0.42–0.70', '–')
    """
    if low is None or high is None or low != low or high != high:
        return MISSING
    return f"{number(low)}{to}{number(high)}"


def sentence(text: str) -> str:
    """A message as a sentence of its own.

    Examples
    --------
    >>> sentence("2 raters share no student: link them"), sentence("done.")
    ('2 raters share no student: link them.', 'Done.')
    """
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def printable(label: object) -> str:
    """A label on one line, without the control characters that could steer a terminal.

    Examples
    --------
    >>> printable("AM:Sport"), printable("two\\nlines"), printable("\\x1b[31mred")
    ('AM:Sport', 'two·lines', '·[31mred')
    """
    return "".join(c if c.isprintable() else "·" for c in str(label))


def distinct(labels: Iterable[object]) -> list[str]:
    """Labels that can be printed, no two alike: a chart would take two raters of the same name for one.

    Examples
    --------
    >>> distinct(["AM", "a\\nb", "a\\tb"])
    ['AM', 'a·b', 'a·b (2)']
    """
    seen: set[str] = set()
    names = []
    for label in labels:
        name = base = printable(label)
        count = 1
        while name in seen:
            count += 1
            name = f"{base} ({count})"
        seen.add(name)
        names.append(name)
    return names
