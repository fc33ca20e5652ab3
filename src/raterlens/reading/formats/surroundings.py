"""What stands around a table in a text file: the separator, titles and comments above it, remarks below it."""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from raterlens.base.text import counted, listed
from raterlens.reading.formats.headers import header_row
from raterlens.reading.proposals.findings import Finding

SEPARATORS = (",", ";", "\t", "|")
PEEK = 1 << 16
"""Bytes looked at, at either end."""
TOP = 40
"""Rows among which the header is looked for."""
Text = Path | bytes
"""UTF-8 text, in a file or in memory."""


def separator_of(text: Text, prefer: str = "") -> str:
    """What stands between the fields: the separator that gives most rows the same number of them, at least two."""
    lines = _start(text)

    def fit(guess: str) -> tuple[int, int, bool]:
        rows = _loosely(lines, guess)
        widths = Counter(len(row) for row in rows if len(row) > 1)
        width, times = max(widths.items(), key=lambda pair: (pair[1], pair[0]), default=(0, 0))
        if times < 2:
            width, times = len(next((row for row in rows if row), [])), 0
        return times, width, guess == prefer

    return max(SEPARATORS, key=fit)


def trimmed(text: Text, separator: str) -> tuple[Text, list[Finding]]:
    """The text with blank lines for what stands above the header, and without remarks below the table."""
    lines = _start(text)
    rows = _loosely(lines, separator)
    widths = Counter(len(row) for row in rows if len(row) > 1)
    if not widths:
        return text, []
    width = max(widths, key=lambda one: (widths[one], one))
    if widths[width] < 2:
        return text, []  # prose, which a comma does not make a table
    above, titles = _above(rows, lines, separator, width)
    whole: bytes | None = None
    findings: list[Finding] = []
    if titles:
        whole = text if isinstance(text, bytes) else text.read_bytes()
        whole = b"\n" * above + b"".join(whole.splitlines(keepends=True)[above:])
        findings.append(
            Finding(f"{counted(len(titles), 'row')} above the header ({listed(titles, 3)})", "left out")
        )
    end, remarks = _below(whole if whole is not None else text, separator, width)
    if remarks:
        whole = whole if whole is not None else (text if isinstance(text, bytes) else text.read_bytes())
        whole = whole[:end]
        findings.append(
            Finding(f"{counted(len(remarks), 'row')} below the table ({listed(remarks, 3)})", "left out")
        )
    return (text if whole is None else whole), findings


def _above(rows: list[list[str]], lines: list[str], separator: str, width: int) -> tuple[int, list[str]]:
    """Lines above the header, and what they say."""
    top = [row if len(row) == width and not _comment(row, width) else [" ".join(row).strip()] for row in rows]
    place = header_row(top)
    if not place or not any(any(cell.strip() for cell in row) for row in rows[:place]):
        return 0, []
    # A quoted field may span lines: count the lines of the rows above.
    reader = csv.reader(lines, delimiter=separator)
    for _ in islice(reader, place):
        pass
    titles = [" ".join(cell.strip() for cell in row if cell.strip()) for row in rows[:place]]
    return reader.line_num, [title for title in titles if title]


def _comment(row: Sequence[str], width: int) -> bool:
    return len(row) != width and bool(row) and row[0].lstrip().startswith("#")


def _below(text: Text, separator: str, width: int) -> tuple[int, list[str]]:
    """Where the table ends, and remarks under it: lines with too few fields, of which only one says something."""
    if isinstance(text, bytes):
        size, tail = len(text), text[-PEEK:]
    else:
        size = text.stat().st_size
        with text.open("rb") as file:
            file.seek(max(size - PEEK, 0))
            tail = file.read()
    lines = tail.splitlines(keepends=True)
    remarks: list[str] = []
    end, cut = size, size
    last = lines[1:][-TOP:]
    for line, before in zip(reversed(last), [*reversed(last[:-1]), b"x"], strict=True):
        words = line.decode("utf-8", errors="replace").strip()
        if words.count('"') % 2:
            break  # a quoted field of several lines
        fields = [field.strip() for field in next(csv.reader([words], delimiter=separator), [""])]
        filled = [field for field in fields if field]
        if not words:
            pass
        elif len(fields) < width and len(filled) == 1 and _remark(filled[0], lonely=not before.strip()):
            remarks.append(filled[0])
            cut = end - len(line)
        elif words.startswith("#") and len(fields) != width:
            remarks.append(words)
            cut = end - len(line)
        else:
            break
        end -= len(line)
    return cut, remarks[::-1]


def _remark(text: str, *, lonely: bool) -> bool:
    """Whether a single cell reads like a remark, not like the start of a row that was cut short."""
    wordy = sum(letter.isalpha() for letter in text) > 3
    return wordy and (" " in text or ":" in text or lonely or text.startswith("#"))


def _start(text: Text) -> list[str]:
    if isinstance(text, bytes):
        data = text[:PEEK]
        whole = len(text) <= PEEK
    else:
        with text.open("rb") as file:
            data = file.read(PEEK)
        whole = text.stat().st_size <= PEEK
    lines = data.decode("utf-8-sig", errors="replace").splitlines(keepends=True)
    return lines if whole or len(lines) < 2 else lines[:-1]


def _loosely(lines: Sequence[str], separator: str) -> list[list[str]]:
    """The first rows, quotes taken as they come: under the wrong separator even good ones look misplaced."""
    found: list[list[str]] = []
    with suppress(csv.Error):
        found.extend(islice(csv.reader(io.StringIO("".join(lines), newline=""), delimiter=separator), TOP))
    return found
