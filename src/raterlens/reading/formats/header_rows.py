"""Surroundings of a table: titles above it, one or two header rows, the separator, remarks below it."""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from raterlens.base.text import counted, listed
from raterlens.reading.read_plan import Finding
from raterlens.reading.vocabulary import has_rater_word

JOINT = ": "
"""Between the upper and the lower header: "Ann: style"."""

Cells = Sequence[str | None]


def header_row(rows: Sequence[Cells]) -> int:
    """The place of the header: below rows that are blank or have few cells, where the table is wider.

    Two header rows count from the upper one, which has gaps where cells were merged.
    """
    used = [
        place
        for place in range(max(map(len, rows), default=0))
        if any(_filled(row[place]) for row in rows if place < len(row))
    ]
    filled = [sum(map(_filled, row)) for row in rows]
    widest = max(filled, default=0)
    for place, cells in enumerate(filled):
        if cells < 2:
            continue
        if 10 * cells >= 7 * widest or (place + 2 < len(rows) and _spans(rows[place : place + 3], used)):
            return place
    return 0


def _spans(rows: Sequence[Cells], used: Sequence[int]) -> bool:
    """Whether the first of three rows is an upper header, columns without any cell aside."""
    first = next(
        (place for place in used if any(place < len(row) and _filled(row[place]) for row in rows)), 0
    )
    places = [place for place in used if place >= first]
    upper, lower, below = ([row[place] if place < len(row) else None for place in places] for row in rows)
    return is_upper(upper, lower, below)


def named(header: Sequence[str]) -> list[str]:
    """Names for all columns, by their place where they have none; numbered where a marker and a mark come again and
    again ("Marker, Mark, Marker, Mark")."""
    names = [name or f"column {place}" for place, name in enumerate(header, 1)]
    again = {name: times for name, times in Counter(names).items() if times > 1}
    if len(again) < 2 or len(set(again.values())) > 1 or not any(map(has_rater_word, again)):
        return names
    seen: Counter[str] = Counter()
    numbered = []
    for name in names:
        seen[name] += 1
        numbered.append(f"{name} {seen[name]}" if name in again else name)
    return numbered


_SURVEY = {
    "ResponseId": "survey record",
    **{
        name: name
        for name in ("Status", "IPAddress", "Progress", "Finished", "UserLanguage", "DistributionChannel")
    },
}
"""Columns of Qualtrics itself, whose questions would read like columns of a study ("Response Type")."""


def survey_names(rows: Sequence[Sequence[str]]) -> list[str] | None:
    """The names of a Qualtrics export, whose second row has the questions and whose third says where they came from;
    None where it is none."""
    if len(rows) < 3 or not all(cell.lstrip().startswith('{"ImportId"') for cell in rows[2] if cell.strip()):
        return None
    if not any(cell.strip() for cell in rows[2]):
        return None
    questions = [
        _SURVEY.get(name.strip(), question.strip() or name.strip())
        for name, question in zip(rows[0], rows[1], strict=False)
    ]
    times = Counter(questions)
    return [
        question if times[question] == 1 else f"{name.strip()}: {question}"
        for name, question in zip(rows[0], questions, strict=False)
    ]


def pivot_names(rows: Sequence[Sequence[str]]) -> tuple[list[str], int] | None:
    """The names of a table that pandas pivoted, below whose header, of one row or two, a row names the columns at the
    left and no other; and how many rows are below the first. None where it is none."""
    for place in (1, 2):
        index = [
            place_ for place_, cell in enumerate(rows[place] if place < len(rows) else []) if cell.strip()
        ]
        if not index or index != list(range(len(index))) or 2 * len(index) > len(rows[0]):
            continue
        if any(len(row) != len(rows[0]) for row in rows[:place]):
            continue
        left = [rows[place][at].strip() for at in index]
        over = zip(*(row[len(index) :] for row in rows[:place]), strict=True)
        names = [JOINT.join(cell.strip() for cell in cells) for cells in over]
        if len(set(names)) == len(names) and all(map(str.strip, names)):
            return [*left, *names], place
    return None


def is_upper(upper: Cells, lower: Cells, below: Cells) -> bool:
    """Whether two rows are a header of two: the upper has gaps, as merged cells leave, or labels again, and the lower
    has a name in each of those places and no number,
    which is what the row below has there."""
    names = [cell.strip() for cell in upper if _filled(cell) and cell is not None]
    gaps = [
        place
        for place, cell in enumerate(upper)
        if not _filled(cell) and (place >= len(lower) or _filled(lower[place]) or _filled(below[place]))
    ]
    again = [
        place for place, cell in enumerate(upper) if _filled(cell) and names.count(str(cell).strip()) > 1
    ]
    places = sorted({*gaps, *again})
    lower = [*lower, *[None] * (len(upper) - len(lower))]
    # A label that spans columns stands over a name itself, and a gap only counts behind such a label.
    spans = [
        place for place in places if any(_filled(upper[p]) and _filled(lower[p]) for p in range(place + 1))
    ]
    if not spans or not len(upper) == len(lower) == len(below):
        return False
    named = all(_filled(lower[place]) for place in places) and not any(map(_number, lower))
    return named and any(_number(cell) for cell in below[min(spans) - 1 if min(spans) else 0 :])


_OF_ANSWERS = ("open-ended response", "response")
"""Second header of SurveyMonkey for questions with one answer."""


def joined(upper: Cells, lower: Cells) -> list[str]:
    """One name per column: the upper label, carried over the gaps to its right, then the lower one; the lower alone
    where it already tells markers and marks apart ("Marker1, Mark1, Marker2, Mark2")."""
    names, over = [], ""
    alone = [(cell or "").strip() for cell in lower]
    if all(alone) and len(set(alone)) == len(alone) and sum(map(has_rater_word, alone)) > 1:
        return alone
    for top, bottom in zip(upper, lower, strict=True):
        top, bottom = (top or "").strip(), (bottom or "").strip()
        bottom = "" if top and bottom.casefold() in _OF_ANSWERS else bottom
        if top:
            over = top if bottom else ""
        names.append(f"{over}{JOINT}{bottom}" if over and bottom else bottom or top)
    return names


def _filled(cell: str | None) -> bool:
    return cell is not None and bool(cell.strip())


def _number(cell: str | None) -> bool:
    try:
        float(cell or "")
    except ValueError:
        return False
    return True


SEPARATORS = (",", ";", "\t", "|")
PEEK = 1 << 16
"""Bytes looked at, at either end."""
TOP = 40
"""Rows among which the header is looked for."""
Text = Path | bytes
"""UTF-8 text, in a file or in memory."""


def separator_of(text: Text, prefer: str = "") -> str:
    """The separator that gives most rows the same number of fields, at least two."""
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
    if (block := _other_block(last, separator, width)) and not any(b'"' in line for line in last):
        end = cut = size - sum(map(len, last[block:]))
        remarks = [line.decode("utf-8", errors="replace").strip() for line in last[block:] if line.strip()][
            ::-1
        ]
        last = last[:block]
    for place in reversed(range(len(last))):
        line, before = last[place], last[place - 1] if place else b"x"
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


def _other_block(lines: Sequence[bytes], separator: str, width: int) -> int:
    """Where a second table begins: below the last blank line, if no row has as many fields; else 0."""
    blank = max((place for place, line in enumerate(lines) if not line.strip()), default=0)
    below = [line.decode("utf-8", errors="replace") for line in lines[blank + 1 :]]
    other = [line for line in below if line.count(separator) + 1 != width]
    return blank if blank and len(other) == len(below) > 1 else 0


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
