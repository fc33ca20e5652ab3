"""How numbers, labels, lists and messages are written for people."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

MISSING = "–"
QUOTED = 80
"""Characters of a value that a message quotes."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option mentioned in a message: `cut=3` in Python, `--cut 3` on the command line, a field on a page.

    Examples
    --------
    >>> str(Option("prior")), str(Option("prior", None)), str(Option("cut", 3))
    ('prior=', 'prior=None', 'cut=3')
    """

    name: str
    value: Any = ...
    """`...` if only the option itself is meant, without a value."""

    def __str__(self) -> str:
        shown = "" if self.value is ... else repr(self.value)
        return f"{self.name}={shown if len(shown) <= QUOTED else shortened(self.value)}"


class Message(str):
    """Text that mentions options: worded for Python as it is, for other surfaces by `worded`.

    Examples
    --------
    >>> Message("give the lowest passing score, for example ", Option("cut", 3))
    'give the lowest passing score, for example cut=3'
    """

    __slots__ = ("parts",)
    parts: tuple[str | Option, ...]

    def __new__(cls, *parts: str | Option) -> "Message":
        self = super().__new__(cls, "".join(str(part) for part in parts))
        self.parts = parts
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Message, self.parts


def mentioned(text: str) -> Iterator[Option]:
    """The options that a message mentions, in their order."""
    for part in text.parts if isinstance(text, Message) else ():
        if isinstance(part, Option):
            yield part
        else:
            yield from mentioned(part)


def worded(text: str, mention: Callable[[Option], str]) -> str:
    """A message with its options as `mention` writes them; other text as it is."""
    if not isinstance(text, Message):
        return text
    return "".join(
        _mentioned(part, mention) if isinstance(part, Option) else worded(part, mention)
        for part in text.parts
    )


def _mentioned(option: Option, mention: Callable[[Option], str]) -> str:
    shown = mention(option)
    return shown if len(shown) <= 2 * QUOTED else f"{shown[:QUOTED]}…"


def listed(names: Iterable[object], most: int = 8) -> str:
    """Name the first few and count the rest.

    >>> listed(["AM", "BE"])
    "'AM', 'BE'"
    >>> listed(range(15), most=3)
    '0, 1, 2 and 12 more'
    """
    names = list(names)
    shown = ", ".join(shortened(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def shortened(value: object, most: int = QUOTED) -> str:
    """A value as a message quotes it: text in quotes, and never more than its first characters.

    >>> shortened("AM"), shortened(7), shortened("a" * 1000, most=10)
    ("'AM'", '7', "'aaaaaaaaaa…' (1,000 characters)")
    """
    text = value if isinstance(value, str) else str(value)
    if len(text) > most:
        return f"{text[:most] + '…'!r} ({len(text):,} characters)"
    return repr(text) if isinstance(value, str) else text


def counted(n: int, noun: str, plural: str = "") -> str:
    """Put a number before its noun.

    >>> counted(1, "rating"), counted(7260, "rating"), counted(2, "category", "categories")
    ('1 rating', '7,260 ratings', '2 categories')
    """
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def number(value: float | None, digits: int = 2) -> str:
    """A number with fixed digits, or a dash if it is missing.

    Examples
    --------
    >>> number(0.5), number(-0.001), number(float("nan")), number(None)
    ('0.50', '0.00', '–', '–')
    """
    if value is None or value != value:
        return MISSING
    text = f"{value:.{digits}f}"
    return text[1:] if text.startswith("-") and not text.strip("-0.") else text


def plain_number(value: float) -> float:
    """7.0 as 7; other numbers as they are."""
    return int(value) if float(value).is_integer() else value


def interval(low: float | None, high: float | None, to: str = "–") -> str:
    """An interval, or a dash if either end is missing.

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
    text = str(label)
    return text if text.isprintable() else "".join(c if c.isprintable() else "·" for c in text)


def distinct(labels: Iterable[object]) -> list[str]:
    """Make labels printable and distinct: a chart would take two raters of the same name for one.

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


def between_commas(text: str) -> list[str] | None:
    """Split text at commas; a part that contains a comma is in double quotes. None if a line breaks outside quotes
    or a part is longer than any name.

    Examples
    --------
    >>> between_commas('judge, "class, year"')
    ['judge', 'class, year']
    """
    import csv  # most commands do without

    try:
        return next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error:
        return None
