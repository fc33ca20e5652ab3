"""Several files as one table, with a column `file`: a folder, a pattern such as logs/*.jsonl, or a list of paths."""

import glob
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path

import polars as pl

from raterlens.base.errors import InputError
from raterlens.base.text import Option, counted, listed
from raterlens.config import ReadConfig
from raterlens.reading.formats.lazy_table import Rows, Table
from raterlens.reading.formats.sheet_choice import same_students
from raterlens.reading.proposals.findings import Finding
from raterlens.reading.proposals.role_words import tier

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
                otherwise=Option("student", str(roles["student"])),
                certain=False,
            )
