"""Surroundings of a table: titles above it, one to three header rows or none, the separator, remarks below it."""

import csv
import io
import re
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from raterlens.base.text import Option, counted, listed
from raterlens.config import ReadConfig
from raterlens.reading.formats.encodings import PEEK, Text
from raterlens.reading.read_plan import Finding
from raterlens.reading.vocabulary import has_rater_word, is_identifier, is_other, usual_role

JOINT = ": "
"""Between the upper and the lower header: "Ann: style"."""
TOP = 40
"""Rows among which the header is looked for."""
Cells = Sequence[str | None]


@dataclass(frozen=True, slots=True)
class Header:
    """The names of columns, and how many rows they are made from."""

    names: list[str]
    rows: int = 1
    joined: bool = False
    """Whether upper and lower labels are joined."""
    findings: tuple[Finding, ...] = ()


def column_names(rows: Sequence[Cells], config: ReadConfig) -> Header:
    """The names of columns by the first rows of a table: a Qualtrics export, a table that pandas pivoted, up to three
    rows with merged cells, or the first row, if it is a header at all."""
    top = [[(cell or "").strip() for cell in row] for row in rows]
    if (found := _survey(top) or _pivot(top)) is not None:
        return found
    if (height := _height(top)) > 1:
        upper = top[0] if height == 2 else _joined(*top[:2])
        return Header(_named(_joined(upper, top[height - 1])), height, joined=True)
    if not _is_row(top):
        return Header(_named(top[0]))
    names = [f"column {place}" for place in range(1, len(top[0]) + 1)]
    question = Finding(
        f"no header row: the first one, {listed(top[0])}, looks like the others",
        f"read as a row, and columns called {listed(names, 3)}",
        (Option("student", names[0]),),
        certain=bool({*names} & {*config.taken("student", "rater", "item", "score")}),
    )
    return Header(names, 0, findings=(question,))


def _is_row(top: Sequence[Sequence[str]]) -> bool:
    """Whether the first row has numbers that do not count columns, and no name that says anything."""
    numbers = [cell for cell in top[0] if re.fullmatch(r"[+-]?\d+([.,]\d+)?", cell)]
    if not numbers or any(usual_role(cell) or is_identifier(cell) or is_other(cell) for cell in top[0]):
        return False
    start = int(numbers[0]) if numbers[0].isdigit() else 0
    return len(numbers) == 1 or numbers != [str(start + place) for place in range(len(numbers))]


def header_row(rows: Sequence[Cells]) -> int:
    """The place of the header: below rows that are blank or have few cells, where the table is wider.

    Several header rows count from the upper one, which has gaps where cells were merged.
    """
    used = [place for place in range(max(map(len, rows), default=0)) if any(_at(row, place) for row in rows)]
    filled = [sum(bool(_at(row, place)) for place in used) for row in rows]
    widest = max(filled, default=0)
    for place, cells in enumerate(filled):
        below = [[_at(row, at) for at in used] for row in rows[place : place + 4]]
        # A label and its value stand in the first two columns, over a name in the first.
        a_title = cells == 2 and len(below) > 1 and all([*below[0][:2], below[1][0]])
        if cells > 1 and (10 * cells >= 7 * widest or (_height(below) > 1 and not a_title)):
            return place
    return 0


def _at(row: Cells, place: int) -> str:
    """The text of a cell, if it is there."""
    return (row[place] or "").strip() if place < len(row) else ""


def titles_left_out(titles: Sequence[Cells]) -> tuple[list[Finding], dict[str, str]]:
    """A note about rows above the header, and the roles that they name: "Examiner: A. Smith", in a cell or in two."""
    rows = [[cell.strip() for cell in row if cell and cell.strip()] for row in titles]
    said = [" ".join(row) for row in rows if row]
    pairs = (re.split(r"\s*:\s*", row[0], maxsplit=1) if len(row) == 1 else row for row in rows)
    named = {
        pair[0].rstrip(": "): pair[1]
        for pair in pairs
        if len(pair) == 2
        and usual_role(pair[0]) in ("student", "rater", "item")
        and re.search(r"[^\W_]", pair[1])
    }
    note = f"{counted(len(said), 'row')} above the header ({listed(said, 3)})"
    return [Finding(note, "left out")] if said else [], named


