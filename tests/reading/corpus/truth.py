"""The ratings behind every file of the corpus, and how a table of cells becomes a file."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

Rows = list[tuple[str, str, str, int]]
"""Student, rater, item and score, sorted."""

STUDENTS = [f"S{n:02}" for n in range(1, 13)]
RATERS = ["Ann", "Bob", "Cleo"]
ITEMS = ["content", "style"]
ALL = "all"

Score = Callable[[int, int, int], int]


def marks(s: int, r: int, i: int) -> int:
    """0 to 4, without a pattern that a total or a mean could be mistaken for."""
    return (7 * s + 3 * r + 5 * i + s * r + (s // 3) * (i + 1)) % 5


def verdicts(s: int, r: int, i: int) -> int:
    return int((5 * s + 2 * r + 3 * i + s * r) % 7 < 4)


def truth(
    score: Score = marks,
    raters: Sequence[str] = RATERS,
    items: Sequence[str] = (ALL,),
    students: Sequence[str] = STUDENTS,
) -> Rows:
    """Every rater scores every student on every item."""
    return sorted(
        (student, rater, item, score(s, r, i))
        for s, student in enumerate(students)
        for r, rater in enumerate(raters)
        for i, item in enumerate(items)
    )


@dataclass(frozen=True)
class Grid:
    """A table of cells, with what stands around it."""

    header: list[str]
    rows: list[list[Any]]
    roles: Mapping[str, str] = field(default_factory=dict)
    """Columns that may be renamed, by their role."""
    above: list[list[Any]] = field(default_factory=list)
    below: list[list[Any]] = field(default_factory=list)
    upper: list[Any] | None = None
    """A first header row over the other."""
    separator: str = ","
    encoding: str = "utf-8"
    plain_above: str = ""
    """Lines above that are no cells."""
    plain_below: str = ""

    def cells(self) -> list[list[Any]]:
        upper = [] if self.upper is None else [self.upper]
        return [*self.above, *upper, self.header, *self.rows, *self.below]

    def text(self) -> bytes:
        out = io.StringIO()
        csv.writer(out, delimiter=self.separator, lineterminator="\n").writerows(self.cells())
        return f"{self.plain_above}{out.getvalue()}{self.plain_below}".encode(self.encoding)

    def write(self, path: Path) -> None:
        if path.suffix == ".xlsx":
            workbook(path, {"Sheet1": self.cells()})
        else:
            path.write_bytes(self.text())

    def renamed(self, names: Mapping[str, str]) -> "Grid":
        """Columns called by the words of another language."""
        new = {column: names[role] for column, role in self.roles.items()}
        return replace(self, header=[new.get(name, name) for name in self.header])

    def shuffled(self, order: Sequence[int]) -> "Grid":
        def turn(row: Sequence[Any]) -> list[Any]:
            padded = [*row, *[""] * (len(self.header) - len(row))]
            return [padded[place] for place in order]

        return replace(self, header=turn(self.header), rows=[turn(row) for row in self.rows])

    def with_column(self, name: str, values: Sequence[Any]) -> "Grid":
        rows = [[*row, value] for row, value in zip(self.rows, values, strict=True)]
        above = [[*row, ""] if len(row) == len(self.header) else row for row in self.above]
        upper = None if self.upper is None else [*self.upper, ""]
        below = [[*row, ""] if len(row) == len(self.header) else row for row in self.below]
        return replace(self, header=[*self.header, name], rows=rows, above=above, below=below, upper=upper)


def workbook(path: Path, sheets: Mapping[str, Sequence[Sequence[Any]]]) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, cells in sheets.items():
        sheet = book.create_sheet(name)
        for row in cells:
            sheet.append([None if cell == "" else cell for cell in row])
    book.save(path)


def long(
    rows: Rows,
    names: Sequence[str] = ("student", "rater", "item", "score"),
    write: Callable[[int], Any] = lambda score: score,
    **more: Any,
) -> Grid:
    """One row per rating; three names leave out the item."""
    roles = ("student", "rater", "item", "score") if len(names) == 4 else ("student", "rater", "score")
    cells = [[s, r, i, write(y)] if len(names) == 4 else [s, r, write(y)] for s, r, i, y in rows]
    return Grid(list(names), cells, dict(zip(names, roles, strict=True)), **more)


def by_rater(
    rows: Rows,
    student: str = "Name",
    write: Callable[[int], Any] = lambda score: score,
    named: str = "{}",
    **more: Any,
) -> Grid:
    """One row per student, one column per rater."""
    raters = list(dict.fromkeys(rater for _, rater, _, _ in rows))
    known = {(s, r): y for s, r, _, y in rows}
    students = list(dict.fromkeys(s for s, _, _, _ in rows))
    cells = [[s, *(write(known[s, r]) for r in raters)] for s in students]
    return Grid([student, *map(named.format, raters)], cells, {student: "student"}, **more)


def by_item(rows: Rows, names: Sequence[str] = ("student", "rater"), **more: Any) -> Grid:
    """One row per student and rater, one column per item."""
    items = list(dict.fromkeys(item for _, _, item, _ in rows))
    known = {(s, r, i): y for s, r, i, y in rows}
    pairs = list(dict.fromkeys((s, r) for s, r, _, _ in rows))
    cells = [[s, r, *(known[s, r, i] for i in items)] for s, r in pairs]
    return Grid([*names, *items], cells, {names[0]: "student", names[1]: "rater"}, **more)


def by_both(rows: Rows, pattern: str, student: str = "Student", **more: Any) -> Grid:
    """One row per student, one column per rater and item."""
    raters = list(dict.fromkeys(r for _, r, _, _ in rows))
    items = list(dict.fromkeys(i for _, _, i, _ in rows))
    known = {(s, r, i): y for s, r, i, y in rows}
    students = list(dict.fromkeys(s for s, _, _, _ in rows))
    columns = [(r, i) for r in raters for i in items]
    cells = [[s, *(known[s, r, i] for r, i in columns)] for s in students]
    header = [student, *(pattern.format(rater=r, item=i) for r, i in columns)]
    return Grid(header, cells, {student: "student"}, **more)
