"""How numbers and labels are written for people."""

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