def _named(header: Sequence[str]) -> list[str]:
    """Names for all columns, by their place where they have none; numbered where a marker and a mark come again and
    again ("Marker, Mark, Marker, Mark")."""
    names = [name or f"column {place}" for place, name in enumerate(header, 1)]
    again = {name: times for name, times in Counter(names).items() if times > 1}
    if len(again) < 2 or len(set(again.values())) > 1 or not any(map(has_rater_word, again)):
        return names
    return [
        f"{name} {names[: at + 1].count(name)}" if name in again else name for at, name in enumerate(names)
    ]


_SURVEY = {
    "ResponseId": "survey record",
    **{
        name: name
        for name in ("Status", "IPAddress", "Progress", "Finished", "UserLanguage", "DistributionChannel")
    },
}
"""Columns of Qualtrics itself, whose questions would read like columns of a study ("Response Type")."""


def _survey(top: Sequence[Sequence[str]]) -> Header | None:
    """The names of a Qualtrics export, whose second row has the questions and whose third says where they came from."""
    imported = [cell for cell in top[2] if cell] if len(top) > 2 else []
    if not imported or not all(cell.startswith('{"ImportId"') for cell in imported):
        return None
    questions = [_SURVEY.get(name, question or name) for name, question in zip(*top[:2], strict=False)]
    times = Counter(questions)
    own = zip(top[0], questions, strict=False)
    return Header(
        [question if times[question] == 1 else f"{name}{JOINT}{question}" for name, question in own], 3
    )


def _pivot(top: Sequence[Sequence[str]]) -> Header | None:
    """The names of a table that pandas pivoted, below whose header, of one row or two, a row names the columns at the
    left and no other."""
    for place in range(1, min(3, len(top))):
        left = [cell for cell in top[place] if cell]
        n = len(left)
        if not 0 < 2 * n <= len(top[0]) or list(top[place][:n]) != left or len({*map(len, top[:place])}) > 1:
            continue
        over = [row[n:] for row in top[:place]]
        names = [JOINT.join(cells) for cells in zip(*over, strict=True)]
        if len(set(names)) == len(names) and all(map(all, over)):
            return Header([*left, *names], place + 1, joined=place == 1)
    return None


def _height(top: Sequence[Sequence[str]]) -> int:
    """The number of header rows: one, unless those above the last leave gaps, as merged cells do."""
    if len(top) > 3 and len(top[0]) == len(top[1]):
        spanned = max(Counter(filter(None, top[1])).values(), default=0) > 1 and len({*top[0]} - {""}) > 1
        if spanned and is_upper(_joined(*top[:2]), *top[2:4]):
            return 3
    return 2 if len(top) > 2 and is_upper(*top[:3]) else 1


def is_upper(upper: Sequence[str], lower: Sequence[str], below: Sequence[str]) -> bool:
    """Whether two rows are a header of two: the upper has gaps, as merged cells leave, or labels again, and the lower
    has a name in each of those places and no number, which is what the row below has there."""
    lower = [*lower, *[""] * (len(upper) - len(lower))]
    if not len(upper) == len(lower) == len(below):
        return False
    times = Counter(upper)
    places = [at for at, cell in enumerate(upper) if (times[cell] > 1 if cell else lower[at] or below[at])]
    # A label that spans columns stands over a name itself, and a gap only counts behind such a label.
    over = next((at for at, cell in enumerate(upper) if cell and lower[at]), len(upper))
    first = next((at for at in places if at >= over), None)
    if first is None or any(map(_is_number, lower)) or not all(lower[at] for at in places):
        return False
    return any(map(_is_number, below[max(first - 1, 0) :]))


_OF_ANSWERS = ("open-ended response", "response")
"""Second header of SurveyMonkey for questions with one answer."""


def _joined(upper: Sequence[str], lower: Sequence[str]) -> list[str]:
    """One name per column: the upper label, carried over the gaps to its right, then the lower one; the lower alone
    where it already tells markers and marks apart ("Marker1, Mark1, Marker2, Mark2")."""
    if all(lower) and len(set(lower)) == len(lower) and sum(map(has_rater_word, lower)) > 1:
        return list(lower)
    names, over = [], ""
    for top, bottom in zip(upper, [*lower, *[""] * (len(upper) - len(lower))], strict=True):
        bottom = "" if top and bottom.casefold() in _OF_ANSWERS else bottom
        if top:
            over = top if bottom else ""
        names.append(f"{over}{JOINT}{bottom}" if over and bottom else bottom or top)
    return names


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


