"""Several sheets or files as one table, with a column that says which."""

import glob
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import polars as pl

from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option, counted, listed
from raterlens.config import ReadConfig
from raterlens.reading.detection.vocabulary import (
    is_identifier,
    is_total,
    like_item,
    like_rater,
    mentions,
    tier,
)
from raterlens.reading.formats.table import Rows, Table
from raterlens.reading.read_plan import Finding

ALL_SHEETS = "*"
"""Name of the request to read sheets together."""
SHEET = "sheet"
"""The column that then says which."""
SHARED = 0.5
"""Share of its students that a sheet has in common with the others, if all are of one exam."""


def chosen_sheet(tables: Mapping[str, Table], names: Sequence[str], file: str) -> Table:
    """The sheet with the ratings, or sheets of one rater each together, and what to say about it."""
    alike = _alike(tables)
    if len(alike) > 1 and (together := _together(alike, file)) is not None:
        return together
    known = {name: len(_roles(table.columns)) for name, table in tables.items()}
    best = max(tables, key=lambda name: known[name])
    if best == names[0] or known[best] == known.get(names[0], 0):
        best = names[0] if names[0] in tables else best
        note = Message(
            f"sheet {best!r}, the first of {len(names)} ({listed(names)}); choose another with ",
            Option("table"),
        )
        return replace(tables[best], notes=(note, *tables[best].notes))
    finding = Finding(
        f"{len(names)} sheets ({listed(names)})",
        f"{best!r} read, which has the ratings",
        (Option("table", best),),
        alternative=Option("table", names[0]),
    )
    return replace(tables[best], findings=(finding, *tables[best].findings))


def joined_sheets(tables: Mapping[str, Table], file: str) -> Table:
    """All sheets that are laid out alike, one under the other, with a column `sheet`."""
    alike = _alike(tables)
    first = next(iter(alike.values()))
    if SHEET in first.columns:
        raise InputError(
            f"the sheets of {file!r} have a column {SHEET!r} of their own",
            "give it another name",
            option="table",
        )

    def take(wanted: Sequence[str]) -> Rows:
        others = [name for name in wanted if name != SHEET] or list(first.columns[:1])
        parts = {name: table.take(others) for name, table in alike.items()}
        frame = pl.concat(
            [rows.frame.with_columns(pl.lit(name).alias(SHEET)) for name, rows in parts.items()]
        )
        ends = list(accumulate(rows.frame.height for rows in parts.values()))

        def place(row: int) -> str:
            part = next(number for number, end in enumerate(ends) if row < end)
            name = list(parts)[part]
            start = ends[part] - parts[name].frame.height
            return f"sheet {name!r}, {parts[name].place(row - start)}"

        return Rows(frame.select(wanted), place)

    findings = [finding for table in alike.values() for finding in table.findings]
    unique = tuple(dict.fromkeys(findings))
    return Table(
        file, (SHEET, *first.columns), take, findings=unique, two_headers=first.two_headers, notes=first.notes
    )


def _alike(tables: Mapping[str, Table]) -> dict[str, Table]:
    """The largest group of sheets with the same columns, in any order; a sheet of averages is none of them."""
    groups: dict[frozenset[str], dict[str, Table]] = {}
    for name, table in tables.items():
        if not is_total(name) and not _summary(name):
            groups.setdefault(frozenset(table.columns), {})[name] = table
    return max(groups.values(), key=len, default=dict(tables))


def _summary(name: str) -> bool:
    return name.strip().casefold() in (
        "summary",
        "overview",
        "übersicht",
        "zusammenfassung",
        "all",
        "alle",
        "results",
    )


def _together(alike: dict[str, Table], file: str) -> Table | None:
    columns = next(iter(alike.values())).columns
    roles = _roles(columns)
    joined = joined_sheets(alike, file)
    options: tuple[Option, ...] = (Option("table", ALL_SHEETS),)
    seen = f"{len(alike)} sheets laid out alike ({listed(alike)})"
    if "rater" in roles:
        finding = Finding(
            seen, "read together", options, alternative=Option("table", next(iter(alike))), certain=False
        )
        return replace(joined, findings=(finding, *joined.findings))
    if not same_students(alike, columns):
        return None
    people, things = (2 * sum(map(kind, alike)) > len(alike) for kind in (like_rater, like_item))
    others = [name for name in columns if tier(name, "student") is None]
    role = "item" if things and not people else "rater"
    spoken = people or things or "score" in roles or any(map(like_item, others))
    finding = Finding(
        seen, f"read together, the sheet name is the {role}", (*options, Option(role, SHEET)), certain=spoken
    )
    return replace(joined, findings=(finding, *joined.findings), roles={role: SHEET})


