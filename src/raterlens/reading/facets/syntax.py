"""The letters of a control file: lines, comments, `Name = value`, fields between commas, numbers and ranges."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from raterlens.base.errors import InputError
from raterlens.base.text import shortened

END = "*"
MOST = 1_000_000
"""The longest range of elements that Labels= may name: a longer one is a slip of the pen."""
_COMMENT = re.compile(r'"[^"]*"|(;)')
_QUOTED = re.compile(r'"[^"]*"')
_BLANKS = re.compile(r'"([^"]*)"|(\S+)')
_NAME = re.compile(r"\s*([A-Za-z][A-Za-z0-9 ()\-_/.]*?)\s*[=,]")
_FIELD = re.compile(r'\s*"([^"]*)"\s*|([^=,\t]*)')
_RANGE = re.compile(r"(\d+)\s*[-_]\s*(\d+)")

# How few letters tell the specifications apart that matter here; FACETS itself looks at one or two.
NAMES = {
    "title": ("ti", "t"),
    "facets": ("fac", "f"),
    "positive": ("po", "p"),
    "negative": ("neg",),
    "noncentered": ("non", "n"),
    "models": ("mo", "m"),
    "labels": ("la", "l"),
    "data": ("da", "d"),
    "missing": ("mi",),
    "interrater": ("in",),
    "entered": ("en",),
    "rating scale": ("rat", "r"),
    "delements": ("de",),
    "dvalues": ("dv",),
    "replication": ("rep",),
    "null": ("ke",),
    "unit": ("us",),
    "mean": ("um",),
}


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its comment: its number, counted from 1, and the file it stands in."""

    number: int
    text: str
    file: str

    def refuse(self, what: str, advice: str) -> NoReturn:
        raise InputError(f"{self.file!r}, line {self.number:,}: {what}", advice, value=self.text)


def lines_of(text: str, file: str) -> Iterator[Line]:
    """The lines that say something."""
    for number, line in enumerate(text.splitlines(), 1):
        plain = _without_comment(line).replace("\xa0", " ").rstrip()
        if plain.strip():
            yield Line(number, plain, file)


def _without_comment(line: str) -> str:
    """What stands before the first semicolon that is not between quotes."""
    if '"' not in line:
        return line.partition(";")[0]
    semicolon = next((found.start() for found in _COMMENT.finditer(line) if found[1]), None)
    return line[:semicolon]


def name_of(line: Line) -> tuple[str, str, str] | None:
    """Of `Non-centered = 1`: the name as known here ("" if it is not), as written, and the value."""
    found = _NAME.match(line.text)
    if not found:
        return None
    written = found[1].strip()
    letters = re.sub(r"[^a-z0-9]", "", written.lower())
    known = next(
        (
            name
            for name, starts in NAMES.items()
            for start in starts
            if (letters.startswith(start) if len(start) > 1 else letters == start)
        ),
        "",
    )
    return known, written, line.text[found.end() :].strip()


def fields(text: str) -> list[str]:
    """The fields between commas, equal signs or tabs; quotes hold one together."""
    found, at = [], 0
    while at <= len(text):
        match = _FIELD.match(text, at)
        assert match is not None
        found.append((match[1] if match[1] is not None else match[2]).strip())
        at = match.end() + 1
    return found


def values(text: str) -> list[str]:
    """The fields of a line of data: commas or tabs separate; where there are none, blanks do."""
    if '"' in text:
        outside = _QUOTED.sub("", text)
        blanks = "," not in outside and "\t" not in outside
        return [quoted or plain for quoted, plain in _BLANKS.findall(text)] if blanks else fields(text)
    if "," in text or "\t" in text:
        return [part.strip() for part in text.replace("\t", ",").split(",")]
    return text.split()


def span(field: str) -> range | None:
    """The elements that a field stands for: "3" or "1-5" ("1_5"); None where it is neither."""
    if field.isdigit():
        return range(int(field), int(field) + 1)
    found = _RANGE.fullmatch(field)
    return range(int(found[1]), int(found[2]) + 1) if found else None


def numbers(line: Line, value: str) -> list[int]:
    """Facet numbers, such as those of `Positive = 1,3`."""
    found = [field for field in re.split(r"[,=\s]+", value) if field]
    if not all(field.isdigit() for field in found):
        line.refuse(
            f"{shortened(value)} should be numbers of facets", "write them with commas, for example 1,3"
        )
    return [int(field) for field in found]