SEPARATORS = (",", ";", "\t", "|")


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


def trimmed(text: Text, separator: str) -> tuple[Text, list[Finding], dict[str, str]]:
    """The text with blank lines for what stands above the header, and without remarks below the table; and the roles
    that titles name."""
    lines = _start(text)
    rows = _loosely(lines, separator)
    widths = Counter(len(row) for row in rows if len(row) > 1)
    width = max(widths, key=lambda one: (widths[one], one), default=0)
    if widths[width] < 2:
        return text, [], {}  # prose, which a comma does not make a table
    own = [row if len(row) == width and not _comment(row, width) else [" ".join(row)] for row in rows]
    place = header_row(own)
    findings, named = titles_left_out(rows[:place])
    if findings:
        # A quoted field may span lines: count the lines of the rows above.
        reader = csv.reader(lines, delimiter=separator)
        deque(islice(reader, place), maxlen=0)
        text = text if isinstance(text, bytes) else text.read_bytes()
        text = b"\n" * reader.line_num + b"".join(text.splitlines(keepends=True)[reader.line_num :])
    end, remarks = _below(text, separator, width)
    if remarks:
        text = (text if isinstance(text, bytes) else text.read_bytes())[:end]
        below = f"{counted(len(remarks), 'row')} below the table ({listed(remarks, 3)})"
        findings.append(Finding(below, "left out"))
    return text, findings, named


def _comment(row: Sequence[str], width: int) -> bool:
    return len(row) != width and bool(row) and row[0].lstrip().startswith("#")


def _below(text: Text, separator: str, width: int) -> tuple[int, list[str]]:
    """Where the table ends, and remarks under it: lines with too few fields, of which only one says something."""
    size = len(text) if isinstance(text, bytes) else text.stat().st_size
    with io.BytesIO(text) if isinstance(text, bytes) else text.open("rb") as file:
        file.seek(max(size - PEEK, 0))
        last = file.read().splitlines(keepends=True)[1:][-TOP:]
    said = [line.decode("utf-8", errors="replace").strip() for line in last]
    remarks: list[str] = []
    end = len(last)
    block = _other_block([line.decode("utf-8", errors="replace") for line in last], separator, width)
    if block and not any('"' in line for line in said):
        end, remarks = block, [line for line in said[block:] if line]
    for place in reversed(range(end)):
        words = said[place]
        if words.count('"') % 2:
            break  # a quoted field of several lines
        fields = [field.strip() for field in next(csv.reader([words], delimiter=separator), [""])]
        filled = [field for field in fields if field]
        alone = len(fields) < width and len(filled) == 1
        if words.startswith("#") and len(fields) != width:
            filled = [words]
        elif words and not (alone and _is_remark(filled[0], lonely=place > 0 and not said[place - 1])):
            break
        if words:
            remarks.insert(0, filled[0])
            end = place
    return size - sum(map(len, last[end:])), remarks


def _other_block(lines: Sequence[str], separator: str, width: int) -> int:
    """Where a second table begins: below the last blank line, if no row has as many fields; else 0."""
    blank = max((place for place, line in enumerate(lines) if not line.strip()), default=0)
    below = lines[blank + 1 :]
    other = [line for line in below if line.count(separator) + 1 != width]
    return blank if blank and len(other) == len(below) > 1 else 0


def _is_remark(text: str, *, lonely: bool) -> bool:
    """Whether a single cell reads like a remark, not like the start of a row that was cut short."""
    wordy = sum(letter.isalpha() for letter in text) > 3
    return wordy and (" " in text or ":" in text or lonely or text.startswith("#"))


def _start(text: Text) -> list[str]:
    """The first lines that are whole."""
    with io.BytesIO(text) if isinstance(text, bytes) else text.open("rb") as file:
        data = file.read(PEEK)
        whole = not file.read(1)
    lines = data.decode("utf-8-sig", errors="replace").splitlines(keepends=True)
    return lines if whole or len(lines) < 2 else lines[:-1]


def _loosely(lines: Sequence[str], separator: str) -> list[list[str]]:
    """The first rows, quotes taken as they come: under the wrong separator even good ones look misplaced."""
    found: list[list[str]] = []
    with suppress(csv.Error):
        found.extend(islice(csv.reader(io.StringIO("".join(lines), newline=""), delimiter=separator), TOP))
    return found