def _roles(columns: Sequence[str]) -> set[str]:
    found = {
        role
        for role in ("student", "rater", "item", "score")
        for name in columns
        if tier(name, role) is not None
    }
    if any(is_identifier(name) or mentions(name, "student") for name in columns):
        found.add("student")
    return found


def same_students(alike: Mapping[str, Table], columns: Sequence[str]) -> bool:
    """Whether the sheets are about the same people, by the first column that names them."""
    named = [name for name in columns if tier(name, "student") is not None or is_identifier(name)]
    column = (named or list(columns))[0]
    first, *others = (
        set(table.take([column]).frame[column].drop_nulls().cast(pl.String).str.strip_chars())
        for table in alike.values()
    )
    return all(len(first & other) >= SHARED * min(len(first), len(other)) > 0 for other in others)


FILE = "file"


def matching(pattern: str) -> list[Path]:
    """The files that a pattern names, in their order."""
    return [path for name in sorted(glob.glob(pattern, recursive=True)) if (path := Path(name)).is_file()]


def files_in(folder: Path, suffixes: Sequence[str]) -> list[Path]:
    """The tables of a folder and of those within it."""
    found = sorted(path for path in folder.rglob("*") if path.suffix.lower() in suffixes and path.is_file())
    return [path for path in found if not path.name.startswith((".", "_", "~"))]


def stacked(tables: Mapping[str, Table], name: str, config: ReadConfig) -> Table:
    """One table under the other; a column that a file lacks is empty there."""
    columns = list(dict.fromkeys(column for table in tables.values() for column in table.columns))
    if FILE in columns:
        raise InputError(
            f"the tables of {name!r} have a column {FILE!r} of their own", "give it another name"
        )

    def take(wanted: Sequence[str]) -> Rows:
        parts = {file: _part(table, file, wanted) for file, table in tables.items()}
        frame = pl.concat([rows.frame for rows in parts.values()], how="diagonal_relaxed")
        ends = list(accumulate(rows.frame.height for rows in parts.values()))

        def place(row: int) -> str:
            part = next(number for number, end in enumerate(ends) if row < end)
            file, rows = list(parts.items())[part]
            return f"{file!r}, {rows.place(row - ends[part] + rows.frame.height)}"

        notes = tuple(dict.fromkeys(note for rows in parts.values() for note in rows.notes))
        return Rows(frame.select(wanted), place, notes)

    findings = tuple(dict.fromkeys(finding for table in tables.values() for finding in table.findings))
    notes = tuple(dict.fromkeys(note for table in tables.values() for note in table.notes))
    roles = next(iter(tables.values())).roles
    asked = list(_meaning(tables, columns, roles, config))
    if any(option.name == "rater" for finding in asked for option in finding.options):
        roles = {**roles, "rater": FILE}
    seen = Finding(
        f"{counted(len(tables), 'file')} ({listed(tables, 4)})", f"read together, with a column {FILE!r}"
    )
    return Table(
        name,
        (*columns, FILE),
        take,
        roles=roles,
        findings=(seen, *asked, *findings),
        notes=notes,
        settled=all(table.settled for table in tables.values()),
    )


def _part(table: Table, file: str, wanted: Sequence[str]) -> Rows:
    own = [column for column in wanted if column in table.columns] or list(table.columns[:1])
    rows = table.take(own)
    frame = rows.frame.with_columns(pl.lit(Path(file).stem).alias(FILE))
    missing = [pl.lit(None).alias(column) for column in wanted if column not in frame.columns]
    return Rows(frame.with_columns(missing).select(wanted), rows.place, rows.notes)


def _meaning(
    tables: Mapping[str, Table], columns: Sequence[str], roles: Mapping[str, object], config: ReadConfig
) -> Iterator[Finding]:
    """Whether files are raters, or hold the answers of a model each."""
    rated = "rater" in roles or any(tier(column, "rater") is not None for column in columns)
    alike = len({frozenset(table.columns) for table in tables.values()}) == 1
    if not rated and config.rater is None and config.wide is None and config.markers is None and alike:
        own = [column for column in columns if tier(column, "score") is not None]
        if own and same_students(tables, columns):
            yield Finding(
                f"no rater column in {counted(len(tables), 'file')} about the same students",
                "the name of the file read as the rater",
                (Option("rater", FILE),),
                certain=False,
            )
    if "student" in roles and "rater" in roles and config.student is None:
        keys = [str(roles[role]) for role in ("student", "rater", "item") if role in roles]
        seen = [set(table.take(keys).frame.select(keys).rows()) for table in tables.values()]
        if len(set.union(*seen)) < sum(map(len, seen)):
            yield Finding(
                "the same students, rated by the same raters, in several files",
                "each file read as answers of its own",
                (Option("student", (str(roles["student"]), FILE)),),
                alternative=Option("student", str(roles["student"])),
                certain=False,
            )
