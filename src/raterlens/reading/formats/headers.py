"""Where a table begins on a sheet as people send them: titles above it, one or two header rows."""

from collections.abc import Sequence

JOINT = ": "
"""Between the upper and the lower header: "Ann: style"."""

Cells = Sequence[str | None]


def title_rows(rows: Sequence[Cells]) -> int:
    """Rows above the header: blank, or with one cell only, where the table is wider."""
    for place, row in enumerate(rows):
        if sum(map(_filled, row)) > 1:
            return place
    return 0


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
    return named and any(_number(below[place]) for place in places)


def joined(upper: Cells, lower: Cells) -> list[str]:
    """One name per column: the upper label, carried over the gaps to its right, then the lower one."""
    names, over = [], ""
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
