"""Where a table begins on a sheet as people send them: titles above it, one or two header rows."""

from collections import Counter
from collections.abc import Sequence

from raterlens.reading.proposals.role_words import has_rater_word

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


def is_upper(upper: Cells, lower: Cells, below: Cells) -> bool:
    """Whether two rows are a header of two: the upper has gaps, as merged cells leave, or labels again, and the lower
    has a name in each of those places and no number,
    which is what the row below has there."""
    names = [cell.strip() for cell in upper if _filled(cell) and cell is not None]
    gaps = [place for place, cell in enumerate(upper) if not _filled(cell)]
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


def joined(upper: Cells, lower: Cells) -> list[str]:
    """One name per column: the upper label, carried over the gaps to its right, then the lower one; the lower alone
    where it already tells markers and marks apart ("Marker1, Mark1, Marker2, Mark2")."""
    names, over = [], ""
    alone = [(cell or "").strip() for cell in lower]
    if all(alone) and len(set(alone)) == len(alone) and sum(map(has_rater_word, alone)) > 1:
        return alone
    for top, bottom in zip(upper, lower, strict=True):
        top, bottom = (top or "").strip(), (bottom or "").strip()
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
